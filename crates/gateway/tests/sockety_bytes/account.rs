//! What a worker was told of one connection, and what it should be told.

use std::collections::BTreeMap;

use millrace_protocol::sockety::{DecodeError, DecoderConfig, Id};

use crate::seen::{Draft, Seen, decode_all};
use crate::support::Event;
use crate::support::manual::Manual;
use crate::support::sockety::told;

/// Everything that a worker is told of one connection. The contents of one message may arrive in any order and in any
/// pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    said: Vec<Said>,
    heartbeats: u32,
    /// Bytes by message and part, and whether the part has ended.
    contents: BTreeMap<(u64, Part), (Vec<u8>, bool)>,
    /// Whether the end cut something off. `None`: there was no such event, because there was no header.
    is_cut: Option<bool>,
    pub(crate) code: u32,
    pub(crate) reason: String,
}

/// Heads and small packets in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Message(u64, Draft),
    FastReply(u32, Id),
    GoAway,
    /// A message was aborted.
    Abort(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Data,
    Stream,
    File(u32),
}

impl Account {
    /// What a worker has to be told of a peer that sends this and then nothing more, according to a decoder.
    pub(crate) fn expected(wire: &[u8]) -> Self {
        Self::expected_by(&DecoderConfig::default(), wire)
    }

    pub(crate) fn expected_by(config: &DecoderConfig, wire: &[u8]) -> Self {
        let (seen, unfinished, is_busy) = decode_all(config, [wire]);
        let has_header = matches!(seen.first(), Some(Seen::Header(_)));
        let mut expected = Expected::default();
        for one in seen {
            expected.see(one);
        }
        let mut account = expected.account;
        let is_cut = expected.mistake.is_some() || unfinished.is_some() || is_busy;
        account.is_cut = (has_header || expected.mistake.is_some()).then_some(is_cut);
        account.code = match expected.mistake {
            Some(error) => error.close_code().into(),
            None if is_cut || !has_header => 1006,
            None => 1005,
        };
        if let Some(error) = expected.mistake {
            error.close_reason().clone_into(&mut account.reason);
        }
        account
    }

    /// The essential content as text.
    pub(crate) fn brief(&self) -> Vec<String> {
        let mut brief: Vec<_> = self.said.iter().map(Said::brief).collect();
        for ((number, part), (bytes, ended)) in &self.contents {
            let bytes = bytes.escape_ascii();
            let end = if *ended { "" } else { " and no end" };
            brief.push(format!("{number}: {part:?} {bytes}{end}"));
        }
        brief.extend(vec![
            "heartbeat".to_owned();
            self.heartbeats.try_into().unwrap()
        ]);
        brief
    }

    /// The ids of fast replies.
    pub(crate) fn replied(&self) -> Vec<Id> {
        let ids = self.said.iter().filter_map(|said| match said {
            Said::FastReply(_, id) => Some(*id),
            _ => None,
        });
        ids.collect()
    }

    fn begin(&mut self, number: u64, head: Draft) {
        for (part, is_there) in [
            (Part::Data, head.data_size > 0),
            (Part::Stream, head.has_stream),
        ] {
            if is_there {
                self.contents.insert((number, part), <_>::default());
            }
        }
        self.said.push(Said::Message(number, head));
    }

    fn add(&mut self, number: u64, part: Part, bytes: &[u8], last: bool) {
        let (all, ended) = self.contents.entry((number, part)).or_default();
        assert!(!*ended, "more of {part:?} after its end");
        all.extend_from_slice(bytes);
        *ended = last;
    }
}

impl Said {
    fn brief(&self) -> String {
        match self {
            Self::Message(number, head) => {
                let what = match head.parent {
                    Some(_) => "response",
                    None => &head.action,
                };
                format!("{number}: {what}")
            }
            Self::FastReply(code, _) => format!("fast reply {code}"),
            Self::GoAway => "go away".to_owned(),
            Self::Abort(number) => format!("{number}: given up"),
        }
    }
}

/// The state of the decoded input.
#[derive(Default)]
struct Expected {
    account: Account,
    count: u64,
    /// The messages in progress by channel.
    numbers: BTreeMap<u16, u64>,
    /// Pieces of files by channel that arrived before the rest of their message's head.
    early: BTreeMap<u16, Vec<(u32, Vec<u8>, bool)>>,
    mistake: Option<DecodeError>,
}

impl Expected {
    fn see(&mut self, seen: Seen) {
        match seen {
            Seen::Header(_) => {}
            Seen::Message(channel, head, finished) => {
                self.count += 1;
                self.account.begin(self.count, head);
                for (index, bytes, last) in self.early.remove(&channel).unwrap_or_default() {
                    let part = Part::File(index);
                    self.account.add(self.count, part, &bytes, last);
                }
                self.numbers.insert(channel, self.count);
                self.settle(channel, finished);
            }
            Seen::Data(channel, bytes, left, finished) => {
                self.add(channel, Part::Data, (&bytes, left == 0), finished);
            }
            Seen::Stream(channel, bytes) => {
                self.add(channel, Part::Stream, (&bytes, false), false);
            }
            Seen::StreamEnd(channel, finished) => {
                self.add(channel, Part::Stream, (b"", true), finished);
            }
            Seen::File(channel, index, bytes) => self.file(channel, index, (bytes, false), false),
            Seen::FileEnd(channel, index, finished) => {
                self.file(channel, index, (Vec::new(), true), finished);
            }
            Seen::Abort(channel) => {
                self.early.remove(&channel);
                // the worker was not told of a message whose head is incomplete
                let number = self.numbers.remove(&channel);
                self.account.said.extend(number.map(Said::Abort));
            }
            Seen::FastReply(code, id) => {
                self.account.said.push(Said::FastReply(code.into(), id));
            }
            Seen::Heartbeat => self.account.heartbeats += 1,
            Seen::GoAway => self.account.said.push(Said::GoAway),
            Seen::Error(error) => self.mistake = Some(error),
        }
    }

    fn add(&mut self, channel: u16, part: Part, (bytes, last): (&[u8], bool), finished: bool) {
        self.account.add(self.numbers[&channel], part, bytes, last);
        self.settle(channel, finished);
    }

    fn file(&mut self, channel: u16, index: u32, (bytes, last): (Vec<u8>, bool), finished: bool) {
        if self.numbers.contains_key(&channel) {
            self.add(channel, Part::File(index), (&bytes, last), finished);
        } else {
            let early = self.early.entry(channel).or_default();
            early.push((index, bytes, last));
        }
    }

    fn settle(&mut self, channel: u16, finished: bool) {
        if finished {
            self.numbers.remove(&channel);
        }
    }
}

/// What a worker was told of several connections.
#[derive(Default)]
pub(crate) struct Accounts {
    by_slot: BTreeMap<u32, Account>,
    /// The connection, message and part of each transfer.
    transfers: BTreeMap<u64, (u32, u64, Part)>,
    /// How transfers broke off.
    broken: BTreeMap<u64, u32>,
    closed: Vec<Account>,
}

impl Accounts {
    /// The accounts of this many connections that end, in any order.
    pub(crate) fn take(worker: &Manual, count: usize) -> Vec<Account> {
        let mut accounts = Self::default();
        while accounts.closed.len() < count {
            for event in worker.expect(1) {
                accounts.event(event);
            }
        }
        assert!(accounts.by_slot.is_empty());
        accounts.closed
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Open { slot, .. } => {
                let before = self.by_slot.insert(slot, Account::default());
                assert_eq!(before, None);
            }
            Event::Told {
                number: 2, slot, ..
            } => self.message(slot, &event),
            Event::Told {
                slot,
                number,
                fields,
                ..
            } => self.told(slot, number, &fields),
            Event::Piece { id, data, last } => {
                let (slot, number, part) = self.transfers[&id];
                self.account(slot).add(number, part, &data, last);
            }
            Event::Turn { id, turn } => assert_eq!(self.broken.insert(id, turn), None),
            Event::Close {
                slot, code, reason, ..
            } => self.close(slot, code, reason),
            other => panic!("{other:?}"),
        }
    }

    fn account(&mut self, slot: u32) -> &mut Account {
        self.by_slot.get_mut(&slot).unwrap()
    }

    fn message(&mut self, slot: u32, event: &Event) {
        let told = told(event);
        let number = told.number;
        let (data_size, has_stream) = (told.data_size, told.flags & 4 != 0);
        let head = Draft {
            parent: (told.flags & 1 != 0).then_some(told.parent),
            action: told.action,
            id: told.id,
            expects_response: told.flags & 2 != 0,
            has_stream,
            data_size,
            files: told.files,
        };
        let account = self.account(slot);
        account.begin(number, head);
        if data_size > 0 && told.data == 0 {
            account.add(number, Part::Data, &told.payload, true);
        } else {
            assert_eq!(told.payload, b"");
        }
        assert_eq!(has_stream, told.stream != 0);
        for (id, part) in [(told.data, Part::Data), (told.stream, Part::Stream)] {
            if id != 0 {
                self.transfer(id, (slot, number, part));
            }
        }
    }

    fn transfer(&mut self, id: u64, whose: (u32, u64, Part)) {
        let before = self.transfers.insert(id, whose);
        assert_eq!(before, None);
    }

    fn told(&mut self, slot: u32, number: u32, fields: &[u8]) {
        let word = |at: usize| u32::from_le_bytes(fields[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_le_bytes(fields[at..at + 8].try_into().unwrap());
        if number == 3 {
            let (message, part) = (long(0), Part::File(word(16)));
            self.transfer(long(8), (slot, message, part));
            return self.account(slot).add(message, part, b"", false);
        }
        let account = self.account(slot);
        match number {
            4 => account.said.push(Said::Abort(long(0))),
            5 => {
                let id = Id::new(fields[4..].try_into().unwrap());
                account.said.push(Said::FastReply(word(0), id));
            }
            6 => account.said.push(Said::GoAway),
            10 => assert_eq!(account.is_cut.replace(fields == [1]), None),
            14 => account.heartbeats += word(0),
            other => panic!("event {other}"),
        }
    }

    /// For each part that has not ended, asserts that the worker was told once that it broke off: with its message or
    /// with the connection.
    fn close(&mut self, slot: u32, code: u32, reason: String) {
        let mut account = self.by_slot.remove(&slot).unwrap();
        (account.code, account.reason) = (code, reason);
        for (id, (whose, number, part)) in &self.transfers {
            if *whose == slot {
                let (_, ended) = &account.contents[&(*number, *part)];
                let is_given_up = account.said.contains(&Said::Abort(*number));
                let turn = if is_given_up { BROKEN } else { ABORTED };
                let expected = (!ended).then_some(&turn);
                assert_eq!(self.broken.get(id), expected, "{account:?}");
            }
        }
        self.transfers.retain(|_, (whose, ..)| *whose != slot);
        self.closed.push(account);
    }
}

/// The numbers of the ways in which a transfer breaks off.
const ABORTED: u32 = 1;
const BROKEN: u32 = 5;
