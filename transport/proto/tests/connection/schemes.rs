//! Schemes on the way from one to another, samples left out on purpose, and packets from nowhere.

use media::{Duration, Instant, Role};

use crate::proto::wire::{Header, MediaHeader, Notification, SkipHeader};
use crate::proto::{Address, Command, Config, Endpoint, Event, Input, Scheme};
use crate::world::{DELAY, World};

/// Packets as a skipping scheme sends them: a number of their own, samples left out between them.
#[test]
fn skipped_samples_are_not_lost_but_lost_packets_are() {
    let mut op = Endpoint::new(Config { control: false, ..Config::new(Role::Op) }, 1, Instant::ZERO);
    let mut tick = 0u64;
    for number in 0..3_000u16 {
        tick += 1 + u64::from(number % 5);
        if number % 100 == 7 {
            continue;
        }
        let now = Instant::from_millis(tick + 20);
        let header = Header {
            k: 1,
            index: tick as u16,
            sent: (tick * 100) as u16,
            notification: Notification::NONE,
            media: Some(MediaHeader::default()),
            skip: Some(SkipHeader { number, mask: 1 }),
        };
        let mut bytes = Vec::new();
        header.emit(&mut bytes);
        bytes.extend([0; 12]);
        op.handle(now, Input::Datagram { from: Address::default(), bytes: &bytes });
        while let Some(event) = op.poll_event() {
            if let Event::Haptic { index, .. } = event {
                assert!(index <= tick && index + 20 > tick, "{index} {tick}");
            }
        }
    }
    let haptic = op.stats(Instant::from_millis(tick)).receive.media[0].clone().unwrap();
    // The last 500 packets are not judged yet.
    assert_eq!((haptic.delivered, haptic.lost), (2_970, 25));
}

/// A single packet with the skip flag, or one of a tick that is not yet, late in a session: the display goes on, and nothing
/// else is lost.
#[test]
fn one_packet_from_nowhere_does_not_stop_the_display() {
    for (skips, ahead) in [(true, 0), (true, 3_000), (true, 20_000), (true, 32_000), (false, 4_000), (false, 30_000)] {
        let mut op = Endpoint::new(Config { control: false, ..Config::new(Role::Op) }, 1, Instant::ZERO);
        let (mut shown, mut last, mut longest) = (0, 0, 0);
        let mut hand_in = |now: u64, tick: u64, skip: bool| {
            let header = Header {
                k: 1,
                index: tick as u16,
                sent: (now * 100) as u16,
                notification: Notification::NONE,
                media: Some(MediaHeader::default()),
                skip: skip.then_some(SkipHeader { number: 17, mask: 1 }),
            };
            let mut bytes = Vec::new();
            header.emit(&mut bytes);
            bytes.extend([0; 12]);
            op.handle(Instant::from_millis(now + 20), Input::Datagram { from: Address::default(), bytes: &bytes });
            while let Some(event) = op.poll_event() {
                if let Event::Haptic { .. } = event {
                    shown += 1;
                    longest = longest.max(now - last);
                    last = now;
                }
            }
        };
        for tick in 0..80_000 {
            if tick == 70_000 {
                hand_in(tick, tick + ahead, skips);
            }
            hand_in(tick, tick, false);
        }
        assert!(shown >= 79_990 && longest <= 10, "{skips} {ahead}: {shown} shown, {longest} ms without");
        let haptic = op.stats(Instant::from_millis(81_000)).receive.media[0].clone().unwrap();
        assert!(haptic.delivered >= 79_999 && haptic.lost <= 1, "{skips} {ahead}: {haptic:?}");
    }
}

/// Every scheme carries both channels, samples and pictures whole, nothing lost; a change to any of them from any other on the
/// way costs no sample that was to be sent.
#[test]
fn every_scheme_works_and_follows_every_other() {
    let all: Vec<Scheme> = Scheme::all().collect();
    for (i, first) in all.iter().enumerate() {
        let mut world = World::new();
        world.video = 900;
        world.run(300);
        for scheme in [*first, all[(i + 5) % all.len()], all[(i + 9) % all.len()]] {
            let now = world.now;
            world.op().input(now, Input::Command(Command::Scheme(scheme)));
            world.run(700);
            let now = world.now;
            for stats in [world.op().endpoint.stats(now), world.top().endpoint.stats(now)] {
                assert_eq!(stats.scheme, scheme);
                let haptic = stats.receive.media[0].clone().unwrap();
                assert_eq!((haptic.lost, stats.receive.garbage), (0, 0), "{first} {scheme}: {haptic:?}");
            }
        }
        let now = world.now;
        let (op, top) = (world.op().endpoint.stats(now), world.top().endpoint.stats(now));
        for (sender, receiver) in [(&op, &top), (&top, &op)] {
            let delivered = receiver.receive.media[0].as_ref().unwrap().delivered;
            // 20 ms are on their way; a skipping scheme may hold samples back for media.
            let under_way = sender.transmit.haptic_sent - delivered;
            assert!(under_way <= 30, "{first}: {under_way} of {delivered}");
        }
        // A frame that straddles a change of numbering may be lost; the others arrive.
        let video = op.receive.media[2].clone().unwrap();
        assert!(video.delivered > 50 && video.lost <= 3, "{first}: {video:?}");
    }
}

/// Between the samples of a deadband scheme the display gets one each millisecond, so that no watchdog lets go of the hand; and
/// no longer than the sender's sign of life takes.
#[test]
fn gaps_left_on_purpose_are_filled_and_silence_is_not() {
    for scheme in [Scheme::Weber, Scheme::WeberFirstOrder, Scheme::Etp] {
        let mut world = World::new();
        world.run(300);
        let now = world.now;
        world.op().input(now, Input::Command(Command::Scheme(scheme)));
        world.run(500);
        world.op().shown = 0;
        world.run(1_000);
        let shown = world.op().shown;
        assert!((990..=1_010).contains(&shown), "{scheme}: {shown}");
        world.drop = Box::new(|_, _, bytes| bytes[0] & 0x20 == 0);
        world.run(60);
        world.op().shown = 0;
        world.run(100);
        assert_eq!(world.op().shown, 0, "{scheme}");
    }
}

/// Two people choose at once: both stations end with one scheme, whatever each chose.
#[test]
fn a_choice_at_both_ends_at_once_ends_in_one() {
    for (at_op, at_top) in [(Scheme::Weber, Scheme::WeberFirstOrder), (Scheme::Dpm, Scheme::KMerge(4))] {
        let mut world = World::new();
        world.run(500);
        let now = world.now;
        world.op().input(now, Input::Command(Command::Scheme(at_op)));
        world.top().input(now, Input::Command(Command::Scheme(at_top)));
        world.run(1_000);
        let now = world.now;
        let schemes = [world.op().endpoint.stats(now).scheme, world.top().endpoint.stats(now).scheme];
        assert_eq!(schemes, [at_top; 2]);
        // What is said once acts once, however often it is repeated on the way.
        let changes = world.top().events.iter().filter(|(_, e)| matches!(e, Event::SchemeChanged(_))).count();
        assert_eq!(changes, 0);
    }
}

/// Made-up samples must not outlive the peer: the watchdogs, which take the force to zero 34 ms after the last one shown, promise
/// zero 50 ms after the last real one came.
#[test]
fn what_is_shown_ends_in_time_for_the_watchdogs_whatever_the_scheme() {
    const WATCHDOG: Duration = Duration::from_millis(34);
    for scheme in Scheme::all() {
        for moment in 0..8 {
            let mut world = World::new();
            let now = world.now;
            world.op().input(now, Input::Command(Command::Scheme(scheme)));
            world.run(1_000 + moment);
            let stopped = world.now;
            world.drop = Box::new(|_, _, _| true);
            world.run(300);
            let last_came = stopped + DELAY;
            for shown_at in [world.op().shown_at, world.top().shown_at] {
                assert!(shown_at + WATCHDOG < last_came + Duration::from_millis(50), "{scheme} {moment}: {shown_at:?}");
            }
        }
    }
}
