//! Entry points of the fuzz targets: each runs a naive model beside the code that it checks, or a whole shard, and the
//! input bytes choose the operations. Only in tests and with the feature `fuzzing`.

use crate::event::Handlers;
use crate::inbox;
use crate::limits::{GatewayLimits, OutboxPolicy};
use crate::shard::stage::EVERY;
use crate::shard::stage::life;
use crate::socket::env::read_queue;
use crate::socket::outbox;

/// Operations per input. It is limited because the comparison after each operation walks over everything.
const OPERATIONS: usize = 300;

/// Runs posts to the inboxes of a few shards, turns, and ends of shards. The first three bytes choose the limits of an
/// inbox.
///
/// # Panics
///
/// If an inbox miscounts its bytes, its room or its high-water mark, or loses a command.
pub fn inbox_accounting(bytes: &[u8]) {
    let Some(([low, high, shift], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let bound = usize::from(u16::from_le_bytes([*low, *high])) << (shift % 12);
    inbox::model::run(bound, operations(rest).map(inbox::model::Op::of));
}

/// Runs appends to an outbox, writes from its front, and checks of its policy. The first bytes choose policy and
/// limits.
///
/// # Panics
///
/// If what leaves differs from what was appended without what the policy drops, or if a count is wrong.
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

/// Runs connections that enter a read queue, and rounds in which some of them may read.
///
/// # Panics
///
/// If a connection reads before one that has waited longer for the same worker, or if one is lost.
pub fn read_queue_turns(bytes: &[u8]) {
    read_queue::model::run(operations(bytes).map(read_queue::model::Op::of));
}

/// Runs the life of a connection: sends, publications, reads and writes of its peer in pieces of any length, ends,
/// turns and time. The first bytes choose its protocol, the handlers of its worker and the policy of its outbox.
///
/// # Panics
///
/// If the peer gets something incomplete, twice or out of order, if the worker gets wrong events, or if something of
/// the connection remains.
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
