//! Compares an outbox with a naive model under appends, partial writes and policies: what leaves is what was appended,
//! in order and complete, without what was dropped; and every count is right. Only in tests and with the feature
//! `fuzzing`. Over 400 lines because each operation changes the outbox and the model together.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use super::backlog::{Entry, wide};
use super::{Outbox, narrow};
use crate::frame::{Frame, Late, Ledger};
use crate::limits::{ENTRY_CHARGE, GatewayLimits, OutboxPolicy};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Message(usize),
    Control(usize),
    /// Appends a part of something longer.
    Part(usize),
    /// Appends a shared frame with this many messages.
    Shared(usize, u32),
    /// Appends a message of this length whose frame is being compressed.
    Late(usize),
    /// Such a frame is made: one of those that are not, to a part of its length.
    Settle(usize),
    /// The kernel accepts this many bytes.
    Write(usize),
    /// Applies the policy after a write that left something.
    Judge,
}

impl Op {
    /// The operation that these bytes encode.
    pub(crate) fn of(bytes: [u8; 4]) -> Self {
        let [verb, many, low, high] = bytes;
        let number = usize::from(u16::from_le_bytes([low, high]));
        let number = match many % 16 {
            0 => number,
            1..4 => number % 5_000,
            _ => number % 500,
        };
        let length = number + HEAD;
        match verb % 18 {
            14 | 15 => Self::Late(length),
            16 | 17 => Self::Settle(number),
            0..4 => Self::Message(length),
            4 => Self::Control(length),
            13 => Self::Part(length),
            5..8 => Self::Shared(length, u32::from(many / 16) % 4 + 1),
            8..11 => Self::Write(number),
            _ => Self::Judge,
        }
    }
}

/// A complete append.
#[derive(Clone, Debug)]
struct Item {
    bytes: Vec<u8>,
    /// 0 for a control frame or a part.
    messages: u32,
    /// Whether it counts against the limits.
    counts: bool,
    /// Whether its frame is being compressed.
    late: bool,
}

/// The outbox, and the model of its contents.
struct Compared {
    outbox: Outbox,
    ledger: Arc<Ledger>,
    limits: GatewayLimits,
    items: VecDeque<Item>,
    /// The frames that are being compressed, with the number of their item.
    lates: Vec<(Late, u32)>,
    /// Bytes of the first item that are written.
    begun: usize,
    /// Messages that were appended, completely written, and dropped.
    appended: u64,
    written: u64,
    dropped: u64,
    next: u32,
}

/// Runs all operations on an outbox with these limits, and then writes the rest.
pub(crate) fn run(ops: impl IntoIterator<Item = Op>, limits: GatewayLimits) {
    let mut compared = Compared {
        outbox: Outbox::default(),
        ledger: Arc::new(Ledger::new()),
        limits,
        items: VecDeque::new(),
        lates: Vec::new(),
        begun: 0,
        appended: 0,
        written: 0,
        dropped: 0,
        next: 0,
    };
    for op in ops {
        match op {
            Op::Message(length) => compared.append(length, 1, false),
            Op::Control(length) => compared.append(length, 0, false),
            Op::Part(length) => compared.append_part(length),
            Op::Shared(length, messages) => compared.append(length, messages, true),
            Op::Late(length) => compared.append_late(length),
            Op::Settle(which) => compared.settle(which),
            Op::Write(count) => compared.write(count),
            Op::Judge => compared.judge(),
        }
        compared.check();
    }
    while !compared.lates.is_empty() {
        compared.settle(0);
        compared.check();
    }
    compared.write(usize::MAX);
    compared.check();
    let Compared {
        outbox,
        ledger,
        appended,
        written,
        dropped,
        ..
    } = compared;
    assert!(outbox.is_empty());
    assert_eq!(written + dropped, appended);
    assert_eq!((outbox.messages(), outbox.charge()), (0, 0));
    assert_eq!(ledger.held(), 0);
}

impl Compared {
    fn append(&mut self, length: usize, messages: u32, shared: bool) {
        let item = Item::new(self.next, length, messages);
        self.next += 1;
        let (outbox, ledger, bytes) = (&mut self.outbox, &self.ledger, &item.bytes);
        if shared {
            outbox.append_frame(ledger, &Frame::new(bytes.clone(), ledger), messages);
        } else if messages > 0 {
            outbox.append(ledger, |out| out.extend_from_slice(bytes));
        } else {
            outbox.append_control(ledger, |out| out.extend_from_slice(bytes));
        }
        self.appended += u64::from(messages);
        self.items.push_back(item);
    }

    fn append_part(&mut self, length: usize) {
        let mut item = Item::new(self.next, length, 0);
        item.counts = true;
        self.next += 1;
        self.outbox
            .append_part(&self.ledger, |out| out.extend_from_slice(&item.bytes));
        self.items.push_back(item);
    }

    fn append_late(&mut self, length: usize) {
        let mut item = Item::new(self.next, length, 1);
        item.late = true;
        self.next += 1;
        let (late, plain) = (Late::new(), Frame::uncounted(item.bytes.clone()));
        self.outbox.append_late(&self.ledger, &plain, late.clone());
        self.lates.push((late, item.id()));
        self.appended += 1;
        self.items.push_back(item);
    }

    /// An even frame gets half as long, the others stay as they are.
    fn settle(&mut self, which: usize) {
        if self.lates.is_empty() {
            return;
        }
        let (late, id) = self.lates.remove(which % self.lates.len());
        let mut items = self.items.iter_mut();
        let item = items.find(|item| item.id() == id && item.late);
        let length = item.as_deref().map_or(HEAD, |item| item.bytes.len());
        let made = (length % 2 == 0).then(|| Item::new(id, (length / 2).max(HEAD), 1).bytes);
        let _nobody = late.fill(made.clone().map(Frame::uncounted), None);
        // its entry may have been dropped
        if let Some(item) = item {
            item.late = false;
            item.bytes = made.unwrap_or_else(|| item.bytes.clone());
        }
        self.outbox.settle(&late, &self.ledger);
    }

    /// Writes like the shard, piece by piece, until the kernel has accepted `count` bytes; then the rest waits in the
    /// queue.
    fn write(&mut self, mut count: usize) {
        let (outbox, ledger) = (&mut self.outbox, &self.ledger);
        let mut taken = 0;
        if let Some(chunk) = outbox.chunk() {
            taken = chunk.len().min(count);
            outbox.advance_chunk(taken, ledger);
            count -= taken;
        }
        outbox.seal(ledger);
        while count > 0 && outbox.is_backlogged() {
            let mut slices = [IoSlice::new(&[]); 3];
            let used = outbox.slices(&mut slices);
            if used == 0 {
                assert!(outbox.is_parked());
                break;
            }
            let offered: usize = slices[..used].iter().map(|slice| slice.len()).sum();
            outbox.advance(offered.min(count));
            taken += offered.min(count);
            count -= offered.min(count);
        }
        self.begun += taken;
        while let Some(first) = self.items.front()
            && self.begun >= first.bytes.len()
        {
            self.begun -= first.bytes.len();
            assert!(!first.late, "a frame was written before it was made");
            self.written += u64::from(first.messages);
            self.items.pop_front();
        }
        let first = self.items.front();
        assert!(self.begun == 0 || first.is_some_and(|first| !first.late));
    }

    fn judge(&mut self) {
        self.outbox.seal(&self.ledger);
        let is_over = self.is_over();
        assert_eq!(self.outbox.is_over(&self.limits), is_over);
        if !is_over {
            return;
        }
        if self.limits.outbox_policy == OutboxPolicy::Close {
            self.close();
        } else {
            self.drop_excess();
        }
    }

    /// Truncates the outbox: what follows the begun entry is dropped, including control frames, because the stream ends
    /// there.
    fn close(&mut self) {
        let kept = self.begun_items();
        let dropped = self.outbox.truncate();
        // a begun entry is counted as a whole, so the number of messages dropped behind it is exact
        let behind = self.items.drain(kept..);
        assert_eq!(dropped, behind.map(|item| u64::from(item.messages)).sum());
        self.dropped += dropped;
        self.append(HEAD, 0, false);
    }

    fn drop_excess(&mut self) {
        let kept = self.first_items();
        let dropped = self.outbox.drop_excess(&self.limits);
        let left: Vec<u32> = self.ids_behind(kept);
        let gone = |item: &Item| !left.contains(&item.id());
        let behind: Vec<Item> = self.items.drain(kept..).collect();
        let counted: u64 = behind
            .iter()
            .filter(|item| gone(item))
            .map(|item| u64::from(item.messages))
            .sum();
        assert_eq!(dropped, counted);
        assert!(
            behind.iter().all(|item| item.messages > 0 || !gone(item)),
            "a control frame or a part was dropped"
        );
        // entries are dropped as a whole; a shared frame is one entry, and so is each message behind the first entry
        let messages = behind.iter().filter(|item| item.messages > 0);
        let order: Vec<bool> = messages.map(gone).collect();
        let right = if self.limits.outbox_policy == OutboxPolicy::DropOldest {
            order.windows(2).all(|pair| pair[0] || !pair[1])
        } else {
            order.windows(2).all(|pair| !pair[0] || pair[1])
        };
        assert!(right, "messages were dropped from the wrong end: {order:?}");
        self.dropped += dropped;
        self.items
            .extend(behind.into_iter().filter(|item| !gone(item)));
        assert!(!self.is_over() || self.items.iter().skip(kept).all(|item| item.messages == 0));
    }

    /// Compares everything that can be observed with the items.
    fn check(&self) {
        let mut expected = Vec::new();
        let mut skip = self.begun;
        for item in &self.items {
            expected.extend_from_slice(&item.bytes[std::mem::take(&mut skip)..]);
        }
        let seen = self.rest();
        assert!(
            seen == expected,
            "{} bytes are not {}",
            seen.len(),
            expected.len()
        );
        let queued = seen.len() - self.outbox.chunk.len();
        let entries = self.outbox.entries();
        assert_eq!(self.outbox.charge(), queued + entries * ENTRY_CHARGE);
        let unwritten: u64 = self.items.iter().map(|item| u64::from(item.messages)).sum();
        // the written bytes of the first entry count until the whole entry is written
        let first = self.first().map_or(0, |first| u64::from(first.messages));
        let counted = self.outbox.messages();
        assert!(
            counted >= unwritten && counted <= unwritten + first,
            "{counted} bytes are counted for {unwritten}"
        );
        assert!(self.ledger.held() >= queued);
        let first = self.items.front();
        assert_eq!(
            self.outbox.is_parked(),
            first.is_some_and(|first| first.late)
        );
        let some = self.items.iter().any(|item| item.late);
        assert_eq!(self.outbox.has_lates(), some);
        assert!(!some || self.outbox.single().is_none());
    }

    /// Whether what waits behind the first entry exceeds a limit, counted item by item.
    fn is_over(&self) -> bool {
        let kept = self.first_items();
        let behind = || self.items.iter().skip(kept).filter(|item| item.counts);
        let bytes: usize = behind().map(|item| item.bytes.len()).sum();
        let messages: u32 = behind().map(|item| item.messages).sum();
        let entries = self.outbox.entries().saturating_sub(1);
        bytes + entries * ENTRY_CHARGE > self.limits.outbox_bytes + ENTRY_CHARGE
            || wide(messages) > self.limits.outbox_frames
    }

    /// The number of items in the first entry.
    fn first_items(&self) -> usize {
        let Some(first) = self.first() else {
            return 0;
        };
        self.items_within(first.frame.len() - self.written())
    }

    fn first(&self) -> Option<&Entry> {
        self.outbox.backlog.as_deref()?.queue.front()
    }

    /// Bytes of the first entry that are written.
    fn written(&self) -> usize {
        let backlog = self.outbox.backlog.as_deref();
        backlog.map_or(0, |backlog| backlog.written)
    }

    /// The number of items in the first entry if it is begun.
    fn begun_items(&self) -> usize {
        if self.written() > 0 {
            self.first_items()
        } else {
            0
        }
    }

    fn items_within(&self, left: usize) -> usize {
        let mut end = left + self.begun;
        let fits = |item: &&Item| {
            let fits = item.bytes.len() <= end;
            end = end.saturating_sub(item.bytes.len());
            fits
        };
        self.items.iter().take_while(fits).count()
    }

    fn ids_behind(&self, kept: usize) -> Vec<u32> {
        let before: usize = self
            .items
            .iter()
            .take(kept)
            .map(|item| item.bytes.len())
            .sum();
        let rest = self.rest();
        let mut bytes = &rest[before - self.begun.min(before)..];
        let mut ids = Vec::new();
        while let Some((head, _)) = bytes.split_first_chunk::<HEAD>() {
            let word = |at: usize| {
                u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
            };
            ids.push(word(0));
            bytes = &bytes[wide(word(4))..];
        }
        ids
    }

    /// All remaining bytes, in order.
    fn rest(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut skip = self.written();
        let queued = self.outbox.backlog.as_deref().map(|backlog| &backlog.queue);
        for entry in queued.into_iter().flatten() {
            all.extend_from_slice(&entry.frame.bytes()[std::mem::take(&mut skip)..]);
        }
        all.extend_from_slice(&self.outbox.chunk);
        all
    }
}

impl Item {
    /// An item with its number, its length, and filler.
    fn new(id: u32, length: usize, messages: u32) -> Self {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend_from_slice(&narrow(length).to_le_bytes());
        bytes.resize(length, 0xff);
        Self {
            bytes,
            messages,
            counts: messages > 0,
            late: false,
        }
    }

    fn id(&self) -> u32 {
        self.bytes
            .first_chunk()
            .map_or(0, |id| u32::from_le_bytes(*id))
    }
}

/// Bytes of an item's number and length.
pub(crate) const HEAD: usize = 8;
