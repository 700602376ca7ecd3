//! From the inbox into outboxes: messages for one socket, and publications for a channel's
//! recipients on this shard. No lock is held here, and nothing is encoded twice.

use std::cell::OnceCell;
use std::sync::Arc;

use millrace_core::{Annotation, ChannelId, Kind, Name, SocketId};

use super::Shard;
use super::connection::{Io, Phase, Shared};
use super::recipients::{List, Local};
use crate::adapter::Encoding;
use crate::frame::{Frame, Ledger, Publication};
use crate::frame::{Message, Origin, Via};
use crate::limits::OutboxPolicy;

/// A publication on its way to the recipients of a list.
struct Outbound<'a> {
    publication: &'a Publication,
    origin: Origin<'a>,
    /// Its frames in the encodings that say the channel, as far as a recipient takes them.
    named: [OnceCell<Frame>; Encoding::COUNT],
}

impl<'a> Outbound<'a> {
    fn new(publication: &'a Publication, origin: Origin<'a>) -> Self {
        Self {
            publication,
            origin,
            named: [const { OnceCell::new() }; Encoding::COUNT],
        }
    }

    fn frame(&self, encoding: Encoding) -> &Frame {
        if !encoding.says_channel() {
            return self.publication.frame(encoding);
        }
        self.named[encoding.index()]
            .get_or_init(|| self.publication.named_frame(encoding, Some(&self.origin)))
    }
}

impl Shard {
    /// A message for one socket.
    pub(super) fn direct(
        &self,
        slot: u32,
        socket: SocketId,
        append: impl FnOnce(&mut Io, &Arc<Ledger>),
    ) {
        let connections = self.connections.borrow();
        let connection = usize::try_from(slot)
            .ok()
            .and_then(|slot| connections.get(slot));
        match connection.filter(|connection| connection.socket == socket) {
            Some(connection) => self.append(connection, 1, append),
            None => self.stats.dropped_by_close.add(1),
        }
    }

    /// A publication for a list's recipients but some: those of the channel it was sent to, or those of a
    /// pattern that `matched`, the channel, matches.
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
        let outbound = Outbound::new(publication, list.origin(id, matched));
        self.each_recipient(list, 1, |connection, local| {
            if except.is_empty() || except.binary_search(&local.subscriber).is_err() {
                self.publish_to(connection, local, &outbound);
            }
        });
    }

    /// Publications that follow each other on a channel, for all its recipients: joined to one
    /// frame, so that a recipient costs the same as for a single one.
    pub(super) fn publish_run(&self, id: ChannelId, run: &[Arc<Publication>]) {
        // a joined frame can only be dropped as a whole, so policies that drop get single ones
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
        let outbounds = || {
            run.iter()
                .map(|publication| Outbound::new(publication, list.origin(id, None)))
        };
        let joined = [const { OnceCell::new() }; Encoding::COUNT];
        self.each_recipient(list, u64::from(count), |connection, local| {
            if local.annotation.is_some() {
                for outbound in outbounds() {
                    self.publish_to(connection, local, &outbound);
                }
                return;
            }
            self.append(connection, u64::from(count), |io, ledger| {
                let encoding = io.encoding;
                let frame = joined[encoding.index()].get_or_init(|| {
                    let outbounds: Vec<_> = outbounds().collect();
                    join(&outbounds, encoding, ledger)
                });
                io.outbox.append_frame(ledger, frame, count);
            });
        });
    }

    /// Calls `deliver` for each recipient that is still there; counts the others' messages.
    fn each_recipient(&self, list: &List, messages: u64, deliver: impl Fn(&Shared, &Local)) {
        let connections = self.connections.borrow();
        for local in &list.locals {
            let connection = usize::try_from(local.slot)
                .ok()
                .and_then(|slot| connections.get(slot));
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
                None => io.outbox.append_frame(ledger, outbound.frame(encoding), 1),
                Some(payload) => {
                    let message = Message {
                        kind: publication.kind(),
                        payload: &payload,
                        via: Some(outbound.origin.via),
                    };
                    io.outbox
                        .append(ledger, |out| encoding.append(&message, out));
                }
            }
        });
    }

    /// The payload with a virtual socket's mark, or `None` when it cannot take one.
    fn annotate(&self, annotation: &Annotation, publication: &Publication) -> Option<Vec<u8>> {
        let annotated = annotation
            .apply(publication.kind(), publication.payload())
            .ok();
        if annotated.is_none() && publication.kind() == Kind::Text {
            self.gateway.count_unannotated(1);
        }
        annotated
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
        append(io, self.gateway.ledger());
        io.times.message = self.now.get();
        if io.outbox.wants_flush() && matches!(io.phase, Phase::Open) {
            self.flush(connection, io);
        }
        self.mark_dirty(connection);
    }
}

/// Appends a large message for one socket.
pub(super) fn append_direct(io: &mut Io, ledger: &Arc<Ledger>, publication: &Publication) {
    let encoding = io.encoding;
    if encoding.says_channel() {
        let frame = publication.named_frame(encoding, None);
        io.outbox.append_frame(ledger, &frame, 1);
    } else {
        io.outbox
            .append_frame(ledger, publication.frame(encoding), 1);
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

/// The frames of a run behind each other, in a buffer of just their size.
fn join(run: &[Outbound<'_>], encoding: Encoding, ledger: &Arc<Ledger>) -> Frame {
    let frames = || run.iter().map(|outbound| outbound.frame(encoding));
    let mut bytes = Vec::with_capacity(frames().map(Frame::len).sum());
    for frame in frames() {
        bytes.extend_from_slice(frame.bytes());
    }
    Frame::new(bytes, ledger)
}
