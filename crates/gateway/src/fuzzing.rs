//! What fuzz targets are given: a naive model beside what it is compared with, or a whole shard, and bytes that say what
//! happens to it.
//! Only in tests and with the feature `fuzzing`.

use crate::event::Handlers;
use crate::inbox;
use crate::limits::{GatewayLimits, OutboxPolicy};
use crate::shard::stage::EVERY;
use crate::shard::stage::life;
use crate::socket::env::read_queue;
use crate::socket::outbox;

/// Operations per input; what is compared after each walks over everything.
const OPERATIONS: usize = 300;

/// Posts to the inboxes of a few shards, their turns and their ends. The first three bytes say how large an inbox may be.
///
/// # Panics
///
/// Where an inbox says something wrong of its bytes, its room or its high water, or loses what it took.
pub fn inbox_accounting(bytes: &[u8]) {
    let Some(([low, high, shift], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let bound = usize::from(u16::from_le_bytes([*low, *high])) << (shift % 12);
    inbox::model::run(bound, operations(rest).map(inbox::model::Op::of));
}

/// Appends to an outbox, writes of its front, and judgements. The first bytes say what its policy and its limits are.
///
/// # Panics
///
/// Where what leaves is not what came, without what the policy drops, or a count is wrong.
pub fn outbox_policies(bytes: &[u8]) {
    let Some(([policy, low, high, frames], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let limits = GatewayLimits {
        outbox_policy: policy_of(*policy),
        outbox_bytes: usize::from(u16::from_le_bytes([*low, *high])),
        outbox_frames: usize::from(*frames),
        ..GatewayLimits::default()
    };
    outbox::model::run(operations(rest).map(outbox::model::Op::of), limits);
}

/// Connections that come to a read queue, and rounds in which some are let go.
///
/// # Panics
///
/// Where somebody reads before another who has waited longer for the same worker, or is lost.
pub fn read_queue_turns(bytes: &[u8]) {
    read_queue::model::run(operations(bytes).map(read_queue::model::Op::of));
}

/// A connection's life: what is sent and published to it, what its peer reads and sends, in pieces of any length, ends, turns
/// and time. The first bytes say what it speaks, what its worker handles and what the policy of its outbox is.
///
/// # Panics
///
/// Where its peer gets something torn, twice or out of order, its worker is told wrong, or something is left of it.
pub fn connection_phases(bytes: &[u8]) {
    let Some(([speaks, handlers, policy], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let speaks = EVERY[usize::from(*speaks) % EVERY.len()];
    let handlers = match handlers % 2 {
        0 => Handlers::NONE,
        _ => Handlers::END,
    };
    let steps = operations(rest).map(life::Step::of);
    life::run(speaks, handlers, policy_of(*policy), steps);
}

fn policy_of(byte: u8) -> OutboxPolicy {
    match byte % 3 {
        0 => OutboxPolicy::Close,
        1 => OutboxPolicy::DropNewest,
        _ => OutboxPolicy::DropOldest,
    }
}

fn operations(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    let (operations, _) = bytes.as_chunks();
    operations.iter().copied().take(OPERATIONS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_operations(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            inbox_accounting(&bytes);
            outbox_policies(&bytes);
            read_queue_turns(&bytes);
            connection_phases(&bytes);
        }
    }
}
