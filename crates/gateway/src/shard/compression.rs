//! Messages for connections with compression: each is compressed once for all connections with the same terms, by the
//! thread that needs it first, or on a thread of its own if it is long. Recipients that need it meanwhile are parked: their
//! outbox holds its place, and what follows stays behind it.

use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::SocketId;

use super::Shard;
use crate::frame::{
    Compressed, Encoding, Encodings, Frame, Late, Ledger, Message, Origin, Outcome, Publication,
};
use crate::hub::Job;
use crate::limits::OutboxPolicy;
use crate::socket::connection::Io;
use crate::socket::takeover::Takeover;

/// What recipients with an encoding other than the lead get of a message.
#[derive(Debug)]
pub(super) enum Form {
    Frame(Frame),
    /// The encoding cannot carry it.
    Uncarried,
    /// The lead's frame.
    Lead,
    /// A frame that is being compressed.
    Late(Late),
    /// A frame for each connection, which refers to its earlier messages.
    Own,
    /// The form of this publication, which is the message with its head.
    Headed(Box<(Publication, Form)>),
}

/// The connections of a shard that wait for frames which other threads make.
#[derive(Debug, Default)]
pub(super) struct Parked(AHashMap<usize, Vec<(u32, SocketId)>>);

/// A connection, by its slot and its id.
pub(super) type Place = (u32, SocketId);

impl Shard {
    /// What recipients with this encoding get of a publication. `allowed`: whether the terms of its channel allow
    /// compression.
    pub(super) fn form(
        &self,
        publication: &Publication,
        encoding: Encoding,
        origin: Option<&Origin<'_>>,
        allowed: bool,
    ) -> Form {
        let encodings = self.hub.encodings();
        let Some(compressed) = encodings.compression(encoding) else {
            let frame = publication.other(encodings, encoding, origin);
            return frame.map_or(Form::Uncarried, Form::Frame);
        };
        let allowed = allowed && publication.compresses();
        let Some(headed) = publication.headed(encodings, encoding, origin) else {
            return self.compressed_form(publication, (encoding, compressed), allowed);
        };
        match self.compressed_form(&headed, (encoding, compressed), allowed) {
            Form::Lead => Form::Frame(headed.frame().clone()),
            form @ (Form::Late(_) | Form::Own) => Form::Headed(Box::new((headed, form))),
            form => form,
        }
    }

    /// What recipients with an encoding that compresses get of a message.
    fn compressed_form(
        &self,
        publication: &Publication,
        (encoding, compressed): (Encoding, &Compressed),
        allowed: bool,
    ) -> Form {
        if !allowed || !compressed.takes(publication.payload()) {
            return Form::Lead;
        }
        if compressed.terms.takeover {
            return Form::Own;
        }
        let (late, first) = publication.claim(encoding);
        if first {
            self.compress(publication, encoding, &late);
        }
        match late.outcome_on(self.index) {
            Outcome::Open => Form::Late(late),
            Outcome::Plain => Form::Lead,
            Outcome::Frame(frame) => Form::Frame(frame),
        }
    }

    /// Makes a frame, here or on another thread.
    fn compress(&self, publication: &Publication, encoding: Encoding, late: &Late) {
        if publication.payload().len() <= INLINE_BYTES {
            let frame = self.hub.compress_now(publication, encoding, &[]);
            return self.hub.settle(late, frame, None);
        }
        let job = Job {
            publication: publication.clone(),
            encoding,
            late: late.clone(),
            history: None,
        };
        if let Err(job) = self.compress_later(job) {
            self.hub.settle(&job.late, None, None);
        }
    }

    /// `Err`: too much waits for its compression, so that the message is sent as it is.
    fn compress_later(&self, job: Job) -> Result<(), Job> {
        let most = self.limits.compression_queue_bytes;
        self.hub.compress_later(job, most).inspect_err(|_| {
            let counts = self.hub.encodings().compression_counts();
            counts.count_skipped();
        })
    }

    /// Appends a publication for one connection in a form that is no frame.
    #[cold]
    pub(super) fn append_form(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        form: &Form,
        publication: &Publication,
        place: Place,
    ) {
        match form {
            Form::Frame(frame) => io.outbox.append_frame(ledger, frame, 1),
            Form::Uncarried => self.count_uncarried(1),
            Form::Lead => {
                let frame = || publication.frame();
                io.outbox
                    .append_shared(ledger, (publication.lead(), 1), frame);
            }
            Form::Late(late) => {
                io.outbox
                    .append_late(ledger, publication.frame(), late.clone());
                self.await_frame(late, place);
            }
            Form::Own => self.append_own((io, ledger), publication, place),
            Form::Headed(headed) => {
                let (publication, form) = &**headed;
                self.append_form((io, ledger), form, publication, place);
            }
        }
    }

    /// Appends a message for one socket alone, which has an encoding that compresses.
    pub(super) fn append_compressed(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        compressed: &Compressed,
        message: &Message<'_>,
        place: Place,
    ) {
        if let Some(bytes) = self.hub.encodings().headed_payload(io.encoding, message) {
            let headed = Publication::in_place(message.kind, bytes);
            return self.append_headed((io, ledger), &headed, place);
        }
        if !compressed.takes(message.payload) {
            return io
                .outbox
                .append(ledger, |out| Encodings::append_lead(message, out));
        }
        if compressed.terms.takeover || message.payload.len() > INLINE_BYTES {
            let publication = Publication::new(message.kind, message.payload);
            let form = self.form(&publication, io.encoding, None, true);
            return self.append_form((io, ledger), &form, &publication, place);
        }
        let counts = self.hub.encodings().compression_counts();
        io.outbox.append(ledger, |out| {
            compressed.append(message, &[], counts, out);
        });
    }

    /// Appends a message with its head for one socket alone.
    pub(super) fn append_headed(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        headed: &Publication,
        place: Place,
    ) {
        let encoding = io.encoding;
        let form = match self.hub.encodings().compression(encoding) {
            None => Form::Lead,
            Some(compressed) => {
                let allowed = headed.compresses();
                self.compressed_form(headed, (encoding, compressed), allowed)
            }
        };
        self.append_form((io, ledger), &form, headed, place);
    }

    /// Notes that a connection waits for a frame. This shard is told when it is made.
    fn await_frame(&self, late: &Late, place: Place) {
        let mut parked = self.parked.borrow_mut();
        parked.0.entry(late.key()).or_default().push(place);
    }

    /// Whether no connection waits for a frame.
    #[cfg(test)]
    pub(super) fn awaits_no_frame(&self) -> bool {
        self.parked.borrow().0.is_empty()
    }

    /// Appends a message that is compressed for this connection alone.
    fn append_own(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        publication: &Publication,
        place: Place,
    ) {
        let encoding = io.encoding;
        let Some(compressed) = self.hub.encodings().compression(encoding) else {
            return;
        };
        let certain = io.outbox.is_certain();
        let extra = io.extra.get_or_insert_default();
        let takeover = extra
            .takeover
            .get_or_insert_with(|| Box::new(Takeover::new(compressed.terms.window)));
        let is_long = publication.payload().len() > INLINE_BYTES;
        // a policy may drop this message from the queue: then it refers to no other, and no other refers to it
        let alone = self.limits.outbox_policy != OutboxPolicy::Close && (is_long || !certain);
        if alone {
            takeover.forget();
            let form = if is_long {
                let late = Late::new();
                self.compress(publication, encoding, &late);
                match late.outcome_on(self.index) {
                    Outcome::Open => Form::Late(late),
                    Outcome::Plain => Form::Lead,
                    Outcome::Frame(frame) => Form::Frame(frame),
                }
            } else {
                let frame = self.hub.compress_now(publication, encoding, &[]);
                frame.map_or(Form::Lead, Form::Frame)
            };
            return self.append_form((io, ledger), &form, publication, place);
        }
        match takeover.history() {
            Some(history) if !is_long => {
                let message = Message {
                    kind: publication.kind(),
                    payload: publication.payload(),
                    via: None,
                };
                let counts = self.hub.encodings().compression_counts();
                io.outbox.append(ledger, |out| {
                    if compressed.append(&message, history.bytes(), counts, out) {
                        history.push(message.payload);
                    }
                });
            }
            _ => {
                let late = Late::new();
                takeover.wait(late.clone(), publication.clone());
                io.outbox.append_late(ledger, publication.frame(), late);
                self.compress_waiting((io, ledger), encoding, place);
            }
        }
    }

    /// Compresses the messages of a connection that wait for its text, until a thread has that again.
    fn compress_waiting(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        encoding: Encoding,
        place: Place,
    ) {
        while let Some(takeover) = takeover(io)
            && let Some((late, publication)) = takeover.next()
        {
            let history = takeover.lend();
            if publication.payload().len() > INLINE_BYTES {
                let job = Job {
                    publication,
                    encoding,
                    late,
                    history,
                };
                let _open = job.late.outcome_on(self.index);
                self.await_frame(&job.late, place);
                match self.compress_later(job) {
                    Ok(()) => return,
                    Err(job) => self.hub.settle(&job.late, None, job.history),
                }
                continue;
            }
            let Some(mut history) = history else { return };
            let frame = self
                .hub
                .compress_now(&publication, encoding, history.bytes());
            if frame.is_some() {
                history.push(publication.payload());
            }
            let _nobody = late.fill(frame, None);
            takeover.take_back(history);
            io.outbox.settle(&late, ledger);
        }
    }

    /// A frame is made: it takes its places in the outboxes that wait for it.
    pub(super) fn settle(&self, late: &Late) {
        let waiting = self.parked.borrow_mut().0.remove(&late.key());
        let mut history = late.take_history();
        for (slot, socket) in waiting.into_iter().flatten() {
            let Some(connection) = self.find(slot, socket) else {
                continue;
            };
            let io = &mut *connection.io.borrow_mut();
            io.outbox.settle(late, self.ledger());
            if let Some(takeover) = takeover(io) {
                if let Some(history) = history.take() {
                    takeover.take_back(history);
                }
                let encoding = io.encoding;
                self.compress_waiting((io, self.ledger()), encoding, (slot, socket));
            }
            self.mark_dirty(&connection);
        }
    }
}

/// What a connection keeps of earlier messages.
fn takeover(io: &mut Io) -> Option<&mut Takeover> {
    let awaits = io.outbox.has_lates();
    let takeover = io.extra.as_deref_mut()?.takeover.as_deref_mut()?;
    if !awaits {
        // the places of messages that wait were dropped, because the connection ends
        takeover.drop_waiting();
    }
    Some(takeover)
}

/// Longer messages are compressed on another thread, because others would wait for them.
pub(super) const INLINE_BYTES: usize = 16 * 1024;
