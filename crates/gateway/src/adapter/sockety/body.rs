//! What one transfer from the worker carries to the peer: data, a file or a stream. Keeps bytes that do not fill a
//! packet yet; sends nothing itself.

use millrace_protocol::sockety::{SendError, Sender};

use super::disk::DiskFile;

/// What one transfer carries.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) channel: u16,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    /// Data, with the bytes that do not fill a packet yet.
    Data(Vec<u8>),
    Stream,
    File {
        index: u32,
        /// The file on disk that its bytes are read from, if they do not come from the worker.
        disk: Option<DiskFile>,
    },
}

impl Body {
    /// The bytes that are sent once this many more arrive; `None` while they do not fill a packet.
    pub(super) fn follows(&self, bytes: usize, sender: &Sender) -> Option<usize> {
        let Content::Data(kept) = &self.content else {
            return Some(bytes);
        };
        let all = kept.len() + bytes;
        (all >= wanted(sender, self.channel)).then_some(all)
    }

    /// Appends more bytes of it.
    pub(super) fn piece(
        &mut self,
        bytes: &[u8],
        sender: &mut Sender,
        out: &mut Vec<u8>,
    ) -> Result<(), SendError> {
        let channel = self.channel;
        match &mut self.content {
            Content::Data(kept) => data(kept, bytes, (channel, sender), out),
            Content::Stream => sender.stream(channel, &[bytes], false, out),
            Content::File { index, .. } => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let taken = sender.file(channel, *index, rest, out)?;
                    if taken == 0 {
                        return Err(SendError::NotInProgress(channel)); // no recipient reads it any more
                    }
                    rest = rest.get(taken..).unwrap_or_default();
                }
                Ok(())
            }
        }
    }

    /// Appends its end: all of it has arrived.
    pub(super) fn end(&self, sender: &mut Sender, out: &mut Vec<u8>) -> Result<(), SendError> {
        let channel = self.channel;
        match self.content {
            Content::Data(_) if sender.data_wanted(channel) > 0 => {
                Err(SendError::NotInProgress(channel)) // less than was announced
            }
            Content::Data(_) => Ok(()),
            Content::Stream => sender.stream(channel, &[], true, out),
            Content::File { index, .. } => sender.end_file(channel, index, out),
        }
    }
}

/// Appends more data, in complete packets.
fn data(
    kept: &mut Vec<u8>,
    bytes: &[u8],
    (channel, sender): (u16, &mut Sender),
    out: &mut Vec<u8>,
) -> Result<(), SendError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let wanted = wanted(sender, channel);
        if wanted == 0 {
            return Err(SendError::NotInProgress(channel)); // more than was announced
        }
        let (now, later) = rest.split_at(rest.len().min(wanted - kept.len()));
        rest = later;
        if kept.is_empty() && now.len() == wanted {
            sender.data(channel, now, out)?;
            continue;
        }
        kept.extend_from_slice(now);
        if kept.len() == wanted {
            sender.data(channel, kept, out)?;
            kept.clear();
        }
    }
    Ok(())
}

/// The bytes of the next packet of data.
fn wanted(sender: &Sender, channel: u16) -> usize {
    usize::try_from(sender.data_wanted(channel)).unwrap_or(usize::MAX)
}
