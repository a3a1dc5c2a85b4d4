//! The link alone: messages are passed by hand.

use super::*;

const OP_AT: Address = Address { ip: [1; 16], port: 1 };
const TOP_AT: Address = Address { ip: [2; 16], port: 2 };
const ELSEWHERE: Address = Address { ip: [3; 16], port: 3 };

fn link(role: Role, session: u32) -> Link {
    let config = Config { token: Token([7; 16]), ..Config::new(role) };
    Link::new(&config, session, Instant::ZERO)
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn said(link: &mut Link, now: Instant) -> Vec<(Address, ControlHeader, Message)> {
    std::iter::from_fn(|| link.poll(now, Default::default)).collect()
}

/// Everything `from` says at `now` reaches `to`.
fn pass(from: &mut Link, from_at: Address, to: &mut Link, now: Instant) -> Vec<Heard> {
    said(from, now).into_iter().map(|(_, header, message)| to.on_control(now, from_at, &header, message)).collect()
}

fn connected() -> (Link, Link) {
    let (mut op, mut top) = (link(Role::Op, 1), link(Role::Top, 2));
    op.connect(ms(0), TOP_AT);
    assert!(matches!(
        pass(&mut op, OP_AT, &mut top, ms(0))[..],
        [Heard::Connected { header: ControlHeader { session: 1, .. }, .. }]
    ));
    assert!(matches!(pass(&mut top, TOP_AT, &mut op, ms(0))[..], [Heard::Connected { .. }]));
    (op, top)
}

#[test]
fn a_wrong_token_meets_silence() {
    let mut top = link(Role::Top, 2);
    let mut op = link(Role::Op, 1);
    op.token = Token([8; 16]);
    op.connect(ms(0), TOP_AT);
    for t in 0..20 {
        assert!(pass(&mut op, OP_AT, &mut top, ms(t * 250)).iter().all(|h| *h == Heard::Foreign));
        assert!(said(&mut top, ms(t * 250)).is_empty());
    }
}

#[test]
fn a_message_is_repeated_until_it_is_acknowledged_even_if_later_ones_overtake_it() {
    let (mut op, mut top) = connected();
    op.say(ms(10), Message::EmergencyStop(true));
    assert_eq!(said(&mut op, ms(10)).len(), 1);
    op.on_data(ms(1_100));
    // The first copy is lost, statistics arrive, then the second copy.
    let heard = pass(&mut op, OP_AT, &mut top, ms(1_100));
    assert!(heard.iter().any(|h| matches!(h, Heard::Said { message: Message::EmergencyStop(true), .. })));
    pass(&mut top, TOP_AT, &mut op, ms(1_101));
    op.on_data(ms(1_500));
    assert!(said(&mut op, ms(1_500)).is_empty());
}

#[test]
fn the_stream_follows_a_peer_that_moves_but_not_a_repeated_old_message() {
    let (mut op, mut top) = connected();
    op.on_data(ms(1_000));
    let old = said(&mut op, ms(1_000));
    let (_, header, message) = old[0];
    assert!(matches!(top.on_control(ms(1_000), OP_AT, &header, message), Heard::Said { moved: false, .. }));
    assert_eq!(top.on_control(ms(1_001), ELSEWHERE, &header, message), Heard::Foreign);
    op.on_data(ms(2_000));
    let (_, header, message) = said(&mut op, ms(2_000))[0];
    assert!(matches!(top.on_control(ms(2_000), ELSEWHERE, &header, message), Heard::Said { moved: true, .. }));
    assert_eq!(top.peer(), Some(ELSEWHERE));
    assert!(!top.is_peer(OP_AT));
}

#[test]
fn a_restarted_station_takes_its_place_and_a_second_operator_does_not() {
    let (mut op, mut top) = connected();
    let mut second = link(Role::Op, 9);
    second.connect(ms(100), TOP_AT);
    assert_eq!(pass(&mut second, ELSEWHERE, &mut top, ms(100)), [Heard::Foreign]);
    // The first falls silent.
    assert!(top.on_timeout(ms(400)));
    assert!(matches!(
        pass(&mut second, ELSEWHERE, &mut top, ms(400))[..],
        [Heard::Connected { header: ControlHeader { session: 9, .. }, .. }]
    ));
    // A teleoperator that restarts is found by the operator's hellos.
    let mut restarted = link(Role::Top, 5);
    assert!(op.on_timeout(ms(400)));
    assert!(matches!(
        pass(&mut op, OP_AT, &mut restarted, ms(400))[..],
        [Heard::Connected { header: ControlHeader { session: 1, .. }, .. }]
    ));
    assert!(matches!(pass(&mut restarted, TOP_AT, &mut op, ms(401))[..], [Heard::Connected { .. }]));
}

#[test]
fn at_rest_control_costs_less_than_two_kilobits_a_second() {
    let (mut op, mut top) = connected();
    let mut bytes = 0;
    for t in 0..10_000 {
        op.on_data(ms(t));
        top.on_data(ms(t));
        for (_, header, message) in said(&mut op, ms(t)) {
            let mut out = Vec::new();
            message.emit(&header, &mut out);
            bytes += out.len() + 54;
            top.on_control(ms(t), OP_AT, &header, message);
        }
    }
    assert!(bytes > 0 && bytes * 8 / 10 <= 2_000, "{} bit/s", bytes * 8 / 10);
}

#[test]
fn no_wake_up_is_asked_for_in_the_past_again_and_again() {
    let (mut op, _) = connected();
    op.say(ms(1), Message::KeyFrame);
    let mut now = ms(1);
    let mut wakes = 0;
    while now < ms(60_000) {
        said(&mut op, now);
        op.on_timeout(now);
        let Some(next) = op.poll_timeout() else { break };
        now = now.max(next.at);
        wakes += 1;
    }
    assert!(wakes < 400, "{wakes}");
}

#[test]
fn goodbye_frees_the_place_and_the_operator_calls_again() {
    let (mut op, mut top) = connected();
    top.leave(ms(5));
    // The first copy is lost, the second one heard, the third no news.
    assert_eq!(said(&mut top, ms(5)).len(), 1);
    let heard = pass(&mut top, TOP_AT, &mut op, ms(15));
    assert!(matches!(heard[..], [Heard::Said { message: Message::Goodbye, .. }]));
    assert_eq!(pass(&mut top, TOP_AT, &mut op, ms(25)), [Heard::Nothing]);
    assert_eq!((said(&mut top, ms(1_000)).len(), top.poll_timeout()), (0, None));
    assert_eq!(op.peer(), None);
    assert!(said(&mut op, ms(300)).iter().all(|s| matches!(s.2, Message::Hello(_))));
    assert_eq!(said(&mut op, ms(600)).len(), 1);
    // One that has left does not take the operator again.
    op.connect(ms(1_100), TOP_AT);
    assert_eq!(pass(&mut op, OP_AT, &mut top, ms(1_100)), [Heard::Foreign]);
}

/// What a repetition would have to mend must not be acknowledged: an acknowledged stop is never said again.
#[test]
fn a_stop_that_was_overtaken_is_not_acknowledged_but_comes_again() {
    for stop in [Message::EmergencyStop(true), Message::Scheme(Scheme::NoMerge), Message::KeyFrame] {
        let (mut op, mut top) = connected();
        op.say(ms(10), stop);
        let overtaken = said(&mut op, ms(10))[0];
        op.on_data(ms(1_000));
        op.pending = [None; 3];
        let (_, header, message) = said(&mut op, ms(1_000))[0];
        assert!(matches!(top.on_control(ms(1_000), OP_AT, &header, message), Heard::Said { .. }));
        assert_eq!(top.on_control(ms(1_001), OP_AT, &overtaken.1, overtaken.2), Heard::Nothing);
        assert!(said(&mut top, ms(1_001)).iter().all(|(_, header, _)| header.ack != overtaken.1.sequence));
        op.say(ms(1_100), stop);
        let heard = pass(&mut op, OP_AT, &mut top, ms(1_100));
        assert!(matches!(heard[..], [Heard::Said { message, .. }] if message == stop));
        pass(&mut top, TOP_AT, &mut op, ms(1_101));
        assert!(op.pending.iter().all(Option::is_none));
    }
}

/// The first message of a new session has the number of one that an old session was told to be heard.
#[test]
fn an_acknowledgement_does_not_outlive_its_session() {
    for goodbye in [false, true] {
        let (mut op, mut top) = connected();
        op.say(ms(10), Message::EmergencyStop(true));
        pass(&mut op, OP_AT, &mut top, ms(10));
        if goodbye {
            op.leave(ms(11));
            pass(&mut op, OP_AT, &mut top, ms(11));
        } else {
            assert!(top.on_timeout(ms(400)));
        }
        let mut second = link(Role::Op, 9);
        second.connect(ms(401), TOP_AT);
        pass(&mut second, ELSEWHERE, &mut top, ms(401));
        assert!(said(&mut top, ms(401)).iter().all(|(_, header, _)| header.ack == 0));
    }
}
