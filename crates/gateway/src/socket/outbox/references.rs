//! Frames that many connections get at once: each outbox refers to them instead of copying the short ones.

use std::sync::Arc;

use super::Outbox;
use crate::frame::Ledger;

impl Outbox {
    /// Has shared frames of any length queued by reference from now on, until everything is written: many connections get
    /// the same ones at once, and a copy for each would add up.
    pub(crate) fn refer(&mut self, ledger: &Arc<Ledger>) {
        self.seal(ledger);
        self.backlog.get_or_insert_default();
    }

    /// Ends what [`refer`](Self::refer) has begun, if no frame came.
    pub(crate) fn settle_references(&mut self) {
        self.drop_empty();
    }
}
