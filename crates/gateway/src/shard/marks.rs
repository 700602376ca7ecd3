//! How messages carry the marks of virtual sockets.

use millrace_core::{Annotation, Kind};

use super::Shard;
use crate::frame::{Encoding, Publication};

/// How a message carries the mark of a virtual socket.
pub(super) enum Marked {
    /// In its payload.
    Payload(Vec<u8>),
    /// In front of the payload, which stays as it is.
    Beside,
}

impl Shard {
    /// How the message of a virtual socket carries its mark, or `None` if it cannot carry it.
    pub(super) fn mark(
        &self,
        annotation: &Annotation,
        encoding: Encoding,
        publication: &Publication,
    ) -> Option<Marked> {
        if self.hub.encodings().shows_marks(encoding) {
            return Some(Marked::Beside);
        }
        let annotated = annotation
            .apply(publication.kind(), publication.payload())
            .ok();
        if annotated.is_none() && publication.kind() == Kind::Text {
            self.hub.count_unannotated(1);
        }
        annotated.map(Marked::Payload)
    }
}
