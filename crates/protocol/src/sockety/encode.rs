//! Packets, appended to a buffer. Keeps no state: the [`Sender`](super::Sender) decides which packet may follow which.
//!
//! Every number has the smallest width that fits it.

use super::error::EncodeError;
use super::head::{Head, Subject};
use super::header::MOST_CHANNELS;
use super::id::Id;
use super::packet;
use super::width::{
    DATA_SIZE, FILE_INDEX, FILES_COUNT, FILES_TOTAL, PACKET_SIZE, TEXT_LENGTH, append_uint,
};

/// The stream of the current channel's message has ended.
pub const STREAM_END: u8 = 0x80;
/// The current channel's message is aborted.
pub const ABORT: u8 = 0x90;
/// A heartbeat. May be sent between any two packets.
pub const HEARTBEAT: u8 = packet::HEARTBEAT;
/// We will disconnect soon. May be sent between any two packets.
pub const GO_AWAY: u8 = 0xb0;

/// The highest code of a fast reply.
pub const MOST_CODE: u16 = 4095;

/// Appends a packet that chooses the channel of the following packets.
pub fn append_switch(channel: u16, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let [high, low] = channel.to_be_bytes();
    match channel {
        0..16 => out.push(low),
        16..MOST_CHANNELS => out.extend_from_slice(&[0x10 | high, low]),
        _ => return Err(EncodeError::Channel(channel)),
    }
    Ok(())
}

/// Appends a fast reply with a code, 0 to [`MOST_CODE`], to the message or response `id`. May be sent between any two
/// packets.
///
/// # Example
///
/// ```
/// use millrace_protocol::sockety::{Id, append_fast_reply};
///
/// let mut out = Vec::new();
/// append_fast_reply(256, Id::new([7; 16]), &mut out)?;
/// assert_eq!(out[..3], [0x41, 0, 7]);
/// # Ok::<(), millrace_protocol::sockety::EncodeError>(())
/// ```
pub fn append_fast_reply(code: u16, id: Id, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let [high, low] = code.to_be_bytes();
    match code {
        0..16 => out.push(0x30 | low),
        16..=MOST_CODE => out.extend_from_slice(&[0x40 | high, low]),
        _ => return Err(EncodeError::Code(code)),
    }
    out.extend_from_slice(id.as_bytes());
    Ok(())
}

/// Appends the head of a message or response in one packet.
pub fn append_head(head: &Head<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let layout = Layout::of(head)?;
    append_start(head, layout.size, out);
    layout.append(head, out);
    Ok(())
}

/// Appends the first packet of a message or response whose head comes in pieces, continued by [`append_continue`]. All
/// pieces together are what [`append_body`] appends, split anywhere. No other packet of the message may come between
/// them.
pub fn append_begin(head: &Head<'_>, piece: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    append_start(head, packet_size(piece.len())?, out);
    out.extend_from_slice(piece);
    Ok(())
}

/// Appends a further piece of the head of the current channel's message.
pub fn append_continue(piece: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    append_size(0x60, packet_size(piece.len())?, out);
    out.extend_from_slice(piece);
    Ok(())
}

/// Appends the body of a message's packet, without the fields before it.
pub fn append_body(head: &Head<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    Layout::of(head)?.append(head, out);
    Ok(())
}

/// Appends the fields that precede `size` bytes of the current channel's data.
pub fn append_data_head(size: u32, out: &mut Vec<u8>) {
    append_size(0xe0, size, out);
}

/// Appends the fields that precede `size` bytes of the current channel's stream.
pub fn append_stream_head(size: u32, out: &mut Vec<u8>) {
    append_size(0x70, size, out);
}

/// Appends the fields that precede `size` bytes of a file of the current channel's message.
pub fn append_file_head(index: u32, size: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let code = index_code(index)?;
    append_size(0xc0 | code, size, out);
    append_uint(index.into(), FILE_INDEX.of(code), out);
    Ok(())
}

/// Appends the end of a file of the current channel's message.
pub fn append_file_end(index: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let code = index_code(index)?;
    out.push(0xd0 | code);
    append_uint(index.into(), FILE_INDEX.of(code), out);
    Ok(())
}

/// Appends all data of the current channel's message, in as many packets as necessary.
pub fn append_payload(data: &[u8], out: &mut Vec<u8>) {
    let mut rest = data;
    while !rest.is_empty() {
        let size = data_packet_bytes(u64::try_from(rest.len()).unwrap_or(u64::MAX));
        let (piece, behind) =
            rest.split_at(usize::try_from(size).map_or(0, |size| size.min(rest.len())));
        append_data_head(size, out);
        out.extend_from_slice(piece);
        rest = behind;
    }
}

/// Returns the size of the next packet of data when `left` bytes are still to be sent: all of them up to 1 MiB,
/// otherwise 1 MiB, so that other packets can come between. The last packet has at least 64 KiB, because sockety-js,
/// which reads at most 64 KiB, loses data if one read returns the last packet together with another.
pub fn data_packet_bytes(left: u64) -> u32 {
    if left < u64::from(DATA_PACKET) + u64::from(LAST_DATA_PACKET) {
        u32::try_from(left).unwrap_or(DATA_PACKET)
    } else {
        DATA_PACKET
    }
}

const DATA_PACKET: u32 = 1 << 20;
const LAST_DATA_PACKET: u32 = 64 << 10;

/// The widths of the fields of a body, and its size.
struct Layout {
    flags: u8,
    size: u32,
}

impl Layout {
    #[inline]
    fn of(head: &Head<'_>) -> Result<Self, EncodeError> {
        let Head {
            data_size, files, ..
        } = head;
        let mut size = size_of::<u8>() + size_of::<Id>();
        let mut flags = 0;
        match head.subject {
            Subject::Parent(_) => size += size_of::<Id>(),
            Subject::Action(action) => {
                let code = u8::from(action.len() > u8::MAX.into());
                if action.len() > u16::MAX.into() {
                    return Err(EncodeError::ActionTooLong(action.len()));
                }
                flags |= code << 1;
                size += TEXT_LENGTH.of(code) + action.len();
            }
        }
        let code = DATA_SIZE.code(*data_size);
        let code = code.ok_or(EncodeError::TooBig(*data_size))?;
        flags |= code << 6;
        size += DATA_SIZE.of(code);
        if files.count() > 0 {
            let count = FILES_COUNT.code(files.count().into());
            let count = count.ok_or(EncodeError::FileIndex(files.count()))?;
            let total = FILES_TOTAL.code(files.total_size());
            let total = total.ok_or(EncodeError::TooBig(files.total_size()))?;
            flags |= count << 4 | total << 2;
            size += FILES_COUNT.of(count) + FILES_TOTAL.of(total) + files.headers().len();
        }
        let size = packet_size(size)?;
        Ok(Self { flags, size })
    }

    #[inline]
    fn append(&self, head: &Head<'_>, out: &mut Vec<u8>) {
        let Self { flags, size } = *self;
        out.reserve(usize::try_from(size).unwrap_or_default());
        out.push(flags);
        match head.subject {
            Subject::Parent(parent) => {
                out.extend_from_slice(parent.as_bytes());
                out.extend_from_slice(head.id.as_bytes());
            }
            Subject::Action(action) => {
                out.extend_from_slice(head.id.as_bytes());
                let length = u64::try_from(action.len()).unwrap_or_default();
                append_uint(length, TEXT_LENGTH.of(flags >> 1 & 1), out);
                out.extend_from_slice(action.as_bytes());
            }
        }
        append_uint(head.data_size, DATA_SIZE.of(flags >> 6), out);
        if head.files.count() > 0 {
            append_uint(head.files.count().into(), FILES_COUNT.of(flags >> 4), out);
            append_uint(head.files.total_size(), FILES_TOTAL.of(flags >> 2), out);
            out.extend_from_slice(head.files.headers());
        }
    }
}

/// Appends the first byte of a message or response, and the size of the part of the body in this packet.
#[inline]
fn append_start(head: &Head<'_>, size: u32, out: &mut Vec<u8>) {
    let kind = match head.subject {
        Subject::Action(_) => 0x20,
        Subject::Parent(_) => 0x50,
    };
    let bits = u8::from(head.has_stream) << 1 | u8::from(head.expects_response);
    append_size(kind | bits, size, out);
}

/// Appends the first byte, with the width of the size in it, and the size.
#[inline]
fn append_size(first: u8, size: u32, out: &mut Vec<u8>) {
    let code = PACKET_SIZE.code(size.into()).unwrap_or(0b11);
    out.push(first | code << 2);
    append_uint(size.into(), PACKET_SIZE.of(code), out);
}

/// Converts a number of bytes to the size of a packet.
pub(super) fn packet_size(bytes: usize) -> Result<u32, EncodeError> {
    let too_long = |_| EncodeError::PacketTooLong(u64::try_from(bytes).unwrap_or(u64::MAX));
    u32::try_from(bytes).map_err(too_long)
}

fn index_code(index: u32) -> Result<u8, EncodeError> {
    FILE_INDEX
        .code(index.into())
        .ok_or(EncodeError::FileIndex(index))
}
