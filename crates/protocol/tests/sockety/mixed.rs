//! Messages whose packets a sender interleaves arrive complete.

use std::collections::BTreeMap;

use millrace_protocol::sockety::{DecoderConfig, Id, Sender};
use proptest::prelude::*;

use crate::chunks::pieces;
use crate::roundtrip::{Whole, whole};
use crate::seen::{Draft, Seen, decode};

/// The parts of a message that are still to be sent, and how much of each is sent at a time.
struct Outgoing {
    channel: u16,
    whole: Whole,
    stream_ended: bool,
    files_ended: Vec<bool>,
}

impl Outgoing {
    fn new(channel: u16, whole: &Whole) -> Self {
        Self {
            channel,
            whole: whole.clone(),
            stream_ended: false,
            files_ended: vec![false; whole.files.len()],
        }
    }

    /// Sends a part that a number chooses.
    fn send(&mut self, choice: usize, sender: &mut Sender, out: &mut Vec<u8>) {
        let (channel, step) = (self.channel, choice % 97);
        let front = |bytes: &[u8]| bytes[..step.min(bytes.len())].to_vec();
        match choice % (2 + self.files_ended.len()) {
            0 if !self.whole.data.is_empty() => {
                // a packet that stays open is completed at once
                let mut size = step;
                loop {
                    let piece = self.whole.data.get(..size).unwrap_or(&self.whole.data);
                    let taken = sender.data(channel, piece, out).unwrap();
                    self.whole.data.drain(..taken);
                    if sender.open_packet().is_none() {
                        break;
                    }
                    size = usize::MAX;
                }
            }
            1 if self.whole.draft.has_stream && !self.stream_ended => {
                let piece = front(&self.whole.stream);
                self.whole.stream.drain(..piece.len());
                self.stream_ended = self.whole.stream.is_empty();
                let (first, second) = piece.split_at(piece.len() / 2);
                let pieces = [first, second];
                sender
                    .stream(channel, &pieces, self.stream_ended, out)
                    .unwrap();
            }
            choice if choice > 1 && !self.files_ended[choice - 2] => {
                let file = &mut self.whole.files[choice - 2];
                let index = u32::try_from(choice - 2).unwrap();
                if file.is_empty() {
                    sender.end_file(channel, index, out).unwrap();
                    self.files_ended[choice - 2] = true;
                } else {
                    let taken = sender.file(channel, index, &front(file), out).unwrap();
                    file.drain(..taken);
                }
            }
            _ => {}
        }
    }
}

/// A message with its data, files and stream.
type Arrived = (Draft, Vec<u8>, Vec<Vec<u8>>, Vec<u8>);

/// The messages reassembled from their items.
#[derive(Default)]
struct Arriving {
    drafts: BTreeMap<u16, Arrived>,
    complete: Vec<Arrived>,
}

impl Arriving {
    fn see(&mut self, one: Seen) {
        let (channel, finished) = match one {
            Seen::Message(channel, draft, finished) => {
                let files = vec![vec![]; draft.files.len()];
                let old = self.drafts.insert(channel, (draft, vec![], files, vec![]));
                assert!(old.is_none());
                (channel, finished)
            }
            Seen::Data(channel, bytes, _, finished) => {
                self.drafts.get_mut(&channel).unwrap().1.extend(bytes);
                (channel, finished)
            }
            Seen::File(channel, index, bytes) => {
                let files = &mut self.drafts.get_mut(&channel).unwrap().2;
                files[usize::try_from(index).unwrap()].extend(bytes);
                (channel, false)
            }
            Seen::Stream(channel, bytes) => {
                self.drafts.get_mut(&channel).unwrap().3.extend(bytes);
                (channel, false)
            }
            Seen::FileEnd(channel, _, finished) | Seen::StreamEnd(channel, finished) => {
                (channel, finished)
            }
            Seen::Header(_) => return,
            other => panic!("{other:?}"),
        };
        if finished {
            self.complete.extend(self.drafts.remove(&channel));
        }
    }
}

proptest! {
    #[test]
    fn interleaved_messages_arrive_complete(
        messages in prop::collection::vec(whole(), 1..8),
        first in 0..2u16,
        channels in 1..6u16,
        schedule in prop::collection::vec(any::<usize>(), 1..400),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let (mut sender, mut out) = (Sender::from_channel(first, channels), vec![0xe3]);
        let mut waiting: Vec<Whole> = (0..).zip(messages).map(|(number, mut message): (u8, _)| {
            message.draft.id = Id::new([number; 16]);
            message
        }).collect();
        let mut expected = waiting.clone();
        let mut outgoing: Vec<Outgoing> = Vec::new();
        let mut choices = schedule.iter().copied().chain(0..100_000);
        while !waiting.is_empty() || sender.in_progress() > 0 {
            let choice = choices.next().unwrap();
            if choice % 3 == 0 && let Some(next) = waiting.last() {
                if let Some(channel) = next.draft.with(|head| sender.begin(head, &mut out)).unwrap() {
                    outgoing.push(Outgoing::new(channel, next));
                    waiting.pop();
                }
            } else if choice % 7 == 0 {
                sender.forget_channel();
            }
            outgoing.retain(|one| sender.is_busy(one.channel));
            if !outgoing.is_empty() {
                let turn = choice / 7 % outgoing.len();
                outgoing[turn].send(choice / 31, &mut sender, &mut out);
                outgoing.retain(|one| sender.is_busy(one.channel));
            }
        }
        let mut arriving = Arriving::default();
        for one in decode(&DecoderConfig::default(), pieces(&out, &cuts)) {
            arriving.see(one);
        }
        prop_assert!(arriving.drafts.is_empty());
        let mut complete = arriving.complete;
        complete.sort_by_key(|(draft, ..)| draft.id);
        expected.sort_by_key(|message| message.draft.id);
        let expected: Vec<_> = expected
            .into_iter()
            .map(|message| (message.draft, message.data, message.files, message.stream))
            .collect();
        prop_assert_eq!(complete, expected);
    }
}
