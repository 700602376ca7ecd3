//! Lives in a random order of everything that can happen to them, with peers that read and send in pieces of any length:
//! nothing is torn, repeated or left, and the worker is told once.

use proptest::prelude::*;

use super::stage::{CLOSE, EVERY, OPEN, Speaks, Stage};
use crate::close::CloseReason;
use crate::limits::OutboxPolicy;

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Publish(usize),
    Subscribe(i32),
    /// The peer reads so much more.
    Read(usize),
    /// It sends so much more of its messages.
    Say(usize),
    Goodbye,
    End,
    Vanish,
    Close,
    Retire,
    Drive,
    Turn,
    Handle,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![6..200_usize, 2_000..6_000_usize];
    prop_oneof![
        8 => length.clone().prop_map(Step::Send),
        6 => length.prop_map(Step::Publish),
        2 => (-1..=1).prop_map(Step::Subscribe),
        6 => prop_oneof![0..3_usize, 0..3_000_usize].prop_map(Step::Read),
        4 => (0..40_usize).prop_map(Step::Say),
        1 => Just(Step::Goodbye),
        1 => Just(Step::End),
        1 => Just(Step::Vanish),
        1 => Just(Step::Close),
        1 => Just(Step::Retire),
        8 => Just(Step::Drive),
        8 => Just(Step::Turn),
        3 => Just(Step::Handle),
        1 => (0..6_000_u64).prop_map(Step::Pass),
    ]
}

/// What a client that speaks this says without end, of which no piece is a mistake or is answered.
fn said(speaks: Speaks) -> &'static [u8] {
    match speaks {
        Speaks::WebSocket => b"\x81\x85\0\0\0\0hello\x02\x81\0\0\0\0a\x80\x81\0\0\0\0b",
        Speaks::Events => b"anything",
        Speaks::Resp => b"\r\n\r\n",
    }
}

const CHANNEL: &[u8] = b"c";

fn live(speaks: Speaks, policy: OutboxPolicy, steps: Vec<Step>) {
    let stage = Stage::new(|limits| {
        limits.outbox_bytes = 20_000;
        limits.outbox_policy = policy;
        limits.unhandled_events = 2;
        limits.outbox_read_pause_bytes = 5_000;
    });
    let actor = stage.open(speaks);
    let (mut frames, mut told) = (Vec::new(), Vec::new());
    let (mut spoken, mut is_cut, mut is_retired) = (0, false, false);
    let goodbyes = [
        actor.goodbye(&CloseReason::OVERFLOW),
        actor.goodbye(&CloseReason::by_application(4000, "enough".into())),
        actor.goodbye(&CloseReason::WORKER_DOWN),
    ];
    for step in steps {
        let number = frames.len();
        match step {
            Step::Send(length) => {
                let payload = format!("{number:0length$}").into_bytes();
                if stage.send(&actor, &payload) == 1 {
                    frames.push(stage.frame(&actor, None, &payload));
                }
            }
            Step::Publish(length) => {
                let payload = format!("{number:0length$}").into_bytes();
                if stage.publish(CHANNEL, &payload) == 1 {
                    frames.push(stage.frame(&actor, Some(CHANNEL), &payload));
                }
            }
            Step::Subscribe(delta) => stage.subscribe(&actor, CHANNEL, delta),
            Step::Read(bytes) => actor.peer.borrow_mut().give_room(bytes),
            Step::Say(bytes) => {
                let pieces = said(speaks).iter().copied().cycle();
                let piece: Vec<u8> = pieces.skip(spoken).take(bytes).collect();
                spoken += bytes;
                actor.peer.borrow_mut().feed(&piece);
            }
            Step::Goodbye if speaks == Speaks::WebSocket => {
                actor.peer.borrow_mut().feed(&[0x88, 0x80, 0, 0, 0, 0]);
            }
            Step::Goodbye => {}
            Step::End => actor.peer.borrow_mut().end(),
            Step::Vanish => {
                is_cut = true;
                actor.peer.borrow_mut().vanish();
            }
            Step::Close => {
                stage.close(&actor, 4000);
            }
            Step::Retire => {
                is_retired = true;
                stage.worker.retire();
            }
            Step::Drive => {
                stage.drive(&actor);
            }
            Step::Turn => {
                stage.turn();
            }
            Step::Handle => told.extend(stage.told()),
            Step::Pass(ms) => stage.pass(ms),
        }
    }
    if !is_cut {
        actor.read_all();
        stage.run();
        told.extend(stage.told());
        let got = actor.got();
        let mut rest = &got[..];
        let mut arrived = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            if let Some(behind) = rest.strip_prefix(&frame[..]) {
                arrived.push(index);
                rest = behind;
            }
        }
        let is_goodbye = match (speaks, rest) {
            (_, []) => true,
            (Speaks::WebSocket, [0x88, length, reason @ ..]) => {
                reason.len() == usize::from(*length)
            }
            _ => goodbyes.iter().any(|goodbye| rest == goodbye),
        };
        // whoever was cut in time got what was begun in part
        let what = rest.escape_ascii();
        assert!(is_goodbye || actor.is_done(), "{what}");
        if policy == OutboxPolicy::Close {
            assert!(
                arrived.iter().copied().eq(0..arrived.len()),
                "a hole: {arrived:?}"
            );
        }
    }
    told.extend(stage.assert_nothing_left());
    assert!(actor.is_done());
    let closes = told.iter().filter(|kind| **kind == CLOSE).count();
    if speaks == Speaks::Resp {
        assert!(told.is_empty());
    } else if !is_retired {
        assert_eq!((told.first(), closes), (Some(&OPEN), 1), "{told:?}");
    } else {
        assert!(closes <= 1, "{told:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens_nothing_is_torn_repeated_or_left(
        speaks in prop::sample::select(&EVERY[..]),
        policy in prop::sample::select(&[
            OutboxPolicy::Close, OutboxPolicy::DropNewest, OutboxPolicy::DropOldest,
        ][..]),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        live(speaks, policy, steps);
    }
}
