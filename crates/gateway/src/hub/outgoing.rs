//! A message to be sent: each form that its recipients need is made at most once, and before the lock for posting is
//! taken if that takes long.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use millrace_core::{Annotation, Kind, Route, ShardSet, SocketId};

use crate::frame::{KeptMessage, Publication};
use crate::inbox::{COMMAND_CHARGE, Command, Inboxes};

/// A message as the caller passed it; its shared form is made at most once.
pub(crate) struct Outgoing<'a> {
    pub(super) kind: Kind,
    pub(super) payload: &'a [u8],
    pub(super) shared: OnceCell<Publication>,
    /// The exceptions of the list that was posted last, which several shards share.
    pub(super) except: Cell<Option<Arc<[SocketId]>>>,
    /// The shards whose inboxes were charged for the shared form, which happens once for each.
    pub(super) charged: Cell<ShardSet>,
    /// Made before the lock for posting is taken.
    pub(super) marked: Cell<Option<Box<Marked>>>,
    /// Its forms in the last channel with history that it was published in, or is going to be.
    pub(super) history: Cell<Option<Box<InHistory>>>,
    /// Whether its shared form may get a number: nobody else has it, and it has none yet.
    pub(super) is_fresh: Cell<bool>,
    /// Whether it may be compressed.
    pub(super) compresses: bool,
}

/// A message in a channel with history.
pub(super) struct InHistory {
    pub(super) kept: KeptMessage,
    /// What the shards get, which is published in no other channel with history.
    pub(super) publication: Publication,
    /// Whether it was published.
    pub(super) is_used: bool,
}

/// Posts a small message to a real socket; `None` if it is not small. It has no poster, so that everything stays in
/// registers: the address of a poster is passed on to other functions.
#[inline]
pub(super) fn post_small(
    (kind, payload): (Kind, &[u8]),
    inboxes: &Inboxes,
    route: Route,
    dirty: &mut ShardSet,
) -> Option<bool> {
    let length = u32::try_from(payload.len()).ok()?;
    if payload.len() > SMALL_BYTES {
        return None;
    }
    dirty.insert(route.shard);
    let charge = payload.len() + COMMAND_CHARGE;
    Some(
        inboxes.deliver(route.shard, charge, 1, |mail| Command::Small {
            slot: route.slot,
            socket: route.socket,
            kind,
            start: mail.place(payload),
            length,
        }),
    )
}

/// The message for a virtual socket with this annotation.
pub(super) struct Marked {
    pub(super) annotation: Arc<Annotation>,
    pub(super) form: Form,
}

pub(super) enum Form {
    Small(Vec<u8>),
    Large(Publication),
    /// The message cannot be annotated.
    AsItIs,
}

impl Outgoing<'_> {
    pub(crate) fn new(kind: Kind, payload: &[u8]) -> Outgoing<'_> {
        Outgoing {
            kind,
            payload,
            shared: OnceCell::new(),
            except: Cell::new(None),
            charged: Cell::default(),
            marked: Cell::new(None),
            history: Cell::new(None),
            is_fresh: Cell::new(true),
            compresses: true,
        }
    }

    /// Whether it is copied into the inbox for a single socket.
    pub(super) fn is_small(&self) -> bool {
        self.payload.len() <= SMALL_BYTES && self.compresses
    }

    /// A message whose shared form exists.
    pub(crate) fn shared(publication: &Publication) -> Outgoing<'_> {
        Outgoing {
            kind: publication.kind(),
            payload: publication.payload(),
            shared: OnceCell::from(publication.clone()),
            except: Cell::new(None),
            charged: Cell::default(),
            marked: Cell::new(None),
            history: Cell::new(None),
            is_fresh: Cell::new(false),
            compresses: publication.compresses(),
        }
    }

    /// Like [`shared`](Self::shared), for a message that nobody else has.
    pub(crate) fn fresh(publication: &Publication) -> Outgoing<'_> {
        let outgoing = Self::shared(publication);
        outgoing.is_fresh.set(true);
        outgoing
    }

    /// Whether its forms for a channel with history are made, or made soon.
    pub(super) fn is_keepable(&self) -> bool {
        let history = self.history.take();
        let is_made = history.as_ref().is_some_and(|history| !history.is_used);
        self.history.set(history);
        is_made || self.payload.len() <= SMALL_BYTES
    }

    /// Makes its forms for a channel with history.
    pub(super) fn make_keepable(&self) {
        let publication = if self.is_fresh.replace(false) {
            self.share()
        } else {
            self.publication(self.payload)
        };
        self.history.set(Some(Box::new(InHistory {
            kept: KeptMessage::new(self.kind, self.payload, self.compresses),
            publication,
            is_used: false,
        })));
    }

    /// The form that history keeps. From now on [`numbered`](Self::numbered) returns what belongs to it.
    pub(super) fn keep(&self) -> KeptMessage {
        if !self.history.take().is_some_and(|history| {
            let is_made = !history.is_used;
            self.history.set(Some(history));
            is_made
        }) {
            self.make_keepable();
        }
        let mut history = self.history.take();
        let kept = history.as_mut().map(|history| {
            history.is_used = true;
            history.kept.clone()
        });
        self.history.set(history);
        kept.unwrap_or_else(|| KeptMessage::new(self.kind, self.payload, self.compresses))
    }

    /// What the shards get of a message with a number.
    pub(super) fn numbered(&self) -> Publication {
        let history = self.history.take();
        let publication = history.as_ref().map(|history| history.publication.clone());
        self.history.set(history);
        publication.unwrap_or_else(|| self.share())
    }

    /// Whether posting is cheap: the message is copied into the inbox, or already shared.
    pub(super) fn is_light(&self) -> bool {
        self.payload.len() <= SMALL_BYTES || self.shared.get().is_some()
    }

    pub(super) fn is_marked_for(&self, annotation: &Arc<Annotation>) -> bool {
        let marked = self.marked.take();
        let is_for = |marked: &Marked| Arc::ptr_eq(&marked.annotation, annotation);
        let is_marked = marked.as_deref().is_some_and(is_for);
        self.marked.set(marked);
        is_marked
    }

    /// The form for this annotation, which may have been made before.
    pub(super) fn take_mark(&self, annotation: &Arc<Annotation>) -> Form {
        let made = if self.is_marked_for(annotation) {
            self.marked.take()
        } else {
            None
        };
        made.map_or_else(|| self.mark(annotation), |made| made.form)
    }

    pub(super) fn mark(&self, annotation: &Annotation) -> Form {
        match annotation.apply(self.kind, self.payload) {
            Ok(payload) if payload.len() <= SMALL_BYTES && self.compresses => Form::Small(payload),
            Ok(payload) => Form::Large(self.publication(&payload)),
            Err(_) => {
                if !self.is_light() {
                    self.share();
                }
                Form::AsItIs
            }
        }
    }

    /// These exceptions in their shared form, which is made once for consecutive posts.
    #[inline]
    pub(super) fn share_except(&self, except: &[SocketId]) -> Option<Arc<[SocketId]>> {
        (!except.is_empty()).then(|| self.share_list(except))
    }

    /// A function of its own, because most publications have no exceptions.
    #[inline(never)]
    fn share_list(&self, except: &[SocketId]) -> Arc<[SocketId]> {
        let known = self.except.take().filter(|known| **known == *except);
        let shared = known.unwrap_or_else(|| Arc::from(except));
        self.except.set(Some(Arc::clone(&shared)));
        shared
    }

    pub(super) fn share(&self) -> Publication {
        // a message that is not to be compressed has its shared form from the beginning
        let make = || Publication::new(self.kind, self.payload);
        self.shared.get_or_init(make).clone()
    }

    fn publication(&self, payload: &[u8]) -> Publication {
        let publication = Publication::new(self.kind, payload);
        if self.compresses {
            return publication;
        }
        publication.uncompressed()
    }
}

/// Payloads up to this size are copied into the inbox instead of being shared.
pub(super) const SMALL_BYTES: usize = 4096;
