//! What both ends count: sent, delivered, lost, never sent.

use media::{Duration, Role};

use crate::proto::report::Verdict;
use crate::proto::{Command, Event, Input, Scheme};
use crate::world::{OP_AT, Station, TOP_AT, World};

/// A sender that hears nobody for 5 s stops; what it then does not send is neither sent nor lost, and no stale tick leaves
/// when it goes on.
#[test]
fn what_was_never_sent_is_not_lost() {
    for scheme in [Scheme::NoMerge, Scheme::KMerge(4)] {
        let mut world = World::new();
        world.run(500);
        let now = world.now;
        world.op().input(now, Input::Command(Command::Scheme(scheme)));
        world.run(2_503);
        world.drop = Box::new(|_, _, _| true);
        world.run(8_001);
        world.drop = Box::new(|_, _, _| false);
        world.run(3_000);
        // A servo that stood still for longer than its last sample may be repeated.
        world.op().tick += 200;
        world.top().tick += 200;
        world.now += Duration::from_millis(200);
        world.run(3_000);
        let now = world.now;
        let (op, top) = (world.op().endpoint.stats(now), world.top().endpoint.stats(now));
        for (sender, receiver) in [(&op, &top), (&top, &op)] {
            let sent = sender.transmit.haptic_sent;
            let haptic = receiver.receive.media[0].clone().unwrap();
            // In the blackout 5 s left: about 250 ms before silence is noticed are part of them.
            assert!((4_500..5_300).contains(&haptic.lost), "{scheme}: {haptic:?}");
            let under_way = sent - haptic.delivered - haptic.lost;
            assert!(under_way < 530, "{scheme}: {sent} {haptic:?}");
            let told = sender.transmit.media[0].clone().unwrap();
            assert!(told.lost <= haptic.lost && told.lost > 4_500, "{told:?}");
        }
    }
}

/// The figures that a sender shows are those that its receiver measured, jitter of both kinds among them; a jitter over the
/// limit fails the medium on both sides.
#[test]
fn both_ends_of_a_channel_tell_the_same() {
    let mut world = World::new();
    world.run(4_000);
    let now = world.now;
    let (op, top) = (world.op().endpoint.stats(now), world.top().endpoint.stats(now));
    let (here, there) = (top.receive.media[0].clone().unwrap(), op.transmit.media[0].clone().unwrap());
    let (a, b) = (here.jitter_ms.unwrap(), there.jitter_ms.unwrap());
    assert!((a.packet - b.packet).abs() < 0.01 && (a.sample - b.sample).abs() < 0.01, "{a:?} {b:?}");
    assert_eq!(there.verdict, here.verdict);

    // Packets come now 20, now 45 ms after they left.
    let mut world = World::new();
    world.stagger = Duration::from_millis(25);
    world.run(6_000);
    let now = world.now;
    let told = world.op().endpoint.stats(now).transmit.media[0].clone().unwrap();
    let measured = world.top().endpoint.stats(now).receive.media[0].clone().unwrap();
    assert!(told.jitter_ms.unwrap().sample > 10.0, "{told:?}");
    assert!(!told.compliant && !measured.compliant);
    assert_eq!((told.verdict, measured.verdict), (Verdict::Fail, Verdict::Fail));
}

/// An operator that comes back after another one was served: both ends must know that a new session began, so that stops are
/// told again and counts begin together.
#[test]
fn an_operator_that_returns_after_another_one_is_connected_anew_at_both_ends() {
    let mut world = World::new();
    world.run(2_000);
    let mut first = world.op.take().unwrap();
    world.run(400);
    world.op = Some(Station::new(Role::Op, 9, world.now));
    let now = world.now;
    world.op().input(now, Input::Command(Command::Connect(TOP_AT)));
    world.run(2_000);
    let now = world.now;
    world.op().input(now, Input::Command(Command::Goodbye));
    world.run(100);
    first.events.clear();
    world.op = Some(first);
    world.top().events.clear();
    world.run(3_000);
    assert!(world.top().saw(|e| matches!(e, Event::Connected { .. })).is_some());
    assert!(world.op().saw(|e| matches!(e, Event::Connected { .. })).is_some());
    let now = world.now;
    for (sender, receiver) in [(true, false), (false, true)] {
        let stats = |world: &mut World, op: bool| if op { world.op() } else { world.top() }.endpoint.stats(now);
        let (sent, got) = (stats(&mut world, sender), stats(&mut world, receiver));
        let told = sent.transmit.media[0].clone().unwrap();
        assert!(told.delivered + told.lost <= told.sent, "{told:?}");
        assert!(got.receive.media[0].as_ref().unwrap().lost < 500, "{:?}", got.receive.media[0]);
    }
}

/// Samples that really got lost stay lost, even if the peer says later that it did not send others.
#[test]
fn what_was_never_sent_excuses_no_loss() {
    let mut world = World::new();
    world.run(2_000);
    // A twentieth of the samples is lost on the way to the teleoperator; then nothing reaches the operator any more.
    let mut n = 0u32;
    world.drop = Box::new(move |_, to, bytes| {
        n += 1;
        to == TOP_AT && bytes[0] & 0x20 == 0 && n.is_multiple_of(20)
    });
    world.run(8_000);
    let now = world.now;
    let before = world.top().endpoint.stats(now).receive.media[0].clone().unwrap().lost;
    assert!(before > 40, "{before}");
    world.drop = Box::new(|_, to, _| to == OP_AT);
    world.run(12_000);
    let now = world.now;
    let after = world.top().endpoint.stats(now).receive.media[0].clone().unwrap().lost;
    assert!(after >= before, "{before} {after}");
}
