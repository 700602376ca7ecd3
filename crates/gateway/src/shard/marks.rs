//! How messages carry the marks of virtual sockets.

use millrace_core::{Annotation, Kind};

use super::Shard;
use crate::frame::{Encoding, Publication};
use crate::inbox::MarkedDirect;

/// How a message carries the mark of a virtual socket.
pub(super) enum Marked {
    /// In its payload.
    Payload(Vec<u8>),
    /// In front of the payload, which stays as it is.
    Beside,
}

impl Shard {
    /// Delivers a message to a virtual socket.
    pub(super) fn direct_marked(&self, marked: &MarkedDirect) {
        let place = (marked.slot, marked.socket);
        self.direct(marked.slot, marked.socket, |io, ledger| {
            let publication = &marked.publication;
            let head = (io.encoding, &*marked.annotation);
            if let Some(mut bytes) = self.hub.encodings().direct_head(head) {
                bytes.extend_from_slice(publication.payload());
                let mut headed = Publication::in_place(publication.kind(), bytes);
                if !publication.compresses() {
                    headed = headed.uncompressed();
                }
                return self.append_headed((io, ledger), &headed, place);
            }
            match self.mark(&marked.annotation, io.encoding, publication) {
                Some(Marked::Payload(payload)) => {
                    let mut publication = Publication::new(publication.kind(), &payload);
                    if !marked.publication.compresses() {
                        publication = publication.uncompressed();
                    }
                    self.append_direct((io, ledger), &publication, place);
                }
                Some(Marked::Beside) | None => {
                    self.append_direct((io, ledger), publication, place);
                }
            }
        });
    }

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
