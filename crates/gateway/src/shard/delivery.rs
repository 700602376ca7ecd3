//! Moves messages from the inbox into outboxes: messages for one socket, and publications for a channel's recipients on
//! this shard. Holds no lock and encodes nothing twice.

use std::cell::OnceCell;
use std::sync::Arc;

use millrace_core::{Annotation, ChannelId, Kind, Name, SocketId};

use super::Shard;
use super::recipients::{List, Local};
use crate::frame::{Encoding, Encodings, Frame, Frames, Ledger, Message, Origin, Publication, Via};
use crate::limits::OutboxPolicy;
use crate::socket::connection::{Io, Phase, Shared};

/// A publication for the recipients of a list.
struct Outbound<'a> {
    publication: &'a Publication,
    /// Its bytes in the lead encoding.
    lead: &'a [u8],
    origin: Origin<'a>,
    encodings: &'a Encodings,
    /// Its frames in other encodings than the lead, as far as recipients need them.
    others: Frames,
}

impl<'a> Outbound<'a> {
    fn new(publication: &'a Publication, origin: Origin<'a>, encodings: &'a Encodings) -> Self {
        Self {
            publication,
            lead: publication.lead(),
            origin,
            encodings,
            others: Frames::new(),
        }
    }

    /// Its bytes in an encoding; `None`: the encoding cannot carry it.
    fn bytes(&self, encoding: Encoding) -> Option<&[u8]> {
        if encoding == Encodings::LEAD {
            return Some(self.lead);
        }
        self.other(encoding).map(Frame::bytes)
    }

    /// Its frame in an encoding other than the lead; `None`: the encoding cannot carry it.
    #[inline]
    fn other(&self, encoding: Encoding) -> Option<&Frame> {
        self.others
            .get_or_make(encoding, || {
                self.publication
                    .other(self.encodings, encoding, Some(&self.origin))
            })
            .as_ref()
    }
}

impl Shard {
    /// Delivers a message to one socket.
    pub(super) fn direct(
        &self,
        slot: u32,
        socket: SocketId,
        append: impl FnOnce(&mut Io, &Arc<Ledger>),
    ) {
        let connections = self.connections.borrow();
        let connection = connections.get(slot);
        match connection.filter(|connection| connection.socket == socket) {
            Some(connection) => self.append(connection, 1, append),
            None => self.stats.dropped_by_close.add(1),
        }
    }

    /// Delivers a publication to the recipients of a list, except some: the list of the channel that it was sent to, or
    /// of a pattern that matches the channel `matched`.
    pub(super) fn publish(
        &self,
        id: ChannelId,
        matched: Option<&Name>,
        publication: &Publication,
        except: &[SocketId],
    ) {
        let recipients = self.recipients.borrow();
        let Some(list) = recipients.of(id) else {
            return;
        };
        let outbound = Outbound::new(publication, list.origin(id, matched), self.hub.encodings());
        self.each_recipient(list, 1, |connection, local| {
            if except.is_empty() || except.binary_search(&local.subscriber).is_err() {
                self.publish_to(connection, local, &outbound);
            }
        });
    }

    /// Delivers consecutive publications on a channel to all its recipients, joined into one frame, so that each
    /// recipient costs as much as for a single publication.
    pub(super) fn publish_run(&self, id: ChannelId, run: &[Publication]) {
        // a joined frame can only be dropped as a whole, so policies that drop messages get single frames
        if run.len() == 1 || self.limits.outbox_policy != OutboxPolicy::Close {
            for publication in run {
                self.publish(id, None, publication, &[]);
            }
            return;
        }
        let recipients = self.recipients.borrow();
        let Some(list) = recipients.of(id) else {
            return;
        };
        let count = u32::try_from(run.len()).unwrap_or(u32::MAX);
        let encodings = self.hub.encodings();
        let outbounds = || {
            run.iter()
                .map(|publication| Outbound::new(publication, list.origin(id, None), encodings))
        };
        // recipients with the lead encoding need no look-up
        let (lead, others) = (OnceCell::new(), Frames::new());
        self.each_recipient(list, u64::from(count), |connection, local| {
            if local.annotation.is_some() {
                for outbound in outbounds() {
                    self.publish_to(connection, local, &outbound);
                }
                return;
            }
            self.append(connection, u64::from(count), |io, ledger| {
                let encoding = io.encoding;
                let join = || join(&outbounds().collect::<Vec<_>>(), encoding);
                let joined = if encoding == Encodings::LEAD {
                    lead.get_or_init(join)
                } else {
                    others.get_or_make(encoding, join)
                };
                if joined.messages > 0 {
                    io.outbox
                        .append_frame(ledger, &joined.frame, joined.messages);
                }
                self.count_uncarried(u64::from(count - joined.messages));
            });
        });
    }

    /// Calls `deliver` for each recipient whose connection still exists; counts the messages of the others.
    fn each_recipient(&self, list: &List, messages: u64, deliver: impl Fn(&Shared, &Local)) {
        let connections = self.connections.borrow();
        for local in &list.locals {
            let connection = connections.get(local.slot);
            match connection.filter(|connection| connection.socket == local.socket) {
                Some(connection) => deliver(connection, local),
                None => self.stats.dropped_by_close.add(messages),
            }
        }
    }

    fn publish_to(&self, connection: &Shared, local: &Local, outbound: &Outbound<'_>) {
        self.append(connection, 1, |io, ledger| {
            let encoding = io.encoding;
            let publication = outbound.publication;
            let annotation = local.annotation.as_deref();
            match annotation.and_then(|annotation| self.annotate(annotation, publication)) {
                None if encoding == Encodings::LEAD => {
                    let frame = || publication.frame();
                    io.outbox.append_shared(ledger, (outbound.lead, 1), frame);
                }
                None => match outbound.other(encoding) {
                    Some(frame) => io.outbox.append_frame(ledger, frame, 1),
                    None => self.count_uncarried(1),
                },
                Some(payload) => {
                    let message = Message {
                        kind: publication.kind(),
                        payload: &payload,
                        via: Some(outbound.origin.via),
                    };
                    self.append_message(io, ledger, &message);
                }
            }
        });
    }

    /// The payload with a virtual socket's user data, or `None` if it cannot carry it.
    fn annotate(&self, annotation: &Annotation, publication: &Publication) -> Option<Vec<u8>> {
        let annotated = annotation
            .apply(publication.kind(), publication.payload())
            .ok();
        if annotated.is_none() && publication.kind() == Kind::Text {
            self.hub.count_unannotated(1);
        }
        annotated
    }

    /// Encodes a message for one socket alone.
    #[inline]
    pub(super) fn append_message(&self, io: &mut Io, ledger: &Arc<Ledger>, message: &Message<'_>) {
        if io.encoding == Encodings::LEAD {
            return io
                .outbox
                .append(ledger, |out| Encodings::append_lead(message, out));
        }
        self.append_other(io, ledger, message);
    }

    #[inline(never)]
    fn append_other(&self, io: &mut Io, ledger: &Arc<Ledger>, message: &Message<'_>) {
        let (encodings, encoding) = (self.hub.encodings(), io.encoding);
        if !encodings.carries(encoding, message.payload.len()) {
            return self.count_uncarried(1);
        }
        io.outbox
            .append(ledger, |out| encodings.append(encoding, message, out));
    }

    /// Appends a large message for one socket.
    pub(super) fn append_direct(&self, io: &mut Io, ledger: &Arc<Ledger>, message: &Publication) {
        if io.encoding == Encodings::LEAD {
            return io.outbox.append_frame(ledger, message.frame(), 1);
        }
        match message.other(self.hub.encodings(), io.encoding, None) {
            Some(frame) => io.outbox.append_frame(ledger, &frame, 1),
            None => self.count_uncarried(1),
        }
    }

    /// Counts messages that are dropped because the recipient's encoding cannot carry them.
    fn count_uncarried(&self, messages: u64) {
        if messages > 0 {
            self.stats.dropped_by_encoding.add(messages);
        }
    }

    fn append(
        &self,
        connection: &Shared,
        messages: u64,
        append: impl FnOnce(&mut Io, &Arc<Ledger>),
    ) {
        let io = &mut *connection.io.borrow_mut();
        if !io.is_live() {
            return self.stats.dropped_by_close.add(messages);
        }
        io.outbox
            .lend(|| self.spare.borrow_mut().pop().unwrap_or_default());
        append(io, self.ledger());
        io.times.message = self.now.get();
        if io.outbox.wants_flush() && matches!(io.phase, Phase::Open | Phase::Ending(_)) {
            self.flush(connection, io);
        }
        self.mark_dirty(connection);
    }
}

impl List {
    fn origin<'a>(&'a self, id: ChannelId, matched: Option<&'a Name>) -> Origin<'a> {
        let via = match matched {
            None => Via {
                channel: &self.name,
                pattern: None,
            },
            Some(channel) => Via {
                channel,
                pattern: Some(&self.name),
            },
        };
        Origin { list: id, via }
    }
}

/// The frames of consecutive publications in one.
struct Joined {
    frame: Frame,
    /// The number of messages in it: those that the encoding can carry.
    messages: u32,
}

/// Joins the frames of consecutive publications, in a buffer of their exact size.
fn join(run: &[Outbound<'_>], encoding: Encoding) -> Joined {
    let frames = || run.iter().filter_map(|outbound| outbound.bytes(encoding));
    let mut bytes = Vec::with_capacity(frames().map(<[u8]>::len).sum());
    let mut messages = 0;
    for frame in frames() {
        bytes.extend_from_slice(frame);
        messages += 1;
    }
    Joined {
        frame: Frame::uncounted(bytes),
        messages,
    }
}
