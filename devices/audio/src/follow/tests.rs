use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::*;
use crate::analysis::{level, sine, tone};
use crate::playback::{Drain, ring};
use crate::system::Health;

/// Sound cards in virtual time, seen by a test from behind.
#[derive(Default)]
struct World {
    /// Cards that are plugged in: name, rate.
    cards: BTreeMap<&'static str, u32>,
    default: Option<&'static str>,
    /// Opened and not yet dropped or unplugged.
    streams: Vec<FakeStream>,
    attempts: u32,
}

struct FakeStream {
    card: &'static str,
    rate: u32,
    health: Arc<Health>,
    end: End,
    /// Samples that have passed.
    moved: usize,
    started_ms: u64,
}

enum End {
    Microphone(rtrb::Producer<f32>),
    Speaker(Drain, Vec<f32>),
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<World>>);

impl Fake {
    fn with(cards: &[(&'static str, u32)]) -> Self {
        let fake = Fake::default();
        fake.world().cards.extend(cards.iter().copied());
        fake.world().default = cards.first().map(|c| c.0);
        fake
    }

    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    fn unplug(&self, card: &str) {
        let mut world = self.world();
        world.cards.remove(card);
        for stream in world.streams.iter().filter(|s| s.card == card) {
            stream.health.fail("Device disconnected".into());
        }
        world.streams.retain(|s| s.card != card);
    }

    fn plug(&self, card: &'static str, rate: u32) {
        self.world().cards.insert(card, rate);
    }

    fn open(&self, wanted: Option<&str>) -> Result<(&'static str, u32), AudioError> {
        let mut world = self.world();
        world.attempts += 1;
        let name = wanted.or(world.default).unwrap_or("default").to_owned();
        let card = world.cards.iter().find(|(card, _)| **card == name).map(|(card, rate)| (*card, *rate));
        card.ok_or_else(|| crate::names::not_found(DeviceKind::Speaker, &name, &[]))
    }

    fn stream(&self, card: &'static str, rate: u32, end: End) -> Stream {
        let health = Arc::new(Health::default());
        let stream = FakeStream { card, rate, health: health.clone(), end, moved: 0, started_ms: u64::MAX };
        self.world().streams.push(stream);
        Stream { name: card.into(), rate, channels: 1, health, _keep: Box::new(()) }
    }

    /// The cards' own threads at `ms`: blocks of odd sizes of what they captured (a tone) and played.
    fn run(&self, ms: u64) {
        for stream in &mut self.world().streams {
            stream.started_ms = stream.started_ms.min(ms);
            let due = ((ms - stream.started_ms) * u64::from(stream.rate) / 1_000) as usize;
            while due - stream.moved >= 600 {
                let block = 200 + stream.moved % 301;
                match &mut stream.end {
                    End::Microphone(ring) => {
                        let sound = sine(440.0, 0.5, stream.rate, stream.moved + block);
                        for sample in &sound[stream.moved..] {
                            let _ = ring.push(*sample);
                        }
                    }
                    End::Speaker(drain, heard) => {
                        let mut out = vec![0.0; block];
                        drain.start_block(block);
                        drain.pull(&mut out);
                        heard.extend(out);
                    }
                }
                stream.moved += block;
            }
        }
    }

    fn heard(&self, card: &str) -> Vec<f32> {
        let world = self.world();
        let stream = world.streams.iter().rev().find(|s| s.card == card).expect("a stream");
        match &stream.end {
            End::Speaker(_, heard) => heard.clone(),
            End::Microphone(_) => panic!("a microphone hears nothing"),
        }
    }
}

impl System for Fake {
    fn default_now(&mut self, _kind: DeviceKind) -> Option<String> {
        self.world().default.map(str::to_owned)
    }

    fn capture(&mut self, wanted: Option<&str>) -> Result<(Stream, rtrb::Consumer<f32>), AudioError> {
        let (card, rate) = self.open(wanted)?;
        let (producer, consumer) = rtrb::RingBuffer::new(rate as usize);
        Ok((self.stream(card, rate, End::Microphone(producer)), consumer))
    }

    fn playback(&mut self, wanted: Option<&str>) -> Result<(Stream, Feeder), AudioError> {
        let (card, rate) = self.open(wanted)?;
        let (feeder, drain) = ring(rate);
        Ok((self.stream(card, rate, End::Speaker(drain, Vec::new())), feeder))
    }
}

struct Listener {
    fake: Fake,
    microphone: Microphone,
    ms: u64,
    heard: Vec<f32>,
    dates: Vec<Instant>,
    /// Faults told, and their ends.
    told: Vec<Option<String>>,
}

impl Listener {
    fn new(fake: &Fake, wanted: Option<&str>) -> Self {
        let microphone = Microphone::open(Box::new(fake.clone()), wanted, Instant::ZERO).unwrap();
        Listener { fake: fake.clone(), microphone, ms: 0, heard: Vec::new(), dates: Vec::new(), told: vec![None] }
    }

    fn run(&mut self, ms: u64) {
        let end = self.ms + ms;
        while self.ms < end {
            self.ms += 4;
            self.fake.run(self.ms);
            let mut frame = [0.0; FRAME];
            while let Some(at) = self.microphone.poll(Instant::from_millis(self.ms), &mut frame) {
                self.heard.extend(frame);
                self.dates.push(at);
            }
            let fault = self.microphone.fault().map(str::to_owned);
            if self.told.last() != Some(&fault) {
                self.told.push(fault);
            }
        }
    }

    /// The last so many milliseconds heard.
    fn last(&self, ms: usize) -> &[f32] {
        &self.heard[self.heard.len() - ms * RATE as usize / 1_000..]
    }
}

fn steepest(sound: &[f32]) -> f32 {
    sound.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max)
}

/// The slope of the tone, and a fade of 5 ms over its height twice at once.
const NO_CLICK: f32 = 0.5 * std::f32::consts::TAU * 440.0 / 48_000.0 + 2.0 / 240.0;

#[test]
fn a_microphone_that_vanishes_is_silence_told_once_and_back_by_itself() {
    let fake = Fake::with(&[("usb", 48_000), ("onboard", 48_000)]);
    let mut run = Listener::new(&fake, Some("usb"));
    run.run(3_000);
    assert!(tone(run.last(1_500), RATE).above_rest_db > 50.0);
    fake.unplug("usb");
    run.run(10_000);
    assert_eq!(level(run.last(9_000)), 0.0);
    assert_eq!(run.told.len(), 2);
    let fault = run.told[1].clone().unwrap();
    assert!(fault.contains("usb: Device disconnected") && fault.contains("silence"), "{fault}");
    assert!(run.microphone.describe().contains("gone"));
    let attempts = fake.world().attempts;
    assert!((10..=12).contains(&attempts), "tried {attempts} times in 10 s");
    // Back with another clock and rate.
    fake.plug("usb", 44_100);
    run.run(1_100);
    assert_eq!(run.told.len(), 3);
    run.run(3_000);
    assert!(run.microphone.describe().contains("44100"));
    let found = tone(run.last(1_500), RATE);
    assert!((found.frequency_hz - 440.0).abs() < 0.5 && found.above_rest_db > 50.0, "{found:?}");
    assert!(steepest(&run.heard) < NO_CLICK, "{}", steepest(&run.heard));
    // All the time there were frames: 17.1 s, less what the changes take.
    assert!((845..=856).contains(&run.dates.len()), "{}", run.dates.len());
    assert!(run.dates.windows(2).all(|w| w[1].signed_since(w[0]) > 5_000_000), "dates go forward");
}

#[test]
fn a_microphone_that_stalls_is_opened_again() {
    let fake = Fake::with(&[("usb", 16_000)]);
    let mut run = Listener::new(&fake, Some("usb"));
    run.run(2_000);
    // Its stream lives, and moves nothing.
    fake.world().streams.clear();
    run.run(1_900);
    assert_eq!(run.told.len(), 1);
    run.run(400);
    assert_eq!(run.told.len(), 3, "{:?}", run.told);
    assert!(run.told[1].as_ref().unwrap().contains("no sound has moved"));
    run.run(2_000);
    assert!(tone(run.last(1_500), RATE).above_rest_db > 50.0);
    assert!(steepest(&run.heard) < NO_CLICK);
}

#[test]
fn the_default_is_followed_and_a_name_is_kept() {
    for (wanted, after) in [(None, "onboard"), (Some("usb"), "usb")] {
        let fake = Fake::with(&[("usb", 48_000), ("onboard", 96_000)]);
        let mut run = Listener::new(&fake, wanted);
        run.run(2_000);
        fake.world().default = Some("onboard");
        run.run(1_100);
        assert!(run.microphone.describe().starts_with(after), "{}", run.microphone.describe());
        run.run(2_000);
        assert!(tone(run.last(1_500), RATE).above_rest_db > 50.0);
        assert_eq!(run.told, [None], "no fault");
        assert!(steepest(&run.heard) < NO_CLICK);
    }
}

#[test]
fn the_default_that_vanishes_gives_way_to_the_new_one_at_once() {
    let fake = Fake::with(&[("usb", 48_000), ("onboard", 48_000)]);
    let mut run = Listener::new(&fake, None);
    run.run(2_000);
    fake.world().default = Some("onboard");
    fake.unplug("usb");
    run.run(200);
    assert!(run.microphone.describe().starts_with("onboard") && run.microphone.fault().is_none());
    // No default for a while: the one that runs is kept.
    fake.world().default = None;
    run.run(3_000);
    assert!(run.microphone.describe().starts_with("onboard"));
    assert!(steepest(&run.heard) < NO_CLICK);
}

#[test]
fn a_device_that_is_not_there_at_the_start_is_an_error() {
    let fake = Fake::with(&[]);
    assert!(Microphone::open(Box::new(fake.clone()), Some("usb"), Instant::ZERO).is_err());
    assert!(Speaker::open(Box::new(fake), None).is_err());
}

#[test]
fn a_speaker_that_vanishes_is_told_once_and_plays_again_by_itself() {
    let fake = Fake::with(&[("usb", 48_000)]);
    let mut speaker = Speaker::open(Box::new(fake.clone()), Some("usb")).unwrap();
    let sound = sine(440.0, 0.5, RATE, RATE as usize * 20);
    let mut frames = sound.chunks_exact(FRAME);
    let mut told = vec![None];
    let mut before = Vec::new();
    for ms in (0..14_000u64).step_by(4) {
        let now = Instant::from_millis(ms);
        fake.run(ms);
        match ms {
            3_000 => {
                before = fake.heard("usb");
                fake.unplug("usb");
            }
            9_000 => fake.plug("usb", 44_100),
            _ => {}
        }
        speaker.tick(now);
        // Nothing comes from the peer for a while in which the card is found gone and back.
        if ms % 20 == 0 && !(2_900..10_500).contains(&ms) {
            speaker.push(now, frames.next().unwrap());
        }
        let fault = speaker.fault().map(str::to_owned);
        if told.last() != Some(&fault) {
            told.push(fault);
        }
    }
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[1].as_ref().unwrap().contains("usb: Device disconnected; nothing is played"));
    assert!(told[2].is_none() && speaker.describe().contains("44100"));
    let after = fake.heard("usb");
    assert!(before.len() > 100_000 && after.len() > 150_000);
    for (sound, rate) in [(&before[..120_000], 48_000), (&after[..], 44_100)] {
        let found = tone(sound, rate);
        assert!((found.frequency_hz - 440.0).abs() < 0.5 && found.above_rest_db > 50.0, "{found:?}");
        assert!(steepest(sound) < NO_CLICK * 48_000.0 / 44_100.0, "{}", steepest(sound));
    }
    assert!(speaker.stats().dropped == 0, "{:?}", speaker.stats());
}

#[test]
fn a_speaker_follows_the_default_and_the_old_one_fades_out() {
    let fake = Fake::with(&[("usb", 48_000), ("onboard", 96_000)]);
    let mut speaker = Speaker::open(Box::new(fake.clone()), None).unwrap();
    let sound = sine(440.0, 0.5, RATE, RATE as usize * 8);
    let mut frames = sound.chunks_exact(FRAME);
    for ms in (0..7_000u64).step_by(4) {
        fake.run(ms);
        if ms == 3_000 {
            fake.world().default = Some("onboard");
        }
        speaker.tick(Instant::from_millis(ms));
        if ms % 20 == 0 {
            speaker.push(Instant::from_millis(ms), frames.next().unwrap());
        }
        // While both run, each takes its own blocks.
        assert_eq!(speaker.leaving.is_some(), (3_000..3_500).contains(&ms), "at {ms} ms");
    }
    assert!(speaker.describe().starts_with("onboard") && speaker.fault().is_none());
    let (old, new) = (fake.heard("usb"), fake.heard("onboard"));
    assert!(steepest(&old) < NO_CLICK && steepest(&new) < NO_CLICK);
    assert_eq!(level(&old[48_000 * 33 / 10..48_000 * 35 / 10]), 0.0);
    assert!(tone(&new[96_000 / 2..], 96_000).above_rest_db > 50.0);
}
