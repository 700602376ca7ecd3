//! Publications as they come out of the inbox, with a number or without.

use millrace_core::Number;

use crate::frame::Publication;
use crate::inbox::Numbered;

/// A publication on a channel as it comes out of the inbox.
pub(super) trait Sent {
    fn publication(&self) -> &Publication;

    /// Its number, if the channel has history.
    fn number(&self) -> Option<&Number> {
        None
    }
}

impl Sent for Publication {
    fn publication(&self) -> &Publication {
        self
    }
}

impl Sent for Box<Numbered> {
    fn publication(&self) -> &Publication {
        &self.publication
    }

    fn number(&self) -> Option<&Number> {
        Some(&self.number)
    }
}
