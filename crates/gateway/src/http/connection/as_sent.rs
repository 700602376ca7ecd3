//! The heads of requests as they were sent, if Node listeners want them: kept from their inspection until their
//! requests are answered.

use std::collections::VecDeque;

use millrace_protocol::http::{Inspector, Progress, head_lines};
use smallvec::SmallVec;

use super::Around;

/// Heads with the serial numbers of their requests.
#[derive(Default)]
pub(super) struct Heads(VecDeque<(u64, Box<[u8]>)>);

impl Heads {
    /// The head of the request with this number. Heads of earlier requests are dropped.
    pub(super) fn take(&mut self, serial: u64) -> Option<Box<[u8]>> {
        while let Some((number, _)) = self.0.front() {
            if *number > serial {
                return None;
            }
            let (number, head) = self.0.pop_front()?;
            if number == serial {
                return Some(head);
            }
        }
        None
    }
}

/// Inspects bytes. If Node listeners want heads as they were sent, heads are kept, and the bytes that are passed on are
/// changed so that hyper's parser accepts them.
pub(super) fn judge(
    inspector: &mut Inspector,
    bytes: &mut [u8],
    around: &Around,
    heads: &mut Heads,
) -> Progress {
    let rules = around.service.rules(around.shard.hub());
    if !rules.as_node {
        return inspector.inspect(bytes, rules);
    }
    let mut serial = inspector.requests();
    let mut places = SmallVec::<[(usize, usize); 4]>::new();
    let progress = inspector.inspect_heads(bytes, rules, |at, head| {
        serial += 1;
        places.push((at, at + head.len()));
        heads.0.push_back((serial, head.into()));
    });
    for (from, to) in places {
        if let Some(head) = bytes.get_mut(from..to) {
            head_lines::tame(head);
        }
    }
    progress
}
