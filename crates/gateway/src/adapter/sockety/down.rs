//! Messages in progress towards the peer: data, files and streams that the worker sends by transfers. Owns which belongs where.
//! Every packet is appended whole, because publications come between.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use ahash::AHashMap;
use millrace_protocol::sockety::{SendError, Sender};

use super::disk::DiskFile;
use crate::contract::{Context, Step, TransferId};

/// Those of one connection.
#[derive(Debug, Default)]
pub(super) struct Down {
    bodies: AHashMap<TransferId, Body>,
    /// By their channels.
    messages: AHashMap<u16, Sent>,
    /// Transfers whose files are being read.
    reading: VecDeque<TransferId>,
    /// Those that wait for that, with the paths and the bytes to be sent.
    unread: VecDeque<(TransferId, PathBuf, u64)>,
    /// Bytes that are read at once.
    most_read: usize,
    /// Into which they are read. Kept until none is.
    buffer: Vec<u8>,
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
    File {
        index: u32,
        /// Where its bytes come from, if they do not come from the worker.
        disk: Option<DiskFile>,
    },
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
    /// It was given up because what came is not what was announced, or not all of it came. The worker is to be told, by what it
    /// knows it by.
    Failed(Box<[u8]>),
}

/// What became of a file that is read.
enum Looked {
    /// A piece was.
    Sent,
    /// Its next piece is being read.
    Waits,
    /// `None`: its message was given up.
    Over(Option<io::Result<Progress>>),
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
                self.close(id, cx);
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
            Step::Lost => return Some(Progress::Failed(self.give_up(channel, sender, cx))),
            Step::Pull(_) | Step::Whole(_) | Step::Begin(_) => Ok(()),
        };
        Some(self.settle(channel, done, sender, cx))
    }

    /// What follows from what was sent of a message.
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

    /// The bytes of a file come from the file system: so many, or fewer. `most` are read at once.
    pub(super) fn read_file(&mut self, id: TransferId, path: &str, size: u64, most: usize) {
        self.most_read = most;
        self.unread.push_back((id, path.into(), size));
        self.read_next();
    }

    fn read_next(&mut self) {
        while self.reading.len() < MOST_READING
            && let Some((id, path, size)) = self.unread.pop_front()
        {
            // its message may have been given up
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

    /// Sends what was read of files, a piece of each in turn, as long as there is room, until one is over: what became of it.
    /// `None`: none is.
    pub(super) fn look(
        &mut self,
        sender: &mut Sender,
        cx: &mut Context<'_>,
    ) -> Option<(TransferId, io::Result<Progress>)> {
        let mut waits = 0;
        while waits < self.reading.len() && cx.has_room() {
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
        let sent = piece(body, &self.buffer, sender, cx);
        if goes_on && sent.is_ok() {
            return Looked::Sent;
        }
        let done = sent.and_then(|()| end(body, sender, cx));
        self.close(id, cx);
        let progress = self.settle(channel, done, sender, cx);
        Looked::Over(Some(Ok(progress)))
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
        Content::File { index, .. } => {
            let mut rest = bytes;
            while !rest.is_empty() {
                let mut taken = 0;
                part(sender, cx, |sender, out| {
                    taken = sender.file(channel, *index, rest, out)?;
                    Ok(())
                })?;
                if taken == 0 {
                    return Err(SendError::NotInProgress(channel)); // nobody reads it any more
                }
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
        Content::File { index, .. } => part(sender, cx, |sender, out| {
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

/// Files of one connection that are read at the same time.
const MOST_READING: usize = 8;
