//! What one transfer of the worker carries towards the peer: data, a file or a stream. Owns what of it is less than a packet; sends
//! nothing itself.

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
    /// With what is less than a packet.
    Data(Vec<u8>),
    Stream,
    File {
        index: u32,
        /// Where its bytes come from, if they do not come from the worker.
        disk: Option<DiskFile>,
    },
}

impl Body {
    /// Bytes that are sent once these more have come; `None`: a packet of it is not whole yet.
    pub(super) fn follows(&self, bytes: usize, sender: &Sender) -> Option<usize> {
        let Content::Data(kept) = &self.content else {
            return Some(bytes);
        };
        let all = kept.len() + bytes;
        (all >= wanted(sender, self.channel)).then_some(all)
    }

    /// Appends more of it.
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
                        return Err(SendError::NotInProgress(channel)); // nobody reads it any more
                    }
                    rest = rest.get(taken..).unwrap_or_default();
                }
                Ok(())
            }
        }
    }

    /// Appends its end: all of it has come.
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

/// Appends more data: packets of it, as far as they are whole.
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

/// Bytes of the next packet of data.
fn wanted(sender: &Sender, channel: u16) -> usize {
    usize::try_from(sender.data_wanted(channel)).unwrap_or(usize::MAX)
}
