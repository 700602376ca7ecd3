//! Input for the worker: one event for each head, with the data if that is all and arrived at once, else data, stream
//! and files as transfers. Contents without room wait here, so that one body does not hold up the others.

use std::borrow::Cow;

use ahash::AHashMap;
use millrace_protocol::sockety::{Head, Item};

use super::early::Early;
use super::fields;
use super::saved_file::Save;
use super::saving::{self, Saves};
use super::waiting::Waiting;
use crate::contract::{CloseReason, Context, Event, FIRST_CREDIT, Flow, TransferId};

/// The reading half of one connection, after its decoder.
#[derive(Debug)]
pub(super) struct Inbound {
    /// A head whose event is delayed until the input behind it is decoded.
    head: Option<Pending>,
    /// The fields of its event. The buffer is kept, so that a short message allocates nothing.
    fields: Vec<u8>,
    /// How many messages have arrived.
    count: u64,
    /// Messages by channel.
    messages: AHashMap<u16, Message>,
    /// Files that arrived before the rest of their head.
    early: Early,
    waiting: Waiting,
    /// Files that are written to disk.
    saves: Saves,
    /// The most bytes that may wait.
    most_waiting: usize,
    /// Whether input is held back because too many bytes wait.
    holds: bool,
}

/// A head that the worker was not told of yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    channel: u16,
    data_size: u64,
    has_stream: bool,
    has_files: bool,
    finished: bool,
}

/// A message whose contents are arriving.
#[derive(Debug)]
struct Message {
    number: u64,
    /// `None` if it has no data.
    data: Option<TransferId>,
    stream: Option<TransferId>,
    /// The files that have begun and of which something is still missing or waiting.
    files: AHashMap<u32, TransferId>,
}

impl Inbound {
    pub(super) fn new(most_waiting: usize) -> Self {
        Self {
            head: None,
            fields: Vec::new(),
            count: 0,
            messages: AHashMap::new(),
            early: Early::default(),
            waiting: Waiting::default(),
            saves: Saves::default(),
            most_waiting,
            holds: false,
        }
    }

    /// Whether something waits for the worker or for the disk.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.saves.is_empty()
    }

    /// The bytes that wait.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.bytes() + self.saves.writing_bytes()
    }

    /// Takes a decoded item. The last head may wait for more: see [`tell`](Self::tell).
    pub(super) fn item(
        &mut self,
        item: Item<'_>,
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        if let Item::Data {
            channel,
            bytes,
            left: 0,
            finished: true,
        } = item
            && let Some(head) = self.head
            && head.channel == channel
        {
            self.head = None;
            return Ok(self.event(Cow::Borrowed(bytes), cx));
        }
        let told = self.tell(cx);
        Ok(both(told, self.take(item, cx)?))
    }

    /// Tells the worker of a head that waits.
    pub(super) fn tell(&mut self, cx: &mut Context<'_>) -> Flow {
        let Some(head) = self.head.take() else {
            return Flow::Go;
        };
        let data = (head.data_size > 0).then(|| cx.open_transfer());
        let stream = head.has_stream.then(|| cx.open_transfer());
        fields::set_transfers(&mut self.fields, data, stream);
        let mut message = Message {
            number: self.count,
            data,
            stream,
            files: AHashMap::new(),
        };
        let mut flow = self.event(Cow::Borrowed(&[]), cx);
        for (index, bytes, ended) in self.early.take(head.channel).iter() {
            flow = both(flow, self.file(&mut message, index, (bytes, ended), cx));
        }
        if !head.finished {
            self.messages.insert(head.channel, message);
        }
        flow
    }

    fn event(&mut self, payload: Cow<'_, [u8]>, cx: &mut Context<'_>) -> Flow {
        let flow = cx.event(Event::SocketyMessage, &self.fields, payload);
        if self.fields.capacity() > KEPT_BYTES {
            self.fields = Vec::new();
        }
        flow
    }

    fn take(&mut self, item: Item<'_>, cx: &mut Context<'_>) -> Result<Flow, CloseReason> {
        Ok(match item {
            Item::Header { .. } | Item::Heartbeat => Flow::Go,
            Item::Message {
                channel,
                head,
                finished,
            } => self.begin(channel, &head, finished, cx),
            Item::Data {
                channel,
                bytes,
                left,
                finished,
            } => {
                let id = self.find(channel).and_then(|message| message.data);
                self.settle(channel, finished);
                self.piece(id, bytes, left == 0, cx)
            }
            Item::Stream { channel, bytes } => {
                let id = self.find(channel).and_then(|message| message.stream);
                self.piece(id, bytes, false, cx)
            }
            Item::StreamEnd { channel, finished } => {
                let id = self.find(channel).and_then(|message| message.stream);
                self.settle(channel, finished);
                self.piece(id, &[], true, cx)
            }
            Item::File {
                channel,
                index,
                bytes,
            } => self.of_file(channel, index, (bytes, false), cx)?,
            Item::FileEnd {
                channel,
                index,
                finished,
            } => {
                let flow = self.of_file(channel, index, (&[], true), cx)?;
                self.settle(channel, finished);
                flow
            }
            Item::Abort { channel } => self.abort(channel, cx),
            Item::FastReply { code, id } => {
                let fields = fields::of_fast_reply(code, id);
                cx.event(Event::SocketyFastReply, &fields, Cow::Borrowed(&[]))
            }
            Item::GoAway => cx.event(Event::SocketyGoAway, &[], Cow::Borrowed(&[])),
        })
    }

    fn begin(
        &mut self,
        channel: u16,
        head: &Head<'_>,
        finished: bool,
        cx: &mut Context<'_>,
    ) -> Flow {
        self.count += 1;
        self.fields.clear();
        fields::append_message(self.count, head, &mut self.fields);
        let pending = Pending {
            channel,
            data_size: head.data_size,
            has_stream: head.has_stream,
            has_files: head.files.count() > 0,
            finished,
        };
        self.head = Some(pending);
        let may_be_whole = pending.data_size > 0 && !pending.has_stream && !pending.has_files;
        if may_be_whole {
            // the input behind it carries the flow
            return Flow::Go;
        }
        self.tell(cx)
    }

    fn find(&mut self, channel: u16) -> Option<&mut Message> {
        self.messages.get_mut(&channel)
    }

    /// Removes a message that is complete.
    fn settle(&mut self, channel: u16, finished: bool) {
        if finished {
            self.messages.remove(&channel);
        }
    }

    /// Takes more of a file, whose message may not have been announced yet.
    fn of_file(
        &mut self,
        channel: u16,
        index: u32,
        (bytes, ended): (&[u8], bool),
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        let Some(mut message) = self.messages.remove(&channel) else {
            self.early.push(channel, index, (bytes, ended))?;
            return Ok(Flow::Go);
        };
        let flow = self.file(&mut message, index, (bytes, ended), cx);
        self.messages.insert(channel, message);
        Ok(flow)
    }

    fn file(
        &mut self,
        message: &mut Message,
        index: u32,
        (bytes, ended): (&[u8], bool),
        cx: &mut Context<'_>,
    ) -> Flow {
        let number = message.number;
        let mut flow = Flow::Go;
        let id = *message.files.entry(index).or_insert_with(|| {
            let id = cx.open_transfer();
            let fields = fields::of_file(number, id, index);
            flow = cx.event(Event::SocketyFile, &fields, Cow::Borrowed(&[]));
            id
        });
        let flow = both(flow, self.piece(Some(id), bytes, ended, cx));
        // bytes that wait are dropped together with the message if that is aborted
        if ended && !self.waiting.has(id) && !self.saves.has(id) {
            message.files.remove(&index);
        }
        flow
    }

    /// The peer aborts a message.
    fn abort(&mut self, channel: u16, cx: &mut Context<'_>) -> Flow {
        drop(self.early.take(channel));
        let Some(message) = self.messages.remove(&channel) else {
            return Flow::Go;
        };
        let files = message.files.into_values();
        for id in message.data.into_iter().chain(message.stream).chain(files) {
            self.saves.forget(id);
            self.waiting.drop_all(id);
            cx.close_transfer(id);
        }
        self.release(cx);
        let number = message.number.to_le_bytes();
        cx.event(Event::SocketyAbort, &number, Cow::Borrowed(&[]))
    }

    /// Takes a piece of contents: passes it to the worker as far as that has room; the rest waits.
    fn piece(
        &mut self,
        id: Option<TransferId>,
        bytes: &[u8],
        last: bool,
        cx: &mut Context<'_>,
    ) -> Flow {
        // a transfer that the worker discarded needs no more bytes
        let Some(id) = id.filter(|id| cx.has_transfer(*id)) else {
            return Flow::Go;
        };
        let may_pass = !self.waiting.has(id) && !self.saves.has(id);
        if may_pass && bytes.len() <= room(id, cx) {
            let flow = cx.piece(id, Cow::Borrowed(bytes), last);
            if last {
                cx.close_transfer(id);
            }
            return flow;
        }
        self.waiting.push(id, bytes, last);
        let flow = self.pass_on(id, cx);
        // the worker may be about to discard it: wait for its answer before more is buffered
        if self.waiting.bytes() > UNSEEN_BYTES && cx.wait_for_worker() {
            return Flow::Stop;
        }
        if self.waiting_bytes() <= self.most_waiting {
            return flow;
        }
        self.holds = true;
        cx.hold_input(true);
        Flow::Stop
    }

    /// Passes on what waits of a transfer, as far as the worker has room.
    fn pass_on(&mut self, id: TransferId, cx: &mut Context<'_>) -> Flow {
        if self.saves.has(id) {
            self.saves.write(id, &mut self.waiting, cx);
            self.release(cx);
            return Flow::Go;
        }
        let mut flow = Flow::Go;
        while let Some((bytes, last)) = self.waiting.take(id, room(id, cx)) {
            flow = both(flow, cx.piece(id, Cow::Owned(bytes), last));
            if last {
                cx.close_transfer(id);
                break;
            }
        }
        flow
    }

    /// The worker has room for more of a transfer.
    pub(super) fn pulled(&mut self, id: TransferId, cx: &mut Context<'_>) {
        // the flow is of no use here, outside of input
        let _flow = self.pass_on(id, cx);
        self.release(cx);
    }

    /// The worker discards the rest of a transfer.
    pub(super) fn discard(&mut self, id: TransferId, cx: &mut Context<'_>) {
        self.saves.forget(id);
        self.waiting.drop_all(id);
        cx.close_transfer(id);
        self.release(cx);
    }

    /// The worker asks for the rest of a file to be written to disk.
    pub(super) fn save(&mut self, id: TransferId, path: &str, cx: &mut Context<'_>) {
        if !cx.has_transfer(id) {
            // the worker has already received all of it
            return saving::told(id, (0, true), "", cx);
        }
        // the worker writes what it was already sent; it has asked for no more
        let sent = FIRST_CREDIT.saturating_sub(cx.credit(id));
        let at = u64::try_from(sent).unwrap_or_default();
        self.saves.begin(id, Save::new(path.into(), at));
        self.saves.write(id, &mut self.waiting, cx);
        self.release(cx);
    }

    /// Continues after something was written to disk.
    pub(super) fn look(&mut self, cx: &mut Context<'_>) {
        for id in self.saves.look(&mut self.waiting, cx) {
            self.discard(id, cx);
        }
        self.release(cx);
    }

    /// Lets input go on once half of the limit is free.
    fn release(&mut self, cx: &mut Context<'_>) {
        if self.holds && self.waiting_bytes() <= self.most_waiting / 2 {
            self.holds = false;
            cx.hold_input(false);
        }
    }
}

/// Tells the worker that nothing more follows, and whether that cuts something off: handlers may wait for it.
pub(super) fn end(is_cut: bool, cx: &mut Context<'_>) {
    // no further input is read, so the flow does not matter
    let _flow = cx.event(Event::SocketyEnd, &[u8::from(is_cut)], Cow::Borrowed(&[]));
}

/// The bytes that may be sent of a transfer now: one less than the worker has room for, because filling it would make
/// all input wait.
fn room(id: TransferId, cx: &Context<'_>) -> usize {
    cx.credit(id).saturating_sub(1)
}

fn both(one: Flow, other: Flow) -> Flow {
    Flow::go_if(one == Flow::Go && other == Flow::Go)
}

/// The most bytes that may wait before the worker has processed the last event.
const UNSEEN_BYTES: usize = 128 * 1024;

/// The largest buffer of fields that is kept: enough for most messages.
const KEPT_BYTES: usize = 256;
