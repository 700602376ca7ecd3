//! Moves messages from the inbox into outboxes: messages for one socket, and publications for a channel's recipients on
//! this shard. Holds no lock and encodes nothing twice. Over 400 lines because all ways to a recipient use the same steps.

use std::cell::OnceCell;
use std::sync::Arc;

use millrace_core::{ChannelId, Name, Number, SocketId, TermsIndex};

use super::Shard;
use super::compression::{Form, Place};
use super::marks::Marked;
use super::recipients::{List, Local};
use super::sent::Sent;
use crate::frame::{Encoding, Encodings, Frame, Frames, Ledger, Message, Origin, Publication, Via};
use crate::inbox::Matched;
use crate::limits::OutboxPolicy;
use crate::socket::connection::{Io, Phase, Shared};
use crate::socket::moment::Moment;

/// A publication for the recipients of a list.
struct Outbound<'a> {
    publication: &'a Publication,
    /// Its bytes in the lead encoding.
    lead: &'a [u8],
    origin: Origin<'a>,
    /// The terms of its channel.
    terms: Option<TermsIndex>,
    shard: &'a Shard,
    /// What recipients with other encodings than the lead get, as far as there are some.
    others: Frames<Form>,
}

impl<'a> Outbound<'a> {
    fn new(
        shard: &'a Shard,
        publication: &'a Publication,
        origin: Origin<'a>,
        terms: Option<TermsIndex>,
    ) -> Self {
        Self {
            publication,
            lead: publication.lead(),
            origin,
            terms,
            shard,
            others: Frames::new(),
        }
    }

    /// What recipients with an encoding other than the lead get.
    #[inline]
    fn other(&self, encoding: Encoding) -> &Form {
        self.others.get_or_make(encoding, || {
            let compresses = self.shard.hub.compresses(self.terms);
            self.shard
                .form(self.publication, encoding, Some(&self.origin), compresses)
        })
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
    /// of a pattern that matches a channel.
    pub(super) fn publish(
        &self,
        id: ChannelId,
        matched: Option<&Matched>,
        sent: &impl Sent,
        except: &[SocketId],
    ) {
        let recipients = self.recipients.borrow();
        let Some(list) = recipients.of(id) else {
            return;
        };
        let (channel, terms) = match matched {
            None => (None, id.terms()),
            Some(matched) => (Some(&matched.channel), matched.terms),
        };
        let origin = list.origin(id, channel, sent.number());
        let outbound = Outbound::new(self, sent.publication(), origin, terms);
        self.each_recipient(list, 1, |connection, local| {
            if except.is_empty() || except.binary_search(&local.subscriber).is_err() {
                self.publish_to(connection, local, &outbound);
            } else if let Some(number) = sent.number()
                // numbers are of the client's own subscription, not of its socket's aliases
                && local.subscriber == local.socket
            {
                self.tell_excepted(connection, &list.name, number);
            }
        });
    }

    /// Delivers consecutive publications on a channel to all its recipients, joined into one frame, so that each
    /// recipient costs as much as for a single publication.
    pub(super) fn publish_run<S: Sent>(&self, id: ChannelId, run: &[S]) {
        // a joined frame can only be dropped as a whole, so policies that drop messages get single frames
        if run.len() == 1 || self.limits.outbox_policy != OutboxPolicy::Close {
            for sent in run {
                self.publish(id, None, sent, &[]);
            }
            return;
        }
        let recipients = self.recipients.borrow();
        let Some(list) = recipients.of(id) else {
            return;
        };
        let count = u32::try_from(run.len()).unwrap_or(u32::MAX);
        let outbound = |sent| {
            let origin = list.origin(id, None, S::number(sent));
            Outbound::new(self, S::publication(sent), origin, id.terms())
        };
        // what recipients need that do not get the joined frame
        let singles = OnceCell::new();
        let singles = || singles.get_or_init(|| run.iter().map(outbound).collect::<Vec<_>>());
        // recipients with the lead encoding need no look-up
        let (lead, others) = (OnceCell::new(), Frames::new());
        self.each_recipient(list, u64::from(count), |connection, local| {
            if local.annotation.is_some() {
                for outbound in singles() {
                    self.publish_to(connection, local, outbound);
                }
                return;
            }
            self.append(connection, u64::from(count), |io, ledger| {
                let encoding = io.encoding;
                let joined = if encoding == Encodings::LEAD {
                    lead.get_or_init(|| join_leads(run))
                } else {
                    match others.get_or_make(encoding, || join(singles(), encoding)) {
                        Some(joined) => joined,
                        None => return self.append_each((io, ledger), singles(), connection),
                    }
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

    /// Appends a message of the past for one recipient of a channel.
    pub(super) fn append_past(
        &self,
        connection: &Shared,
        local: &Local,
        (publication, number): (&Publication, &Number),
        (list, name): (ChannelId, &Name),
    ) {
        let via = Via {
            channel: name,
            pattern: None,
            mark: None,
            from: None,
            number: Some(number),
        };
        let origin = Origin { list, via };
        let outbound = Outbound::new(self, publication, origin, list.terms());
        self.publish_to(connection, local, &outbound);
    }

    fn publish_to(&self, connection: &Shared, local: &Local, outbound: &Outbound<'_>) {
        self.append(connection, 1, |io, ledger| {
            let encoding = io.encoding;
            let publication = outbound.publication;
            let annotation = local.annotation.as_deref();
            match annotation.and_then(|annotation| self.mark(annotation, encoding, publication)) {
                None if encoding == Encodings::LEAD => {
                    let frame = || publication.frame();
                    io.outbox.append_shared(ledger, (outbound.lead, 1), frame);
                }
                None => match outbound.other(encoding) {
                    Form::Frame(frame) => io.outbox.append_frame(ledger, frame, 1),
                    form => {
                        let place = (connection.slot, connection.socket);
                        self.append_form((io, ledger), form, publication, place);
                    }
                },
                Some(marked) => {
                    let (payload, mark) = match &marked {
                        Marked::Payload(payload) => (&payload[..], None),
                        Marked::Beside => (publication.payload(), annotation),
                    };
                    let message = Message {
                        kind: publication.kind(),
                        payload,
                        via: Some(Via {
                            mark,
                            from: publication.from(),
                            ..outbound.origin.via
                        }),
                    };
                    let place = (connection.slot, connection.socket);
                    if encoding == Encodings::LEAD || self.compresses(outbound) {
                        self.append_message((io, ledger), &message, place);
                    } else {
                        self.append_uncompressed((io, ledger), &message, place);
                    }
                }
            }
        });
    }

    fn compresses(&self, outbound: &Outbound<'_>) -> bool {
        outbound.publication.compresses() && self.hub.compresses(outbound.terms)
    }

    /// Appends messages one by one to an outbox, because the encoding does not allow to join them.
    #[cold]
    fn append_each(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        run: &[Outbound<'_>],
        connection: &Shared,
    ) {
        let place = (connection.slot, connection.socket);
        for outbound in run {
            let form = outbound.other(io.encoding);
            self.append_form((io, ledger), form, outbound.publication, place);
        }
    }

    /// Encodes a message for one socket alone.
    #[inline]
    pub(super) fn append_message(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        message: &Message<'_>,
        place: Place,
    ) {
        if io.encoding == Encodings::LEAD {
            return io
                .outbox
                .append(ledger, |out| Encodings::append_lead(message, out));
        }
        self.append_other((io, ledger), message, place);
    }

    /// Like [`append_message`](Self::append_message), without compression.
    #[cold]
    fn append_uncompressed(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        message: &Message<'_>,
        place: Place,
    ) {
        if self.hub.encodings().compression(io.encoding).is_none() {
            return self.append_message((io, ledger), message, place);
        }
        let (encodings, encoding) = (self.hub.encodings(), io.encoding);
        io.outbox
            .append(ledger, |out| encodings.append_plain(encoding, message, out));
    }

    #[inline(never)]
    fn append_other(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        message: &Message<'_>,
        place: Place,
    ) {
        let (encodings, encoding) = (self.hub.encodings(), io.encoding);
        if let Some(compressed) = encodings.compression(encoding) {
            return self.append_compressed((io, ledger), compressed, message, place);
        }
        if !encodings.carries(encoding, message.payload.len()) {
            return self.count_uncarried(1);
        }
        io.outbox
            .append(ledger, |out| encodings.append(encoding, message, out));
    }

    /// Appends a large message for one socket.
    pub(super) fn append_direct(
        &self,
        (io, ledger): (&mut Io, &Arc<Ledger>),
        message: &Publication,
        place: Place,
    ) {
        if io.encoding == Encodings::LEAD {
            return io.outbox.append_frame(ledger, message.frame(), 1);
        }
        let form = self.form(message, io.encoding, None, true);
        self.append_form((io, ledger), &form, message, place);
    }

    /// Counts messages that are dropped because the recipient's encoding cannot carry them.
    pub(super) fn count_uncarried(&self, messages: u64) {
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
        io.outbox.lend(|| self.spare_buffer());
        append(io, self.ledger());
        io.times.message = Moment::at(self.now.get());
        if io.outbox.wants_flush() && matches!(io.phase, Phase::Open | Phase::Ending(_)) {
            self.flush(connection, io);
        }
        self.mark_dirty(connection);
    }
}

impl List {
    fn origin<'a>(
        &'a self,
        id: ChannelId,
        matched: Option<&'a Name>,
        number: Option<&'a Number>,
    ) -> Origin<'a> {
        let via = match matched {
            None => Via {
                channel: &self.name,
                pattern: None,
                mark: None,
                from: None,
                number,
            },
            Some(channel) => Via {
                channel,
                pattern: Some(&self.name),
                mark: None,
                from: None,
                number,
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

/// Joins the frames of consecutive publications in the lead encoding.
fn join_leads<S: Sent>(run: &[S]) -> Joined {
    join_bytes(|| run.iter().map(|sent| sent.publication().lead()))
}

/// Joins the frames of consecutive publications in another encoding; `None`: some are not made, or each recipient has
/// frames of its own.
fn join(run: &[Outbound<'_>], encoding: Encoding) -> Option<Joined> {
    let is_open = |outbound: &Outbound<'_>| {
        let form = outbound.other(encoding);
        matches!(form, Form::Late(_) | Form::Own | Form::Headed(_))
    };
    if run.iter().any(is_open) {
        return None;
    }
    let frames = run
        .iter()
        .filter_map(|outbound| match outbound.other(encoding) {
            Form::Frame(frame) => Some(frame.bytes()),
            Form::Lead => Some(outbound.lead),
            Form::Uncarried | Form::Late(_) | Form::Own | Form::Headed(_) => None,
        });
    Some(join_bytes(|| frames.clone()))
}

/// Joins frames in a buffer of their exact size.
fn join_bytes<'f, F: Iterator<Item = &'f [u8]>>(frames: impl Fn() -> F) -> Joined {
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
