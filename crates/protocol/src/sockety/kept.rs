//! The first bytes of a packet or of the connection header, kept while its fields are incomplete.

use super::error::DecodeError;
use super::packet;

/// The bytes kept from earlier input.
#[derive(Debug, Default)]
pub(super) struct Kept {
    length: u8,
    bytes: [u8; packet::LONGEST],
}

impl Kept {
    /// Calls `parse` with the next bytes, which may come in pieces. `None` means that all input was consumed and more
    /// is needed.
    #[inline]
    pub(super) fn next<T>(
        &mut self,
        input: &mut &[u8],
        parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.length == 0
            && let Some((value, length)) = parse(input)?
        {
            *input = input.get(length..).unwrap_or_default();
            return Ok(Some(value));
        }
        self.next_in_pieces(input, parse)
    }

    fn next_in_pieces<T>(
        &mut self,
        input: &mut &[u8],
        parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        let before = self.length();
        let (_, free) = self.bytes.split_at_mut(before);
        let added = free.len().min(input.len());
        for (to, from) in free.iter_mut().zip(*input) {
            *to = *from;
        }
        let parsed = parse(self.bytes.get(..before + added).unwrap_or_default())?;
        let taken = if let Some((_, length)) = &parsed {
            self.length = 0;
            length.saturating_sub(before)
        } else {
            self.length = u8::try_from(before + added).unwrap_or_default();
            added
        };
        *input = input.get(taken..).unwrap_or_default();
        Ok(parsed.map(|(value, _)| value))
    }

    /// The number of bytes kept.
    pub(super) fn length(&self) -> usize {
        self.length.into()
    }
}
