//! What a policy drops of channels with history is told: a gap stands where the messages were, so that the client knows
//! what it has missed. Only for protocols that show numbers.

use std::collections::BTreeMap;

use millrace_core::{Position, Start};

use super::connection::Io;
use super::env::Env;
use super::outbox::Spot;
use crate::limits::OutboxPolicy;

impl Env {
    /// Applies a dropping policy, and tells what it has dropped of channels with history. Returns the number of messages.
    #[cold]
    pub(super) fn drop_and_tell(&self, io: &mut Io) -> u64 {
        let oldest = self.limits.outbox_policy == OutboxPolicy::DropOldest;
        let mut dropped = 0;
        loop {
            // messages are dropped from one end, so what is told of all stands where the first or last of them was
            let (mut first, mut new) = (None, BTreeMap::new());
            while io.outbox.is_over(&self.limits)
                && let Some(gone) = io.outbox.drop_one(oldest)
            {
                dropped += u64::from(gone.messages);
                first.get_or_insert(gone.spot);
                if let Some((channel, offset)) = io.session.number_of(gone.frame.bytes()) {
                    let last = new.entry(channel).or_insert(offset);
                    *last = offset.max(*last);
                }
            }
            if new.is_empty() {
                return dropped;
            }
            self.tell_lost(io, first.filter(|_| oldest), new);
            // the notice itself may be too much
            if !io.outbox.is_over(&self.limits) {
                return dropped;
            }
        }
    }

    fn tell_lost(&self, io: &mut Io, spot: Option<Spot>, new: BTreeMap<Vec<u8>, u64>) {
        let Io {
            outbox,
            session,
            extra,
            ..
        } = io;
        let told = extra.get_or_insert_default().lost.get_or_insert_default();
        let known = told.notice.take();
        let replaces = known.is_some_and(|notice| outbox.has_notice(spot, &notice));
        if !replaces {
            told.gaps.clear();
        }
        for (channel, offset) in new {
            let past = self.hub.history(&channel, (Start::Next, false), 0);
            if let Some(past) = past {
                let last = Position {
                    offset,
                    ..past.position
                };
                told.add(channel, last);
            }
        }
        let mut bytes = Vec::new();
        for (channel, last) in &told.gaps {
            session.append_gap(channel, *last, &mut bytes);
        }
        if !bytes.is_empty() {
            told.notice = Some(outbox.put_notice((spot, replaces), bytes, self.ledger()));
        }
    }
}
