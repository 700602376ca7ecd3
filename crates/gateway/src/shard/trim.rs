//! Memory that bursts leave in buffers which are used again is given back when less is needed for a while.

use super::Shard;

impl Shard {
    /// Called once per second while deadlines are checked.
    pub(super) fn trim(&self) {
        let mail = &mut *self.mail.borrow_mut();
        self.hub.inboxes().trim(self.index, mail);
        self.trim_parcels();
        if self.index.get() == 0 {
            for worker in self.hub.workers().all() {
                worker.queue().trim();
            }
        }
    }
}
