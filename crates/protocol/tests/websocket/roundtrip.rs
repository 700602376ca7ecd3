//! Encoded messages decode to themselves: in both roles, with any fragments and reads, and with control
//! frames between.

use millrace_protocol::websocket::{Kind, Opcode, append_frame, append_part};
use proptest::prelude::*;

use crate::seen::{Seen, client, decode, server};

/// A message, the lengths of its first fragments, and the frames that are sent before each of its
/// frames.
#[derive(Debug, Clone)]
struct Script {
    message: Seen,
    fragments: Vec<usize>,
    between: Vec<Seen>,
}

fn message() -> impl Strategy<Value = Seen> {
    let size = prop_oneof![Just(0usize..4), Just(0..200), Just(65_530..65_600)];
    let binary = size.prop_flat_map(|size| prop::collection::vec(any::<u8>(), size));
    prop_oneof![
        "[ -~]{0,130}".prop_map(|text| Seen::text(&text)),
        "\\PC{0,80}".prop_map(|text| Seen::text(&text)),
        binary.prop_map(|bytes| Seen::binary(&bytes)),
    ]
}

fn control() -> impl Strategy<Value = Seen> {
    let payload = || prop::collection::vec(any::<u8>(), 0..=125);
    prop_oneof![
        payload().prop_map(Seen::Ping),
        payload().prop_map(Seen::Pong)
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let fragments = prop::collection::vec(0usize..300, 0..6);
    let between = prop::collection::vec(control(), 0..6);
    (message(), fragments, between).prop_map(|(message, fragments, between)| Script {
        message,
        fragments,
        between,
    })
}

/// Appends the frames of a script and records its items in the order in which they are finished.
fn perform(script: Script, key: Option<[u8; 4]>, out: &mut Vec<u8>, expected: &mut Vec<Seen>) {
    let Seen::Message { kind, payload, .. } = &script.message else {
        return;
    };
    let mut controls = script.between.into_iter();
    let mut rest = &payload[..];
    let mut opcode = Opcode::from(*kind);
    for length in script.fragments {
        let (part, after) = rest.split_at(length.min(rest.len()));
        append_part(out, opcode, false, key, part);
        (rest, opcode) = (after, Opcode::Continuation);
        match controls.next() {
            Some(Seen::Ping(payload)) => {
                append_part(out, Opcode::Ping, true, key, &payload);
                expected.push(Seen::Ping(payload));
            }
            Some(Seen::Pong(payload)) => {
                append_part(out, Opcode::Pong, true, key, &payload);
                expected.push(Seen::Pong(payload));
            }
            _ => {}
        }
    }
    append_part(out, opcode, true, key, rest);
    expected.push(script.message);
}

proptest! {
    #[test]
    fn any_script_in_any_reads(
        scripts in prop::collection::vec(script(), 1..5),
        key in prop::option::of(any::<[u8; 4]>()),
        reads in prop::sample::select(vec![1usize, 2, 7, 64, 1000, 16_384, usize::MAX]),
    ) {
        let (mut stream, mut expected) = (Vec::new(), Vec::new());
        for script in scripts {
            perform(script, key, &mut stream, &mut expected);
        }
        let config = if key.is_some() { server(70_000) } else { client(70_000) };
        let (seen, _, idle) = decode(&config, stream.chunks(reads));
        prop_assert!(seen == expected);
        prop_assert!(idle);
    }

    #[test]
    fn a_server_frame_is_the_unmasked_unfragmented_part(payload in prop::collection::vec(any::<u8>(), 0..300)) {
        let (mut frame, mut part) = (Vec::new(), Vec::new());
        append_frame(&mut frame, Kind::Binary.into(), &payload);
        append_part(&mut part, Opcode::Binary, true, None, &payload);
        prop_assert_eq!(frame, part);
    }
}
