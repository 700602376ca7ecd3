//! The beginning of a packet: its type and the fields before its contents. Keeps no state.

use super::error::DecodeError;
use super::id::Id;
use super::width::{Cursor, FILE_INDEX, PACKET_SIZE};

/// A packet without its contents. Sizes are those of the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packet {
    Switch(u16),
    Begin(Start, u32),
    Continue(u32),
    FastReply { code: u16, id: Id },
    Data(u32),
    Stream(u32),
    StreamEnd,
    File { index: u32, size: u32 },
    FileEnd(u32),
    Abort,
    Heartbeat,
    GoAway,
}

/// The information in the first byte of a message or response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) response: bool,
    pub(super) has_stream: bool,
    pub(super) expects_response: bool,
}

/// The single byte of a heartbeat.
pub(super) const HEARTBEAT: u8 = 0xa0;

/// The most bytes of a packet's fields.
pub(super) const LONGEST: usize = 18;

/// Parses the packet at the beginning of `bytes`. Returns it with the length of its fields; `None` means that there are
/// too few bytes. [`LONGEST`] bytes are always enough.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Packet, usize)>, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let Some(first) = cursor.byte() else {
        return Ok(None);
    };
    if first >> 4 == 15 {
        return Err(DecodeError::UnknownType(first));
    }
    Ok(rest_of(first, &mut cursor).map(|packet| (packet, cursor.taken())))
}

#[inline]
fn rest_of(first: u8, cursor: &mut Cursor<'_>) -> Option<Packet> {
    Some(match first >> 4 {
        0 => Packet::Switch(u16::from(first & 15)),
        1 => Packet::Switch(twelve_bits(first, cursor)?),
        2 => Packet::Begin(start(first, false), size(first, cursor)?),
        3 => Packet::FastReply {
            code: u16::from(first & 15),
            id: cursor.id()?,
        },
        4 => Packet::FastReply {
            code: twelve_bits(first, cursor)?,
            id: cursor.id()?,
        },
        5 => Packet::Begin(start(first, true), size(first, cursor)?),
        6 => Packet::Continue(size(first, cursor)?),
        7 => Packet::Stream(size(first, cursor)?),
        8 => Packet::StreamEnd,
        9 => Packet::Abort,
        10 => Packet::Heartbeat,
        11 => Packet::GoAway,
        12 => {
            let size = size(first, cursor)?;
            let index = cursor.uint32(FILE_INDEX.of(first))?;
            Packet::File { index, size }
        }
        13 => Packet::FileEnd(cursor.uint32(FILE_INDEX.of(first))?),
        _ => Packet::Data(size(first, cursor)?),
    })
}

/// Reads a number of twelve bits, whose upper four bits are the low half of the first byte.
#[inline]
fn twelve_bits(first: u8, cursor: &mut Cursor<'_>) -> Option<u16> {
    Some(u16::from(first & 15) << 8 | u16::from(cursor.byte()?))
}

#[inline]
fn size(first: u8, cursor: &mut Cursor<'_>) -> Option<u32> {
    cursor.uint32(PACKET_SIZE.of(first >> 2))
}

#[inline]
fn start(first: u8, response: bool) -> Start {
    Start {
        response,
        has_stream: first & 0b10 != 0,
        expects_response: first & 0b01 != 0,
    }
}
