//! What the peer sends, on its way to the worker: an event for each head, with the data where that is all and came at once, else
//! data, stream and files as transfers. What the worker has no room for waits here, within a bound: one body holds up no other.

use std::borrow::Cow;

use ahash::AHashMap;
use millrace_protocol::sockety::{Head, Item};

use super::early::Early;
use super::fields;
use super::saved_file::Save;
use super::saving::{self, Saves};
use super::waiting::Waiting;
use crate::contract::{CloseReason, Context, Event, FIRST_CREDIT, Flow, TransferId};

/// The reading half of one connection, behind its decoder.
#[derive(Debug)]
pub(super) struct Inbound {
    /// A head whose event waits for what comes behind it.
    head: Option<Pending>,
    /// Its event's fields. Kept, so that a short message allocates nothing.
    fields: Vec<u8>,
    /// How many messages have come.
    count: u64,
    /// By their channels.
    messages: AHashMap<u16, Message>,
    /// Files that came before the rest of their head.
    early: Early,
    waiting: Waiting,
    /// Files that are written to the file system.
    saves: Saves,
    /// Bytes that may wait.
    most_waiting: usize,
    /// Input waits, since too much does.
    holds: bool,
}

/// A head that was not told.
#[derive(Clone, Copy, Debug)]
struct Pending {
    channel: u16,
    data_size: u64,
    has_stream: bool,
    has_files: bool,
    finished: bool,
}

/// A message whose contents are coming.
#[derive(Debug)]
struct Message {
    number: u64,
    /// `None`: it has none.
    data: Option<TransferId>,
    stream: Option<TransferId>,
    /// Those that have begun, and of which something is still to come or waits.
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

    /// Whether something waits for the worker, or for the disk.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.saves.is_empty()
    }

    /// Bytes of it.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.bytes() + self.saves.writing_bytes()
    }

    /// Takes what came. The last head may wait for more: [`tell`](Self::tell).
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
            // what comes behind it says so
            return Flow::Go;
        }
        self.tell(cx)
    }

    fn find(&mut self, channel: u16) -> Option<&mut Message> {
        self.messages.get_mut(&channel)
    }

    /// Forgets a message that owes nothing more.
    fn settle(&mut self, channel: u16, finished: bool) {
        if finished {
            self.messages.remove(&channel);
        }
    }

    /// More of a file, perhaps of one whose message is not told yet.
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
        // what of it waits goes with the message if that is given up
        if ended && !self.waiting.has(id) && !self.saves.has(id) {
            message.files.remove(&index);
        }
        flow
    }

    /// The peer gives a message up.
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

    /// A piece of contents: on to the worker as far as it has room, the rest waits.
    fn piece(
        &mut self,
        id: Option<TransferId>,
        bytes: &[u8],
        last: bool,
        cx: &mut Context<'_>,
    ) -> Flow {
        // nobody wants one that was discarded
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
        // nobody knows yet whether anybody wants it
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

    /// Hands on what waits of a transfer, as far as the worker has room.
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
        // what is not read now is not held up
        let _flow = self.pass_on(id, cx);
        self.release(cx);
    }

    /// The worker wants nothing more of a transfer.
    pub(super) fn discard(&mut self, id: TransferId, cx: &mut Context<'_>) {
        self.saves.forget(id);
        self.waiting.drop_all(id);
        cx.close_transfer(id);
        self.release(cx);
    }

    /// The worker wants the rest of a file written to the file system.
    pub(super) fn save(&mut self, id: TransferId, path: &str, cx: &mut Context<'_>) {
        if !cx.has_transfer(id) {
            // the worker has all of it
            return saving::told(id, (0, true), "", cx);
        }
        // what it was sent, it writes itself; it has asked for no more
        let sent = FIRST_CREDIT.saturating_sub(cx.credit(id));
        let at = u64::try_from(sent).unwrap_or_default();
        self.saves.begin(id, Save::new(path.into(), at));
        self.saves.write(id, &mut self.waiting, cx);
        self.release(cx);
    }

    /// Something was written to the file system.
    pub(super) fn look(&mut self, cx: &mut Context<'_>) {
        for id in self.saves.look(&mut self.waiting, cx) {
            self.discard(id, cx);
        }
        self.release(cx);
    }

    /// Input goes on once half of what waited is gone.
    fn release(&mut self, cx: &mut Context<'_>) {
        if self.holds && self.waiting_bytes() <= self.most_waiting / 2 {
            self.holds = false;
            cx.hold_input(false);
        }
    }
}

/// The worker is told that nothing more comes, and whether that cuts something off: handlers may wait for it.
pub(super) fn end(is_cut: bool, cx: &mut Context<'_>) {
    // nothing is read any more
    let _flow = cx.event(Event::SocketyEnd, &[u8::from(is_cut)], Cow::Borrowed(&[]));
}

/// What may be sent of a transfer now. One byte less than the worker has room for: with the last of it, all input would
/// wait.
fn room(id: TransferId, cx: &Context<'_>) -> usize {
    cx.credit(id).saturating_sub(1)
}

fn both(one: Flow, other: Flow) -> Flow {
    Flow::go_if(one == Flow::Go && other == Flow::Go)
}

/// Bytes that may wait before the worker has seen what it was told last.
const UNSEEN_BYTES: usize = 128 * 1024;

/// Fields that are kept: those of most messages.
const KEPT_BYTES: usize = 256;
