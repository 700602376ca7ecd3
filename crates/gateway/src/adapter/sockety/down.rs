//! Messages in progress towards the peer: data, files and streams that the worker sends by transfers. Owns which belongs where.
//! Every packet is appended whole, because publications come between.

use ahash::AHashMap;
use millrace_protocol::sockety::{SendError, Sender};

use crate::contract::{Context, Step, TransferId};

/// Those of one connection.
#[derive(Debug, Default)]
pub(super) struct Down {
    bodies: AHashMap<TransferId, Body>,
    /// By their channels.
    messages: AHashMap<u16, Sent>,
}

/// What one transfer carries.
#[derive(Debug)]
struct Body {
    channel: u16,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// With what is less than a packet.
    Data(Vec<u8>),
    Stream,
    File(u32),
}

/// A message that has begun.
#[derive(Debug)]
struct Sent {
    /// What the worker knows it by.
    shown: Box<[u8]>,
    transfers: Vec<TransferId>,
}

/// What became of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Going,
    /// The message has come to its end, and its channel is free.
    Finished,
    /// It was given up because what came is not what was announced. The worker is to be told, by what it knows it by.
    Failed(Box<[u8]>),
}

impl Down {
    /// A message has begun on a channel. Returns its transfers: those of its data and its stream, if it has them, and
    /// of its files.
    pub(super) fn begin(
        &mut self,
        channel: u16,
        (has_data, has_stream, files): (bool, bool, u32),
        shown: &[u8],
        cx: &mut Context<'_>,
    ) -> &[TransferId] {
        let data = has_data.then(|| Content::Data(Vec::new()));
        let stream = has_stream.then_some(Content::Stream);
        let contents = data
            .into_iter()
            .chain(stream)
            .chain((0..files).map(Content::File));
        let transfers = contents.map(|content| {
            let id = cx.open_transfer();
            self.bodies.insert(id, Body { channel, content });
            id
        });
        let sent = Sent {
            shown: shown.into(),
            transfers: transfers.collect(),
        };
        &self
            .messages
            .entry(channel)
            .insert_entry(sent)
            .into_mut()
            .transfers
    }

    /// The worker takes a step of a transfer of these; `None`: it is none of them.
    pub(super) fn step(
        &mut self,
        sender: &mut Sender,
        id: TransferId,
        step: &Step,
        cx: &mut Context<'_>,
    ) -> Option<Progress> {
        let body = self.bodies.get_mut(&id)?;
        let channel = body.channel;
        let done = match step {
            Step::Piece(bytes) => piece(body, bytes, sender, cx),
            Step::End => {
                let ended = end(body, sender, cx);
                self.bodies.remove(&id);
                cx.close_transfer(id);
                ended
            }
            Step::WantRoom => {
                cx.room(id);
                Ok(())
            }
            Step::Abort => {
                self.give_up(channel, sender, cx);
                return Some(Progress::Finished);
            }
            Step::Pull(_) | Step::Whole(_) | Step::Begin(_) => Ok(()),
        };
        Some(match done {
            Err(_) => Progress::Failed(self.give_up(channel, sender, cx)),
            Ok(()) if sender.is_busy(channel) => Progress::Going,
            Ok(()) => {
                self.forget(channel, cx);
                Progress::Finished
            }
        })
    }

    /// Gives a message up, and says what the worker knows it by.
    fn give_up(&mut self, channel: u16, sender: &mut Sender, cx: &mut Context<'_>) -> Box<[u8]> {
        sender.forget_channel();
        if sender.is_busy(channel) {
            cx.send_part(|out| {
                let aborted = sender.abort(channel, out);
                debug_assert!(aborted.is_ok(), "it is in progress");
            });
        }
        self.forget(channel, cx)
    }

    fn forget(&mut self, channel: u16, cx: &mut Context<'_>) -> Box<[u8]> {
        let Some(sent) = self.messages.remove(&channel) else {
            return Box::default();
        };
        for id in sent.transfers {
            if self.bodies.remove(&id).is_some() {
                cx.close_transfer(id);
            }
        }
        sent.shown
    }
}

/// More of a body.
fn piece(
    body: &mut Body,
    bytes: &[u8],
    sender: &mut Sender,
    cx: &mut Context<'_>,
) -> Result<(), SendError> {
    let channel = body.channel;
    match &mut body.content {
        Content::Data(kept) => data(kept, bytes, (channel, sender), cx),
        Content::Stream => part(sender, cx, |sender, out| {
            sender.stream(channel, &[bytes], false, out)
        }),
        Content::File(index) => {
            let mut rest = bytes;
            while !rest.is_empty() {
                let mut taken = 0;
                part(sender, cx, |sender, out| {
                    taken = sender.file(channel, *index, rest, out)?;
                    Ok(())
                })?;
                rest = rest.get(taken..).unwrap_or_default();
            }
            Ok(())
        }
    }
}

/// More data: packets of it, as far as they are whole.
fn data(
    kept: &mut Vec<u8>,
    bytes: &[u8],
    (channel, sender): (u16, &mut Sender),
    cx: &mut Context<'_>,
) -> Result<(), SendError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let wanted = usize::try_from(sender.data_wanted(channel)).unwrap_or(usize::MAX);
        if wanted == 0 {
            return Err(SendError::NotInProgress(channel)); // more than was announced
        }
        let (now, later) = rest.split_at(rest.len().min(wanted - kept.len()));
        rest = later;
        if kept.is_empty() && now.len() == wanted {
            part(sender, cx, |sender, out| {
                sender.data(channel, now, out).map(drop)
            })?;
            continue;
        }
        kept.extend_from_slice(now);
        if kept.len() == wanted {
            part(sender, cx, |sender, out| {
                sender.data(channel, kept, out).map(drop)
            })?;
            kept.clear();
        }
    }
    Ok(())
}

/// The end of a body, of which all has come.
fn end(body: &Body, sender: &mut Sender, cx: &mut Context<'_>) -> Result<(), SendError> {
    let channel = body.channel;
    match body.content {
        Content::Data(_) if sender.data_wanted(channel) > 0 => {
            Err(SendError::NotInProgress(channel)) // less than was announced
        }
        Content::Data(_) => Ok(()),
        Content::Stream => part(sender, cx, |sender, out| {
            sender.stream(channel, &[], true, out)
        }),
        Content::File(index) => part(sender, cx, |sender, out| {
            sender.end_file(channel, index, out)
        }),
    }
}

/// Sends packets of a message.
fn part(
    sender: &mut Sender,
    cx: &mut Context<'_>,
    append: impl FnOnce(&mut Sender, &mut Vec<u8>) -> Result<(), SendError>,
) -> Result<(), SendError> {
    let mut result = Ok(());
    // publications may have come between
    sender.forget_channel();
    cx.send_part(|out| result = append(sender, out));
    result
}
