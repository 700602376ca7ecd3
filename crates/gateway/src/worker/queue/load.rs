//! The amount of waiting events of one kind: their number and their bytes.

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    events: usize,
    bytes: usize,
}

impl Load {
    /// Adds an event.
    pub(super) fn add(&mut self, bytes: usize) {
        self.events += 1;
        self.bytes += bytes;
    }

    /// Subtracts events that were taken.
    pub(super) fn subtract(&mut self, taken: Self) {
        self.events -= taken.events;
        self.bytes -= taken.bytes;
    }

    /// Whether another event may follow; one always fits.
    pub(super) fn has_room(self, events: usize, bytes: usize) -> bool {
        self.events < events.max(1) && self.bytes < bytes.max(1)
    }
}
