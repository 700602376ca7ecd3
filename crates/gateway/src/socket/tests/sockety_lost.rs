//! Tests a Sockety session whose I/O thread has a full inbox.

use bytes::Bytes;
use millrace_core::ShardSet;

use super::sockety::{REFUSED, event, hear, heard, opened_within};
use super::sockety_down::{STREAM, TURN, begin, begin_as, begun, written};
use crate::event::Step;
use crate::limits::GatewayLimits;

#[test]
fn a_piece_for_a_full_inbox_fails_its_message() {
    let limits = GatewayLimits {
        shard_inbox_bytes: 50_000,
        ..GatewayLimits::default()
    };
    let harness = opened_within(limits, 1 << 20);
    hear(&harness, &[0xe3]);
    let lost = begin(&harness, 0, 80_000, &[]);
    begin_as(&harness, 2, STREAM, 0, &[]);
    let stream = begun(&harness)[0].1[0];
    let mut dirty = ShardSet::default();
    let mut take = |id, step| harness.worker.step(id, step, &mut dirty);
    let bytes = || Step::Piece(Box::new(Bytes::from(vec![7; 40_000])));
    take(stream, bytes());
    take(lost[0], bytes());
    take(stream, Step::WantRoom);
    take(lost[0], Step::WantRoom);
    take(stream, Step::End);
    harness.take_posted();
    let records = harness.handle_records();
    let (number, fields, _) = event(&records[0]);
    assert_eq!((number, fields[4]), (REFUSED, 1));
    let turns: Vec<_> = records[1..].iter().map(|record| record.kind).collect();
    assert_eq!(
        turns,
        [TURN],
        "the worker is told of room for the other transfer"
    );
    assert!(harness.env.transfers.owner(lost[0]).is_none());
    let heard = heard(&written(&harness));
    assert!(
        heard.iter().any(|item| item.starts_with("Abort")),
        "{heard:?}"
    );
    assert!(
        heard.iter().any(|item| item.starts_with("StreamEnd")),
        "{heard:?}"
    );
}
