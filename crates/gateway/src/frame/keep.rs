//! A message as history keeps it: its payload in its exact size. Frames are made again when it is read, once for all that
//! read it at the same time.

use std::sync::{Arc, Weak};

use millrace_core::Kind;

use super::publication::Publication;
use crate::sync::Mutex;

/// See the module. Two words per message beside the payload and the counts of its allocations.
#[derive(Clone, Debug)]
pub struct KeptMessage(Arc<Held>);

#[derive(Debug)]
struct Held {
    kind: Kind,
    /// Whether connections with compression get it as it is.
    uncompressed: bool,
    /// The node whose socket has published it; 0: it was kept where it was published.
    node: u64,
    payload: Box<[u8]>,
    /// What those that read it share.
    publication: Mutex<Weak<Publication>>,
}

impl KeptMessage {
    pub(crate) fn new(kind: Kind, payload: &[u8], compresses: bool) -> Self {
        Self::of_node(0, (kind, payload), compresses)
    }

    /// A message of a store that several nodes share.
    pub(crate) fn of_node(node: u64, (kind, payload): (Kind, &[u8]), compresses: bool) -> Self {
        Self(Arc::new(Held {
            kind,
            uncompressed: !compresses,
            node,
            payload: payload.into(),
            publication: Mutex::new(Weak::new()),
        }))
    }

    /// Whether it is text or bytes.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The node whose socket has published it; 0: that is not known, or it was kept where it was published.
    pub fn node(&self) -> u64 {
        self.0.node
    }

    /// Its payload.
    pub fn payload(&self) -> &[u8] {
        &self.0.payload
    }

    /// The message for those that read it, `from` a publisher whom subscribers see. As long as one of them holds it, all get
    /// the same.
    pub(crate) fn publication(&self, from: impl FnOnce() -> Option<String>) -> Arc<Publication> {
        let mut known = self.0.publication.lock();
        if let Some(publication) = known.upgrade() {
            return publication;
        }
        let mut publication = Publication::new(self.0.kind, &self.0.payload);
        if self.0.uncompressed {
            publication = publication.uncompressed();
        }
        if let Some(from) = from() {
            publication = publication.published_by(from);
        }
        let publication = Arc::new(publication);
        *known = Arc::downgrade(&publication);
        publication
    }
}

impl PartialEq for KeptMessage {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KeptMessage {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_a_message_for_as_long_as_one_holds_it() {
        let kept = KeptMessage::new(Kind::Text, b"hello", false);
        let first = kept.publication(|| Some("7".to_owned()));
        assert!(Arc::ptr_eq(&first, &kept.clone().publication(|| None)));
        assert_eq!(first.from(), Some("7"));
        assert_eq!(
            (first.lead(), first.compresses()),
            (&b"\x81\x05hello"[..], false)
        );
        drop(first);
        assert_eq!(kept.publication(|| None).payload(), b"hello");
        assert_eq!((kept.kind(), kept.payload()), (Kind::Text, &b"hello"[..]));
    }

    #[test]
    fn a_kept_message_takes_at_most_160_bytes_beside_its_payload() {
        let counts_and_rounding = 16 + 16 + 16;
        // its place in the list of its channel, which grows by a quarter
        let place = 32 * 5 / 4;
        assert!(size_of::<Held>() + counts_and_rounding + place <= 160);
    }
}
