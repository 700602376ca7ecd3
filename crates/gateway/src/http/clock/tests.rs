//! Tests deadlines case by case, and compares checks at random times with the exact deadlines.

use proptest::prelude::*;

use super::*;

const WRITE: Duration = Duration::from_secs(30);

fn due(clock: &Clock, now: u64) -> Due {
    let timeouts = Timeouts::new(&ListenerLimits::default(), &HttpLimits::default());
    clock.due(now, &timeouts, WRITE)
}

#[test]
fn a_silent_peer_has_two_seconds_and_a_head_has_ten() {
    let mut clock = Clock::new(1_000);
    clock.wait(1_000, Waits::Request, false);
    assert_eq!(due(&clock, 1_000), Due::Later(3_000));
    assert_eq!(due(&clock, 3_000), Due::End);
    clock.received(2_900, 5);
    clock.wait(2_900, Waits::Head, false);
    assert_eq!(due(&clock, 3_000), Due::Later(11_000));
    clock.received(10_900, 5);
    clock.wait(10_900, Waits::Head, false);
    assert_eq!(due(&clock, 11_000), Due::Refuse(Refusal::HeadTooSlow));
}

#[test]
fn a_first_request_of_http_1_0_has_two_seconds_of_silence() {
    let mut clock = Clock::new(1_000);
    clock.received(1_500, 20);
    clock.wait(1_500, Waits::Head, true);
    assert_eq!(due(&clock, 1_500), Due::Later(3_500));
    assert_eq!(due(&clock, 3_500), Due::End);
    // a client that sends single bytes is never silent, but its head has the same time as any other
    for now in (2_500..=10_500).step_by(1_000) {
        clock.received(now, 1);
    }
    assert_eq!(due(&clock, 10_999), Due::Later(11_000));
    assert_eq!(due(&clock, 11_000), Due::Refuse(Refusal::HeadTooSlow));
    clock.stop();
    clock.wait(20_000, Waits::Body(1), true);
    assert_eq!(due(&clock, 21_999), Due::Later(22_000));
    assert_eq!(due(&clock, 22_000), Due::Refuse(Refusal::BodyTooSlow));
    clock.stop();
    clock.received(30_000, 5);
    clock.wait(30_000, Waits::Head, false);
    assert!(matches!(due(&clock, 32_000), Due::Later(_)));
}

#[test]
fn between_requests_any_byte_counts() {
    let mut clock = Clock::new(0);
    clock.received(100, 50);
    clock.stop();
    assert_eq!(
        due(&clock, 1_000_000),
        Due::Later(u64::MAX),
        "an answer has its own deadline"
    );
    clock.wrote(1_000_000, true);
    clock.wait(1_000_000, Waits::Request, false);
    assert_eq!(due(&clock, 1_004_999), Due::Later(1_005_000));
    assert_eq!(due(&clock, 1_005_000), Due::End);
    clock.received(1_004_000, 3);
    clock.wait(1_004_000, Waits::Head, false);
    assert_eq!(due(&clock, 1_005_000), Due::Later(1_014_000));
}

#[test]
fn a_body_may_pause_and_may_be_slow_up_to_a_limit() {
    let mut clock = Clock::new(0);
    clock.received(0, 100);
    clock.stop();
    clock.wait(0, Waits::Body(1), false);
    assert_eq!(due(&clock, 9_999), Due::Later(10_000));
    assert_eq!(due(&clock, 10_000), Due::Refuse(Refusal::BodyTooSlow));
    // at a byte per second each byte earns one millisecond, not another second
    let mut now = 0;
    while due(&clock, now) != Due::Refuse(Refusal::BodyTooSlow) {
        now += 1_000;
        clock.received(now, 1);
        clock.stop();
        clock.wait(now, Waits::Body(1), false);
    }
    assert_eq!(now, 11_000);
    // time in which the body was not read does not count against the peer
    let mut clock = Clock::new(0);
    clock.stop();
    clock.wait(0, Waits::Body(1), false);
    for now in 1..100 {
        clock.received(now * 60_000 - 59_000, 10 * 1024);
        clock.stop();
        clock.wait(now * 60_000, Waits::Body(1), false);
        assert_eq!(
            due(&clock, now * 60_000 + 999),
            Due::Later(now * 60_000 + 10_000)
        );
    }
}

#[test]
fn a_handshake_counts_from_its_head_and_a_blocked_write_from_its_start() {
    let mut clock = Clock::new(0);
    clock.received(100, 50);
    clock.stop();
    clock.begin_handshake(Duration::from_secs(10));
    assert_eq!(due(&clock, 0), Due::Later(10_000));
    let mut clock = Clock::new(0);
    clock.received(100, 50);
    clock.stop();
    clock.received(7_000, 50);
    clock.begin_handshake(Duration::from_secs(10));
    assert_eq!(due(&clock, 0), Due::Later(17_000));
    let mut clock = Clock::new(0);
    clock.wrote(5, false);
    clock.wrote(20_000, false);
    assert_eq!(due(&clock, 30_005), Due::Cut);
    clock.wrote(30_000, true);
    assert_eq!(due(&clock, 30_005), Due::Later(u64::MAX));
    // the last bytes were accepted for writing and are stuck there
    clock.flushed(30_000, false);
    clock.flushed(50_000, false);
    assert_eq!(due(&clock, 60_000), Due::Cut);
    clock.flushed(60_000, true);
    assert_eq!(due(&clock, 60_000), Due::Later(u64::MAX));
}

#[test]
fn a_decision_is_due_before_the_end_of_its_handshake() {
    let mut clock = Clock::new(0);
    clock.received(100, 50);
    clock.stop();
    clock.begin_handshake(Duration::from_secs(10));
    clock.await_decision(200, Duration::from_secs(9));
    assert_eq!(due(&clock, 0), Due::Later(9_200));
    // a client whose decision is late is answered even if its handshake is over, too
    assert_eq!(due(&clock, 10_000), Due::Undecided);
    clock.end_decision();
    assert_eq!(due(&clock, 9_999), Due::Later(10_000));
    assert_eq!(due(&clock, 10_000), Due::Cut);
}

/// The times at which a connection that does nothing is checked, until it is closed.
fn looks(clock: &Clock, from: u64) -> Vec<u64> {
    let timeouts = Timeouts::new(&ListenerLimits::default(), &HttpLimits::default());
    let mut looks = vec![from];
    while let Due::Later(at) = clock.due(looks[looks.len() - 1], &timeouts, WRITE) {
        looks.push(clock.next_look(looks[looks.len() - 1], at, &timeouts, WRITE));
    }
    looks
}

#[test]
fn a_connection_that_waits_is_checked_when_its_time_is_over() {
    let mut clock = Clock::new(1_000);
    clock.wait(1_000, Waits::Request, false);
    assert_eq!(looks(&clock, 1_000), [1_000, 3_000]);
    clock.received(1_500, 50);
    clock.stop();
    clock.wrote(2_000, true);
    clock.wait(2_000, Waits::Request, false);
    assert_eq!(looks(&clock, 3_000), [3_000, 7_000]);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// Bytes arrive, and the connection waits for more of the same.
    More(usize),
    /// Bytes arrive, and the connection waits for what follows.
    Next(usize),
    /// Bytes arrive, and the connection waits for nothing.
    Stop(usize),
    Write(bool),
    Flush(bool),
    Handshake,
    Decision,
    NextRequest,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (1..5_000_usize).prop_map(Event::More),
        3 => (1..5_000_usize).prop_map(Event::Next),
        3 => (1..5_000_usize).prop_map(Event::Stop),
        2 => any::<bool>().prop_map(Event::Write),
        1 => any::<bool>().prop_map(Event::Flush),
        1 => Just(Event::Handshake),
        1 => Just(Event::Decision),
        2 => Just(Event::NextRequest),
    ]
}

proptest! {
    #[test]
    fn no_deadline_passes_between_two_checks(
        is_http_1_0: bool,
        events in prop::collection::vec((0..4_000_u64, event()), 0..60),
    ) {
        let timeouts = Timeouts::new(&ListenerLimits::default(), &HttpLimits::default());
        let mut clock = Clock::new(0);
        let (mut now, mut look, mut request) = (0, 0, 0);
        let mut waits = Waits::Request;
        clock.wait(0, waits, false);
        for (passed, event) in events {
            now += passed;
            while look <= now {
                match clock.due(look, &timeouts, WRITE) {
                    Due::Later(at) => look = clock.next_look(look, at, &timeouts, WRITE),
                    Due::Undecided => clock.end_decision(),
                    _ => return Ok(()),
                }
            }
            match event {
                Event::More(bytes) | Event::Next(bytes) | Event::Stop(bytes) => {
                    clock.received(now, bytes);
                    let goes_on = matches!(event, Event::More(_)) && waits != Waits::Request;
                    waits = match waits {
                        same if goes_on => same,
                        Waits::Request => Waits::Head,
                        Waits::Head | Waits::Body(_) => Waits::Body(request),
                    };
                    if matches!(event, Event::Stop(_)) {
                        clock.stop();
                    } else {
                        clock.wait(now, waits, is_http_1_0 && request == 0);
                    }
                }
                Event::Write(progress) => clock.wrote(now, progress),
                Event::Flush(done) => clock.flushed(now, done),
                Event::Handshake => {
                    clock.stop();
                    look = look.min(clock.begin_handshake(Duration::from_secs(10)));
                }
                Event::Decision => {
                    look = look.min(clock.await_decision(now, Duration::from_secs(9)));
                }
                Event::NextRequest => {
                    // the answer to the previous request
                    clock.wrote(now, true);
                    request += 1;
                    waits = Waits::Request;
                    clock.stop();
                    clock.wait(now, waits, false);
                }
            }
            let (at, _) = clock.next(&timeouts, WRITE);
            prop_assert!(at.max(now).saturating_add(LEAST_PACE) >= look, "{at} before the look at {look}");
        }
    }
}
