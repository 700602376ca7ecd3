//! From the inbox into outboxes: messages for one socket, and publications for a channel's
//! recipients on this shard. No lock is held here, and nothing is encoded twice.

use std::cell::OnceCell;
use std::sync::Arc;

use millrace_core::{Annotation, ChannelId, Kind, SocketId};

use super::Shard;
use super::connection::{Io, Phase, Shared};
use super::recipients::Local;
use crate::adapter::Encoding;
use crate::frame::{Frame, Ledger, Publication};
use crate::limits::OutboxPolicy;

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

    /// A publication for a channel's recipients but some.
    pub(super) fn publish(
        &self,
        channel: ChannelId,
        publication: &Publication,
        except: &[SocketId],
    ) {
        self.each_recipient(channel, 1, |connection, local| {
            if except.is_empty() || except.binary_search(&local.subscriber).is_err() {
                self.publish_to(connection, local, publication);
            }
        });
    }

    /// Publications that follow each other on a channel, for all its recipients: joined to one
    /// frame, so that a recipient costs the same as for a single one.
    pub(super) fn publish_run(&self, channel: ChannelId, run: &[Arc<Publication>]) {
        // a joined frame can only be dropped as a whole, so policies that drop get single ones
        if run.len() == 1 || self.limits.outbox_policy != OutboxPolicy::Close {
            for publication in run {
                self.publish(channel, publication, &[]);
            }
            return;
        }
        let count = u32::try_from(run.len()).unwrap_or(u32::MAX);
        let joined = [const { OnceCell::new() }; Encoding::COUNT];
        self.each_recipient(channel, u64::from(count), |connection, local| {
            if local.annotation.is_some() {
                for publication in run {
                    self.publish_to(connection, local, publication);
                }
                return;
            }
            self.append(connection, u64::from(count), |io, ledger| {
                let encoding = io.adapter.encoding();
                let frame = joined[encoding.index()].get_or_init(|| join(run, encoding, ledger));
                io.outbox.append_frame(ledger, frame, count);
            });
        });
    }

    /// Calls `deliver` for each recipient that is still there; counts the others' messages.
    fn each_recipient(&self, channel: ChannelId, messages: u64, deliver: impl Fn(&Shared, &Local)) {
        let recipients = self.recipients.borrow();
        let connections = self.connections.borrow();
        for local in recipients.of(channel) {
            let connection = usize::try_from(local.slot)
                .ok()
                .and_then(|slot| connections.get(slot));
            match connection.filter(|connection| connection.socket == local.socket) {
                Some(connection) => deliver(connection, local),
                None => self.stats.dropped_by_close.add(messages),
            }
        }
    }

    fn publish_to(&self, connection: &Shared, local: &Local, publication: &Publication) {
        self.append(connection, 1, |io, ledger| {
            let encoding = io.adapter.encoding();
            let annotation = local.annotation.as_deref();
            match annotation.and_then(|annotation| self.annotate(annotation, publication)) {
                None => io
                    .outbox
                    .append_frame(ledger, publication.frame(encoding), 1),
                Some(payload) => io.outbox.append(ledger, |out| {
                    encoding.append(publication.kind(), &payload, out);
                }),
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
        self.touch(connection);
    }
}

/// The frames of a run behind each other, in a buffer of just their size.
fn join(run: &[Arc<Publication>], encoding: Encoding, ledger: &Arc<Ledger>) -> Frame {
    let frames = || run.iter().map(|publication| publication.frame(encoding));
    let mut bytes = Vec::with_capacity(frames().map(Frame::len).sum());
    for frame in frames() {
        bytes.extend_from_slice(frame.bytes());
    }
    Frame::new(bytes, ledger)
}
