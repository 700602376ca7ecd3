//! A naive model of an outbox, beside it. Appends, partial writes and judgements: whatever the policy, what leaves is what
//! came, in order and whole, without what was dropped; and every count agrees with a naive one. Only in tests and with the
//! feature `fuzzing`.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use super::{Outbox, narrow, wide};
use crate::frame::{Frame, Ledger};
use crate::limits::{ENTRY_CHARGE, GatewayLimits, OutboxPolicy};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Message(usize),
    Control(usize),
    /// A part of something longer.
    Part(usize),
    /// A frame shared with others, of so many messages.
    Shared(usize, u32),
    /// The kernel takes so many bytes.
    Write(usize),
    /// A write left something behind.
    Judge,
}

impl Op {
    /// What these bytes say.
    pub(crate) fn of(bytes: [u8; 4]) -> Self {
        let [verb, many, low, high] = bytes;
        let number = usize::from(u16::from_le_bytes([low, high]));
        let number = match many % 16 {
            0 => number,
            1..4 => number % 5_000,
            _ => number % 500,
        };
        let length = number + HEAD;
        match verb % 14 {
            0..4 => Self::Message(length),
            4 => Self::Control(length),
            13 => Self::Part(length),
            5..8 => Self::Shared(length, u32::from(many / 16) % 4 + 1),
            8..11 => Self::Write(number),
            _ => Self::Judge,
        }
    }
}

/// Something appended, whole.
#[derive(Clone, Debug)]
struct Item {
    bytes: Vec<u8>,
    /// 0: a control frame, or a part.
    messages: u32,
    /// It counts against the limits.
    counts: bool,
}

/// The outbox, and what has to be in it.
struct Compared {
    outbox: Outbox,
    ledger: Arc<Ledger>,
    limits: GatewayLimits,
    items: VecDeque<Item>,
    /// Bytes of the first that are written.
    begun: usize,
    /// Messages appended, written to their last byte, and dropped.
    appended: u64,
    written: u64,
    dropped: u64,
    next: u32,
}

/// Has all of it happen to an outbox with these limits, and then writes the rest.
pub(crate) fn run(ops: impl IntoIterator<Item = Op>, limits: GatewayLimits) {
    let mut compared = Compared {
        outbox: Outbox::default(),
        ledger: Arc::new(Ledger::new()),
        limits,
        items: VecDeque::new(),
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
            Op::Write(count) => compared.write(count),
            Op::Judge => compared.judge(),
        }
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

    /// As the shard writes, piece by piece, until the kernel has taken `count` bytes; then everything waits in the queue.
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
            self.written += u64::from(first.messages);
            self.items.pop_front();
        }
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

    /// What follows the entry that is begun goes, control frames with it: the stream ends there.
    fn close(&mut self) {
        let kept = self.begun_items();
        let dropped = self.outbox.truncate();
        // an entry begun is counted as a whole, so what is dropped behind it is exact
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
            "a control frame or a part"
        );
        // entries go whole; a shared frame is one, and so is each message behind the first entry
        let messages = behind.iter().filter(|item| item.messages > 0);
        let order: Vec<bool> = messages.map(gone).collect();
        let right = if self.limits.outbox_policy == OutboxPolicy::DropOldest {
            order.windows(2).all(|pair| pair[0] || !pair[1])
        } else {
            order.windows(2).all(|pair| !pair[0] || pair[1])
        };
        assert!(right, "not the right end: {order:?}");
        self.dropped += dropped;
        self.items
            .extend(behind.into_iter().filter(|item| !gone(item)));
        assert!(!self.is_over() || self.items.iter().skip(kept).all(|item| item.messages == 0));
    }

    /// Everything that can be seen agrees with the items.
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
        // those of the first entry that are written count until all of it is
        let first = self
            .outbox
            .queue
            .front()
            .map_or(0, |first| u64::from(first.messages));
        let counted = self.outbox.messages();
        assert!(
            counted >= unwritten && counted <= unwritten + first,
            "{counted} for {unwritten}"
        );
        assert!(self.ledger.held() >= queued);
    }

    /// What waits behind the first entry, counted item by item.
    fn is_over(&self) -> bool {
        let kept = self.first_items();
        let behind = || self.items.iter().skip(kept).filter(|item| item.counts);
        let bytes: usize = behind().map(|item| item.bytes.len()).sum();
        let messages: u32 = behind().map(|item| item.messages).sum();
        let entries = self.outbox.entries().saturating_sub(1);
        bytes + entries * ENTRY_CHARGE > self.limits.outbox_bytes + ENTRY_CHARGE
            || wide(messages) > self.limits.outbox_frames
    }

    /// How many items lie in the first entry.
    fn first_items(&self) -> usize {
        let Some(first) = self.outbox.queue.front() else {
            return 0;
        };
        self.items_within(first.frame.len() - self.outbox.written)
    }

    /// The same, of an entry that is begun.
    fn begun_items(&self) -> usize {
        if self.outbox.written > 0 {
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

    /// Everything left, in order.
    fn rest(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut skip = self.outbox.written;
        for entry in &self.outbox.queue {
            all.extend_from_slice(&entry.frame.bytes()[std::mem::take(&mut skip)..]);
        }
        all.extend_from_slice(&self.outbox.chunk);
        all
    }
}

impl Item {
    /// Its number and its length, then filling.
    fn new(id: u32, length: usize, messages: u32) -> Self {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend_from_slice(&narrow(length).to_le_bytes());
        bytes.resize(length, 0xff);
        Self {
            bytes,
            messages,
            counts: messages > 0,
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
