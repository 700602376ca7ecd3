//! Messages in progress to the peer: data, files and streams that the worker sends as transfers. Owns which transfer
//! belongs to which message. Every packet is appended whole, because publications may come between packets.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use ahash::AHashMap;
use bytes::Bytes;
use millrace_protocol::sockety::{SendError, Sender};

use super::body::{Body, Content};
use super::disk::{DiskFile, PIECE_BYTES};
use super::late::Late;
use crate::contract::{Context, Step, TransferId};

/// The messages of one connection.
#[derive(Debug, Default)]
pub(super) struct Down {
    bodies: AHashMap<TransferId, Body>,
    /// Messages by channel.
    messages: AHashMap<u16, Sent>,
    /// Transfers whose files are being read.
    reading: VecDeque<TransferId>,
    /// Transfers whose files are not opened yet, with their paths and the bytes to be sent.
    unread: VecDeque<(TransferId, PathBuf, u64)>,
    /// The most bytes of one read.
    most_read: usize,
    /// The buffer for these reads, kept until no file is being read.
    buffer: Vec<u8>,
    /// Steps of the worker that wait for room in the outbox, in order. They are bounded by the worker's window.
    held: VecDeque<(TransferId, Held)>,
    /// What goes before all of that, and before what begins later.
    late: Late,
}

/// A step that waits for room.
#[derive(Debug)]
enum Held {
    Piece(Bytes),
    End,
    WantRoom,
}

/// A message that has begun.
#[derive(Debug)]
struct Sent {
    /// What names it to the worker.
    shown: Box<[u8]>,
    transfers: Vec<TransferId>,
}

/// The result of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Going,
    /// The message is complete and its channel is free.
    Finished,
    /// The message was aborted because its contents differ from what was announced, or are incomplete. The worker has
    /// to be told; this names the message to it.
    Failed(Box<[u8]>),
}

/// The result of looking at a file that is being read.
enum Looked {
    /// A piece of it was sent.
    Sent,
    /// Its next piece is being read.
    Waits,
    /// The file is done. `None`: its message was aborted.
    Over(Option<io::Result<Progress>>),
}

impl Down {
    /// Begins a message on a channel. Returns its transfers: those of its data and its stream, if it has them, and
    /// those of its files.
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
            .chain((0..files).map(|index| Content::File { index, disk: None }));
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

    /// Takes a step of the worker; `None` if the transfer is not one of these.
    pub(super) fn step(
        &mut self,
        sender: &mut Sender,
        id: TransferId,
        step: &Step,
        cx: &mut Context<'_>,
    ) -> Option<Progress> {
        let channel = self.bodies.get(&id)?.channel;
        let held = match step {
            Step::Piece(bytes) => Held::Piece(Bytes::clone(bytes)),
            Step::End => Held::End,
            Step::WantRoom => Held::WantRoom,
            Step::Abort => {
                self.give_up(channel, sender, cx);
                return Some(Progress::Finished);
            }
            Step::Lost => return Some(Progress::Failed(self.give_up(channel, sender, cx))),
            Step::Pull(_) | Step::Whole(_) | Step::Begin(_) => return Some(Progress::Going),
        };
        if self.is_holding() || !self.fits(id, &held, sender, cx) {
            self.held.push_back((id, held));
            return Some(Progress::Going);
        }
        self.take(id, &held, sender, cx)
    }

    /// Short packets that wait for room.
    pub(super) fn late(&mut self) -> &mut Late {
        &mut self.late
    }

    /// Whether a step of the worker waits for room.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty() || self.late.is_waiting()
    }

    /// Takes the first step that waits for room, and returns the result. `None`: there is no room, or nothing waits.
    pub(super) fn take_held(
        &mut self,
        sender: &mut Sender,
        cx: &mut Context<'_>,
    ) -> Option<Progress> {
        while let Some((id, held)) = self.held.pop_front() {
            if !self.fits(id, &held, sender, cx) {
                self.held.push_front((id, held));
                return None;
            }
            if let Some(progress) = self.take(id, &held, sender, cx) {
                return Some(progress);
            }
        }
        // frees a buffer that may have grown to the length of the window
        self.held = VecDeque::new();
        None
    }

    /// Whether the outbox has room for what a step will send.
    fn fits(&self, id: TransferId, held: &Held, sender: &Sender, cx: &mut Context<'_>) -> bool {
        let body = self.bodies.get(&id);
        let follows = body.and_then(|body| match held {
            Held::Piece(bytes) => body.follows(bytes.len(), sender),
            Held::End => Some(0),
            Held::WantRoom => None,
        });
        let half = cx.outbox_bytes() / 2;
        follows.is_none_or(|bytes| cx.fits(bytes, half))
    }

    /// Takes a step; `None` if its message was aborted.
    fn take(
        &mut self,
        id: TransferId,
        held: &Held,
        sender: &mut Sender,
        cx: &mut Context<'_>,
    ) -> Option<Progress> {
        let body = self.bodies.get_mut(&id)?;
        let channel = body.channel;
        let done = match held {
            Held::Piece(bytes) => part(sender, cx, |sender, out| body.piece(bytes, sender, out)),
            Held::End => {
                let ended = part(sender, cx, |sender, out| body.end(sender, out));
                self.close(id, cx);
                ended
            }
            Held::WantRoom => {
                cx.room(id);
                Ok(())
            }
        };
        Some(self.settle(channel, done, sender, cx))
    }

    /// The state of a message after a part of it was sent.
    fn settle(
        &mut self,
        channel: u16,
        done: Result<(), SendError>,
        sender: &mut Sender,
        cx: &mut Context<'_>,
    ) -> Progress {
        match done {
            Err(_) => Progress::Failed(self.give_up(channel, sender, cx)),
            Ok(()) if sender.is_busy(channel) => Progress::Going,
            Ok(()) => {
                self.forget(channel, cx);
                Progress::Finished
            }
        }
    }

    fn close(&mut self, id: TransferId, cx: &mut Context<'_>) {
        self.bodies.remove(&id);
        cx.close_transfer(id);
    }

    /// Makes a file on disk the source of a transfer: `size` bytes, or fewer if the file is shorter, of which `most`
    /// are read at once.
    pub(super) fn read_file(&mut self, id: TransferId, path: &str, size: u64, most: usize) {
        self.most_read = most.clamp(LEAST_READ, PIECE_BYTES);
        self.unread.push_back((id, path.into(), size));
        self.read_next();
    }

    fn read_next(&mut self) {
        while self.reading.len() < MOST_READING
            && let Some((id, path, size)) = self.unread.pop_front()
        {
            // its message may have been aborted
            if let Some(Content::File { disk, .. }) = self
                .bodies
                .get_mut(&id)
                .map(|body| &mut body.content)
                .filter(|content| matches!(content, Content::File { disk: None, .. }))
            {
                *disk = Some(DiskFile::new(path, size, self.most_read));
                self.reading.push_back(id);
            }
        }
        if self.reading.is_empty() {
            self.buffer = Vec::new();
        }
    }

    /// Sends what was read of files, one piece of each in turn, while there is room and until one file is done: returns
    /// the result. `None`: no file is done.
    pub(super) fn look(
        &mut self,
        sender: &mut Sender,
        cx: &mut Context<'_>,
    ) -> Option<(TransferId, io::Result<Progress>)> {
        let mut waits = 0;
        while waits < self.reading.len() && cx.has_room() && cx.fits(self.most_read, 0) {
            let id = self.reading.pop_front()?;
            match self.look_at(id, sender, cx) {
                Looked::Sent => {
                    self.reading.push_back(id);
                    waits = 0;
                }
                Looked::Waits => {
                    self.reading.push_back(id);
                    waits += 1;
                }
                Looked::Over(outcome) => {
                    self.read_next();
                    waits = 0;
                    if let Some(outcome) = outcome {
                        return Some((id, outcome));
                    }
                }
            }
        }
        None
    }

    fn look_at(&mut self, id: TransferId, sender: &mut Sender, cx: &mut Context<'_>) -> Looked {
        let Some(body) = self.bodies.get_mut(&id) else {
            return Looked::Over(None);
        };
        let channel = body.channel;
        let Content::File {
            disk: Some(disk), ..
        } = &mut body.content
        else {
            return Looked::Over(None);
        };
        let goes_on = match disk.next(&mut self.buffer, || cx.waker()) {
            None => return Looked::Waits,
            Some(Err(error)) => return Looked::Over(Some(Err(error))),
            Some(Ok(goes_on)) => goes_on,
        };
        let buffer = &self.buffer;
        let done = part(sender, cx, |sender, out| {
            body.piece(buffer, sender, out)?;
            if goes_on {
                Ok(())
            } else {
                body.end(sender, out)
            }
        });
        if goes_on && done.is_ok() {
            return Looked::Sent;
        }
        self.close(id, cx);
        let progress = self.settle(channel, done, sender, cx);
        Looked::Over(Some(Ok(progress)))
    }

    /// Aborts a message, and returns what names it to the worker.
    fn give_up(&mut self, channel: u16, sender: &mut Sender, cx: &mut Context<'_>) -> Box<[u8]> {
        sender.forget_channel();
        if sender.is_busy(channel) {
            let mut packet = Vec::new();
            let aborted = sender.abort(channel, &mut packet);
            debug_assert!(aborted.is_ok(), "it is in progress");
            if self.late.has_to_wait(packet.len(), cx) {
                self.late.push(packet, true);
            } else {
                cx.send_part(|out| out.extend_from_slice(&packet));
            }
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
        if self.is_holding() {
            self.held.retain(|(id, _)| self.bodies.contains_key(id));
        }
        sent.shown
    }
}

/// Sends packets of a message.
fn part(
    sender: &mut Sender,
    cx: &mut Context<'_>,
    append: impl FnOnce(&mut Sender, &mut Vec<u8>) -> Result<(), SendError>,
) -> Result<(), SendError> {
    let mut result = Ok(());
    // publications may have switched the channel
    sender.forget_channel();
    cx.send_part(|out| result = append(sender, out));
    result
}

/// Files of one connection that are read at the same time.
const MOST_READING: usize = 8;

/// The least bytes of one read: a piece of this size fits into an outbox of any limit.
const LEAST_READ: usize = 16 * 1024;
