//! Incomplete heads: how far a head is parsed, and the bytes of a head that came in several pieces.
//!
//! Parses every byte once, however the input is split. Never allocates for an announced size.

use super::config::DecoderConfig;
use super::contents::{Contents, Files};
use super::error::DecodeError;
use super::files::FileHeader;
use super::head::{Front, Head};
use super::packet::Start;

/// How far a head is parsed. Does not hold its bytes.
#[derive(Debug)]
pub(super) struct Scan {
    start: Start,
    front: Option<Front>,
    /// The number of bytes parsed.
    at: usize,
    /// The number of bytes that its packets have announced.
    announced: usize,
    /// The files whose headers are parsed.
    files: Files,
}

impl Scan {
    pub(super) fn new(start: Start) -> Self {
        Self {
            start,
            front: None,
            at: 0,
            announced: 0,
            files: Files::default(),
        }
    }

    /// Records that a further packet of the head has so many bytes. `room` is how much the head may count.
    #[inline]
    pub(super) fn announce(
        &mut self,
        size: u32,
        config: &DecoderConfig,
        room: usize,
    ) -> Result<(), DecodeError> {
        let announced = usize::try_from(size)
            .ok()
            .and_then(|size| self.announced.checked_add(size))
            .filter(|announced| *announced <= config.head_bytes);
        self.announced = announced.ok_or(DecodeError::HeadTooBig(size))?;
        within(self.charge(), room)
    }

    /// Continues to parse `bytes`, which are all bytes received of the head. Returns whether the head is complete.
    #[inline]
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        config: &DecoderConfig,
        room: usize,
    ) -> Result<bool, DecodeError> {
        if self.front.is_none() {
            self.front = Front::parse(self.start, bytes);
            self.begin(bytes, config)?;
        }
        let Some(front) = &self.front else {
            return Ok(false);
        };
        let files = front.files;
        let mut understood = u32::try_from(self.files.count()).unwrap_or(u32::MAX);
        while understood < files {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some(file) = FileHeader::parse(rest) else {
                return Ok(false);
            };
            if simdutf8::basic::from_utf8(file.name).is_err() {
                return Err(DecodeError::FileName(understood));
            }
            self.files.push(file.size);
            self.at += file.length;
            within(charge_of(self.announced, self.files.count()), room)?;
            understood += 1;
        }
        if self.at < self.announced {
            return Err(DecodeError::BodyTooLong);
        }
        Ok(true)
    }

    /// Parses all fields before the headers of files, if they have come.
    #[inline]
    fn begin(&mut self, bytes: &[u8], config: &DecoderConfig) -> Result<(), DecodeError> {
        let Some(front) = &self.front else {
            return Ok(());
        };
        if simdutf8::basic::from_utf8(front.action(bytes)).is_err() {
            return Err(DecodeError::Action);
        }
        if front.files > config.files {
            return Err(DecodeError::TooManyFiles(front.files));
        }
        self.at = usize::try_from(front.length).unwrap_or(usize::MAX);
        Ok(())
    }

    /// Returns the head in `bytes`, for which [`Scan::advance`] has returned true.
    #[inline]
    pub(super) fn head<'a>(&self, bytes: &'a [u8]) -> Option<Head<'a>> {
        Some(self.front.as_ref()?.head(self.start, bytes))
    }

    /// Returns the contents that the message must have, when its head is complete.
    #[inline]
    pub(super) fn take_contents(&mut self) -> Contents {
        let data_size = self.front.as_ref().map_or(0, |front| front.data_size);
        let files = std::mem::take(&mut self.files);
        Contents::new(data_size, self.start.has_stream, files)
    }

    fn charge(&self) -> usize {
        charge_of(self.announced, self.files.count())
    }
}

/// How much a head counts. This depends on the announced sizes, so it is the same however the input is split.
fn charge_of(announced: usize, files: usize) -> usize {
    most_capacity(announced)
        .saturating_add(HEAD_CHARGE)
        .saturating_add(files_charge(files))
}

/// The most bytes that are allocated for a head of which so many bytes are announced: the next power of two. With an
/// exact capacity, each packet of one byte would cause a copy of the head.
fn most_capacity(announced: usize) -> usize {
    match announced {
        0 => 0,
        _ => announced.checked_next_power_of_two().unwrap_or(usize::MAX),
    }
}

fn within(charge: usize, room: usize) -> Result<(), DecodeError> {
    if charge > room {
        return Err(DecodeError::TooMuchPending);
    }
    Ok(())
}

/// How much the files of a message in progress count.
pub(super) fn files_charge(files: usize) -> usize {
    match files {
        0 => 0,
        files => files
            .saturating_mul(FILE_CHARGE)
            .saturating_add(LIST_CHARGE),
    }
}

/// What an incomplete head counts in addition to its bytes.
const HEAD_CHARGE: usize = 160;

/// What a file counts: twice the size of its counter, because a growing list doubles its capacity.
const FILE_CHARGE: usize = 16;

/// What a list of files counts in addition to its files.
const LIST_CHARGE: usize = 48;

/// An incomplete head.
#[derive(Debug)]
pub(super) struct Partial {
    scan: Scan,
    /// The bytes received.
    held: Vec<u8>,
    /// The bytes of files that came before the rest of the head.
    early: usize,
}

const _: () = assert!(
    size_of::<Partial>() <= HEAD_CHARGE,
    "HEAD_CHARGE covers this value"
);

impl Partial {
    /// Makes a head of which these bytes were received. Allocates nothing if there are none.
    pub(super) fn new(scan: Scan, bytes: &[u8]) -> Self {
        Self {
            scan,
            held: bytes.to_vec(),
            early: 0,
        }
    }

    /// Records that a further packet of the head has so many bytes.
    pub(super) fn announce(
        &mut self,
        size: u32,
        config: &DecoderConfig,
        room: usize,
    ) -> Result<(), DecodeError> {
        let room = room.saturating_sub(self.early);
        self.scan.announce(size, config, room)
    }

    /// Takes further bytes of the head. Returns whether it is complete.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        config: &DecoderConfig,
        room: usize,
    ) -> Result<bool, DecodeError> {
        let least = self.held.len().saturating_add(bytes.len());
        if least > self.held.capacity() {
            let doubled = self.held.capacity().saturating_mul(2);
            let wanted = doubled.min(most_capacity(self.scan.announced)).max(least);
            self.held.reserve_exact(wanted - self.held.len());
        }
        self.held.extend_from_slice(bytes);
        self.scan
            .advance(&self.held, config, room.saturating_sub(self.early))
    }

    pub(super) fn head(&self) -> Option<Head<'_>> {
        self.scan.head(&self.held)
    }

    pub(super) fn take_contents(&mut self) -> Contents {
        self.scan.take_contents()
    }

    /// The files that are known so far; `None` if there are none.
    pub(super) fn files(&mut self) -> Option<&mut Files> {
        Some(&mut self.scan.files).filter(|files| files.count() > 0)
    }

    /// Counts a packet of a file that came before the rest of the head.
    pub(super) fn take_early(&mut self, size: u32, room: usize) -> Result<(), DecodeError> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        self.early = self.early.saturating_add(size);
        within(self.charge(), room)
    }

    /// How much the head counts against `pending_bytes`.
    pub(super) fn charge(&self) -> usize {
        self.scan.charge().saturating_add(self.early)
    }

    /// The number of bytes received.
    pub(super) fn received(&self) -> usize {
        self.held.len()
    }

    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Self>() + self.held.capacity() + self.scan.files.held_bytes()
    }
}
