//! What holds of every run, whatever the network does: everything is accounted for, the same seed gives the same bytes,
//! memory does not grow, sessions share a bottleneck, servos close a loop.

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use media::{Bitrate, Duration, Force, HapticSample, Instant, Position};
use netem::{DirectionSpec, HopSpec, LossSpec, Probability, QueueLimit, ReorderSpec, Scenario, SessionTiming};
use proto::Scheme;
use proto::report::{Clock, MediumReport, Report, SCHEMA};
use telehaptic_sim::source::{Servo, sample_of};
use telehaptic_sim::{Outcome, RunSpec, SECONDS, SessionSpec, SimError, TRACED_SECONDS, run, run_together};

fn load(name: &str) -> Scenario {
    Scenario::load(name).unwrap()
}

fn spec(scenario: Scenario, scheme: Scheme, seconds: f64) -> RunSpec {
    RunSpec { seconds, traces: true, ..RunSpec::new(scenario, scheme) }
}

/// A network of one hop in both directions.
fn one_hop(hop: HopSpec) -> Scenario {
    let direction = DirectionSpec { hops: vec![hop], ..DirectionSpec::default() };
    Scenario { backward: direction.clone(), forward: direction, warmup: Duration::ZERO, ..load("lan") }
}

/// A hop that does everything to packets that a hop can do.
fn bad_hop() -> HopSpec {
    let p = |p| Probability::new(p).unwrap();
    HopSpec {
        rate_steps: Vec::new(),
        rate: Some(Bitrate::from_kbps(1_500)),
        propagation: Duration::from_millis(10),
        queue: QueueLimit::Packets(20),
        loss: LossSpec::GilbertElliott { to_bad: p(0.02), to_good: p(0.2), loss_good: p(0.001), loss_bad: p(0.5) },
        reorder: Some(ReorderSpec { probability: p(0.2), extra: Duration::from_millis(30) }),
        duplicate: p(0.2),
    }
}

fn media(report: &Report) -> Vec<&MediumReport> {
    let (b, f) = (&report.channels.backward, &report.channels.forward);
    [Some(&b.haptic), b.audio.as_ref(), b.video.as_ref(), Some(&f.haptic)].into_iter().flatten().collect()
}

#[test]
fn everything_sent_is_delivered_or_lost_and_the_traces_agree() {
    for scenario in [load("wifi"), load("cellular"), load("lan"), load("paper/r1500"), one_hop(bad_hop())] {
        for scheme in [Scheme::NoMerge, Scheme::KMerge(8), Scheme::Dpm, Scheme::DpmHoldUp] {
            let what = format!("{} {scheme}", scenario.name);
            let warmup = scenario.warmup.as_nanos() as i64;
            let outcome = run(spec(scenario.clone(), scheme, 10.0)).unwrap();
            for medium in media(&outcome.report) {
                assert_eq!(medium.sent, medium.delivered + medium.lost, "{what}: {medium:?}");
            }
            let traces = outcome.traces.unwrap();
            for (report, traces) in [
                (&outcome.report.channels.backward, &traces.backward),
                (&outcome.report.channels.forward, &traces.forward),
            ] {
                let sent = |p: &&proto::table::PacketRow| p.send_ns >= warmup;
                let lost = traces.packets.iter().filter(sent).filter(|p| p.receive_ns.is_none()).count();
                assert_eq!(report.wire.packets, traces.packets.iter().filter(sent).count() as u64, "{what}");
                assert_eq!(report.wire.lost, Some(lost as u64), "{what}");
                for (medium, rows) in [
                    (Some(&report.haptic), Some(&traces.haptic)),
                    (report.audio.as_ref(), traces.audio.as_ref()),
                    (report.video.as_ref(), traces.video.as_ref()),
                ] {
                    let (Some(medium), Some(rows)) = (medium, rows) else { continue };
                    let mut counted: Vec<_> = rows.iter().filter(|r| r.capture_ns >= warmup).collect();
                    assert!(rows.is_sorted_by(|a, b| a.index < b.index), "{what}");
                    assert_eq!(medium.sent, counted.len() as u64, "{what}");
                    counted.retain(|r| r.receive_ns.is_some());
                    assert_eq!(medium.delivered, counted.len() as u64, "{what}");
                    let mut delays: Vec<i64> = counted.iter().map(|r| r.receive_ns.unwrap() - r.capture_ns).collect();
                    let limit = (medium.limits.delay_ms * 1e6) as i64;
                    assert_eq!(medium.late, delays.iter().filter(|d| **d > limit).count() as u64, "{what}");
                    let (n, got) = (delays.len() as f64, medium.delay_ms.unwrap());
                    assert!((got.mean - delays.iter().sum::<i64>() as f64 / n / 1e6).abs() < 1e-9, "{what}");
                    delays.sort_unstable();
                    let p99 = delays[(n * 0.99).ceil() as usize - 1] as f64 / 1e6;
                    assert!((got.p99 - p99).abs() <= if p99 < 163.84 { 0.005 } else { 0.05 }, "{what}");
                    assert_eq!(got.max, delays[delays.len() - 1] as f64 / 1e6, "{what}");
                }
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let written = |seed: u64| {
        let dir = tempfile::tempdir().unwrap();
        let outcome = run(RunSpec { seed, ..spec(load("paper/r260"), Scheme::Dpm, 20.0) }).unwrap();
        outcome.traces.unwrap().write_csv(dir.path()).unwrap();
        let mut files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        let contents: Vec<_> =
            files.iter().map(|f| (f.file_name().unwrap().to_owned(), fs::read(f).unwrap())).collect();
        (contents, outcome.report, outcome.details)
    };
    let (first, again, other) = (written(1), written(1), written(2));
    let names: Vec<_> = first.0.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "audio_backward.csv",
            "haptic_backward.csv",
            "haptic_forward.csv",
            "k_backward.csv",
            "k_forward.csv",
            "packets_backward.csv",
            "packets_forward.csv",
            "video_backward.csv"
        ]
    );
    assert!(first == again);
    assert!(first.0 != other.0);
}

/// Traces are a look at a run, not a part of it.
#[test]
fn traces_change_no_figure() {
    for scenario in [load("paper/r300"), load("wifi")] {
        let outcome = |traces| run(RunSpec { traces, ..spec(scenario.clone(), Scheme::DpmHoldUp, 10.0) }).unwrap();
        let (with, without) = (outcome(true), outcome(false));
        assert_eq!((with.report, with.details), (without.report, without.details));
        assert!(without.traces.is_none());
    }
}

/// A full queue and a lossy network hold as much after ten times as long.
#[test]
fn memory_does_not_grow_with_the_run() {
    for (scenario, scheme) in
        [(load("paper/r400"), Scheme::NoMerge), (load("paper/r260"), Scheme::Dpm), (one_hop(bad_hop()), Scheme::Dpm)]
    {
        let needed = |seconds| {
            let spec = RunSpec { traces: false, ..spec(scenario.clone(), scheme, seconds) };
            run(spec).unwrap().footprint
        };
        let (short, long) = (needed(20.0), needed(200.0));
        assert!(long.packet_buffers <= short.packet_buffers + 20, "{scheme}: {short:?}, then {long:?}");
        assert!(long.packets_under_way <= short.packets_under_way + 20, "{scheme}: {short:?}, then {long:?}");
        assert!(long.packet_buffers < 400, "{long:?}");
    }
}

#[test]
fn a_network_without_delay_delivers_at_once() {
    let outcome = run(spec(one_hop(HopSpec::default()), Scheme::KMerge(2), 2.0)).unwrap();
    let haptic = &outcome.report.channels.forward.haptic;
    assert_eq!((haptic.sent, haptic.lost), (2_000, 0));
    assert_eq!(haptic.delay_ms.unwrap().max, 1.0);
    let traces = outcome.traces.unwrap();
    assert!(traces.backward.packets.iter().all(|p| p.receive_ns == Some(p.send_ns)));
}

#[test]
fn nothing_arrives_where_everything_is_lost() {
    let dead = one_hop(HopSpec { loss: LossSpec::Bernoulli(Probability::new(1.0).unwrap()), ..HopSpec::default() });
    let outcome = run(spec(dead, Scheme::Dpm, 3.0)).unwrap();
    for medium in media(&outcome.report) {
        assert_eq!((medium.delivered, medium.lost), (0, medium.sent));
        assert!(medium.delay_ms.is_none() && !medium.compliant);
    }
    assert_eq!(outcome.details.backward.haptic_over_limit.loss_percent, 100.0);
}

#[test]
fn the_report_says_what_ran() {
    let outcome = run(RunSpec { seed: 7, ..spec(load("paper/r300"), Scheme::KMerge(3), 12.5) }).unwrap();
    let r = &outcome.report;
    assert_eq!((r.schema, r.scheme.as_str(), r.scenario.as_str()), (SCHEMA, "k-merge:3", "paper/r300"));
    assert_eq!((r.seed, r.seconds, r.clock, r.clock_bound_ms), (7, 12.5, Clock::Virtual, Some(0.0)));
    let b = &r.channels.backward;
    assert_eq!(b.k.share_percent.iter().collect::<Vec<_>>(), [(&3, &100.0)]);
    // 67 bytes of headers and 3 fragments of 70 in each packet, one in 3 ms.
    assert_eq!(b.wire.bytes, b.wire.packets * 277);
    assert!((b.wire.kbps - 277.0 * 8.0 / 3.0).abs() < 0.2, "{}", b.wire.kbps);
    // 12 s of frames, less those that the multiplexer still held.
    assert_eq!(b.audio.as_ref().unwrap().sent, 600);
    assert!((299..=300).contains(&b.video.as_ref().unwrap().sent));
    assert!(b.audio.as_ref().unwrap().jitter_ms.unwrap().packet > 0.0);
    assert!(r.channels.forward.audio.is_none() && r.channels.forward.video.is_none());
    let cross = &r.cross_traffic.as_ref().unwrap().backward;
    let flows: Vec<_> = cross.flows.iter().map(|f| (f.name.as_str(), f.nominal_kbps)).collect();
    assert_eq!(flows, [("vbr", 400.0), ("cbr", 300.0)]);
    for flow in &outcome.details.backward.flows {
        assert!((flow.throughput_kbps / flow.nominal_kbps - 1.0).abs() < 0.01, "{flow:?}");
    }
}

/// With k = 1 at R_cbr = 260 the queue fills for good; with k = 4 nobody notices the load; DPM finds its way.
#[test]
fn convergence_follows_the_change_of_load() {
    let after_cbr = |scheme| {
        let outcome = run(spec(load("paper/r400"), scheme, 20.0)).unwrap();
        let [_, cbr] = outcome.details.backward.convergence.try_into().unwrap();
        assert_eq!((cbr.change.as_str(), cbr.at_ms), ("cbr", 500.17));
        (cbr.converged_ms, cbr.last_over_ms)
    };
    let (converged, last_over) = after_cbr(Scheme::NoMerge);
    assert_eq!(converged, None);
    assert!(last_over.unwrap() > 19_000.0);
    assert_eq!(after_cbr(Scheme::KMerge(4)), (Some(0.0), None));
    assert!(after_cbr(Scheme::Dpm).0.unwrap() < 1_000.0);
}

/// Two sessions on one bottleneck, then four: each has its own report and hears its own packets alone.
#[test]
fn sessions_share_a_bottleneck() {
    let together = |count: u64, seconds| {
        let mut wide = load("paper/r0");
        for hop in wide.backward.hops.iter_mut().chain(&mut wide.forward.hops) {
            hop.rate = Some(Bitrate::from_kbps(5_000));
        }
        // Half a millisecond apart, the second begins a second later.
        let others = (1..count).map(|i| SessionSpec {
            start: Duration::from_micros(500 * i) + Duration::from_secs(i % 2),
            ..SessionSpec::new(if i == 1 { Scheme::KMerge(4) } else { Scheme::Dpm })
        });
        run_together(spec(wide, Scheme::NoMerge, seconds), others.collect()).unwrap()
    };
    for count in [2, 4] {
        let outcomes = together(count, 10.0);
        assert_eq!(outcomes.len() as u64, count);
        let delay = |o: &Outcome| o.report.channels.backward.haptic.delay_ms.unwrap().mean;
        for (i, o) in (0..).zip(&outcomes) {
            let haptic = &o.report.channels.backward.haptic;
            let ticks = 9_500 - 1_000 * (i % 2);
            assert!((ticks - 4..=ticks).contains(&haptic.sent), "{haptic:?}");
            assert_eq!(haptic.lost, 0);
            let first = o.traces.as_ref().unwrap().backward.haptic[0];
            assert_eq!((first.index, first.capture_ns), (0, (500_000 * i + 1_000_000_000 * (i % 2)) as i64));
        }
        assert_eq!(outcomes[1].report.scheme, "k-merge:4");
        assert!(delay(&outcomes[1]) > delay(&outcomes[0]));
    }
}

/// Two sessions ask for 2 x 1096 kbit/s where between 1100 (beside the cross-traffic) and 1500 are to be had: together
/// they lose the rest. (In step, who comes second loses more.)
#[test]
fn sessions_feel_each_other() {
    let outcomes =
        run_together(spec(load("paper/r0"), Scheme::NoMerge, 10.0), vec![SessionSpec::new(Scheme::NoMerge)]).unwrap();
    let loss = |o: &Outcome| o.report.channels.backward.haptic.loss_percent;
    let mean = outcomes.iter().map(loss).sum::<f64>() / 2.0;
    let lost = |kbps: f64| 100.0 * (1.0 - kbps / 2_192.0);
    assert!((lost(1_500.0)..lost(1_100.0)).contains(&mean), "{mean} % lost");
}

/// What a servo was shown, and when.
#[derive(Default)]
struct Shown {
    samples: Vec<(Instant, u64)>,
    wrong: u64,
}

impl Servo for Shown {
    fn display(&mut self, at: Instant, index: u64, sample: HapticSample) {
        let wanted = sample_of(media::Role::Op, index);
        self.wrong += u64::from(format!("{sample:?}") != format!("{wanted:?}"));
        self.samples.push((at, index));
    }

    fn tick(&mut self, tick: u64) -> HapticSample {
        // Everything up to this instant has been shown, nothing of the future.
        assert!(self.samples.last().is_none_or(|(at, _)| *at <= Instant::from_millis(tick)));
        HapticSample::Force(Force::new(tick as f32, 0.0, 0.0))
    }
}

/// Answers with what it felt last.
#[derive(Default)]
struct Echo {
    felt: f32,
    largest: f32,
}

impl Servo for Echo {
    fn display(&mut self, _: Instant, _: u64, sample: HapticSample) {
        if let HapticSample::Force(force) = sample {
            self.felt = force.0.0[0];
            self.largest = self.largest.max(self.felt);
        }
    }

    fn tick(&mut self, _: u64) -> HapticSample {
        let position = Position::new(self.felt, 0.0, 0.0);
        HapticSample::Motion(media::Motion { position, ..media::Motion::default() })
    }
}

#[test]
fn servos_are_shown_what_arrives_in_order() {
    let shown = Rc::new(RefCell::new(Shown::default()));
    let mut spec = spec(load("paper/r100"), Scheme::Dpm, 5.0);
    spec.session.top = Box::new(shown.clone());
    let traces = run(spec).unwrap().traces.unwrap();
    let shown = shown.borrow();
    assert_eq!(shown.wrong, 0);
    assert!(shown.samples.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
    let traced: Vec<(i64, u64)> =
        traces.forward.haptic.iter().filter_map(|r| r.display_ns.map(|at| (at, r.index))).collect();
    let told: Vec<(i64, u64)> = shown.samples.iter().map(|&(at, i)| (at.as_nanos() as i64, i)).collect();
    assert_eq!(told, traced);
    assert!(told.len() > 4_900);
}

#[test]
fn a_loop_closes_over_the_network() {
    let echo = Rc::new(RefCell::new(Echo::default()));
    let mut spec = spec(load("paper/r0"), Scheme::NoMerge, 2.0);
    spec.session.top = Box::new(Rc::new(RefCell::new(Shown::default())));
    spec.session.op = Box::new(echo.clone());
    run(spec).unwrap();
    assert_eq!(echo.borrow().largest, 1_999.0);
}

#[test]
fn the_configuration_of_both_stations_can_be_changed() {
    let mut spec = spec(load("paper/r0"), Scheme::Dpm, 5.0);
    spec.session.configure = Box::new(|config| config.fragment_size = 40);
    let report = run(spec).unwrap().report;
    // Video does not fit any more and what had to wait too long was refused.
    assert!(report.channels.backward.video.as_ref().unwrap().sent < 80);
    assert_eq!(report.channels.backward.audio.as_ref().unwrap().sent, 225);
}

#[test]
fn a_scheme_that_lives_by_reports_of_loss_hears_them() {
    let backward = |scheme| run(spec(load("paper/r260"), scheme, 30.0)).unwrap().report.channels.backward;
    let (merging, rigid) = (backward(Scheme::LossMerge), backward(Scheme::NoMerge));
    assert!(merging.k.changes >= 2 && merging.k.share_percent.len() > 1, "{:?}", merging.k);
    assert!(merging.haptic.loss_percent < 0.5 * rigid.haptic.loss_percent);
    // Reports are no data packets: every packet counted carries samples.
    assert_eq!(rigid.wire.packets, rigid.haptic.sent);
}

#[test]
fn impossible_lengths_are_refused_with_the_possible_ones() {
    let of = |seconds, traces| {
        run(RunSpec { seconds, traces, ..RunSpec::new(load("lan"), Scheme::Dpm) }).map(|_| ()).unwrap_err()
    };
    let longest = *SECONDS.end();
    for seconds in [0.0, -1.0, 0.0001, f64::NAN, f64::INFINITY, 2.0 * longest] {
        let error = of(seconds, false);
        assert!(error.is_usage() && error.to_string().contains("0.001 to 100000 seconds"), "{error}");
    }
    let error = of(2.0 * TRACED_SECONDS.end(), true);
    assert!(error.to_string().contains("with traces") && error.to_string().contains("to 5000 seconds"), "{error}");
    let shortest = run(spec(load("lan"), Scheme::NoMerge, *SECONDS.start())).unwrap();
    assert_eq!(shortest.report.channels.forward.wire.packets, 1);
}

#[test]
fn traces_that_cannot_be_written_name_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let traces = run(spec(load("lan"), Scheme::Dpm, 0.1)).unwrap().traces.unwrap();
    let error = traces.write_csv(&file).unwrap_err();
    assert!(matches!(error, SimError::Write { .. }) && !error.is_usage());
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
}

/// The sessions of a scenario: one begins later, one pauses, one is further away; each is judged by itself.
#[test]
fn sessions_begin_pause_and_stand_where_their_scenario_says() {
    let ms = Duration::from_millis;
    let timing = |start, pause, access| SessionTiming { start, pause, access };
    let timings = [
        timing(Duration::ZERO, None, Duration::ZERO),
        timing(ms(2_000), None, ms(15)),
        timing(Duration::ZERO, Some((ms(3_000), ms(5_000))), Duration::ZERO),
    ];
    let mut spec = spec(load("lan"), Scheme::Dpm, 8.0);
    spec.session = SessionSpec::new(Scheme::Dpm).timed(timings[0]);
    let others = timings[1..].iter().map(|t| SessionSpec::new(Scheme::Dpm).timed(*t)).collect();
    let reports: Vec<Report> = run_together(spec, others).unwrap().into_iter().map(|o| o.report).collect();
    for (report, sent) in reports.iter().zip([8_000, 6_000, 6_000]) {
        let (backward, forward) = (&report.channels.backward.haptic, &report.channels.forward.haptic);
        assert_eq!((backward.sent, forward.sent, backward.lost, forward.lost), (sent, sent, 0, 0));
    }
    // Frames of the pause do not come afterwards.
    let video = reports[2].channels.backward.video.as_ref().unwrap();
    assert!(video.sent <= 150 && video.delay_ms.unwrap().p99 < 60.0, "{video:?}");
    let mean = |r: &Report| r.channels.backward.haptic.delay_ms.unwrap().mean;
    let further = mean(&reports[1]) - mean(&reports[0]);
    assert!((14.5..15.5).contains(&further), "{further}");
}
