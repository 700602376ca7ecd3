//! Contents that have arrived and for which the worker has no room yet. Owns their order and their total size.

use std::collections::VecDeque;

use ahash::AHashMap;

use crate::contract::{FIRST_CREDIT, TransferId};

/// The waiting contents of one connection.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    bodies: AHashMap<TransferId, Body>,
    bytes: usize,
}

/// The waiting contents of one transfer: at least one byte, or its end.
#[derive(Debug, Default)]
struct Body {
    /// All pieces but the last have the full length of a piece.
    pieces: VecDeque<Vec<u8>>,
    ended: bool,
}

impl Body {
    /// Appends what fits into the last piece, and returns the rest.
    fn append<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let has_room = self
            .pieces
            .back()
            .is_some_and(|piece| piece.len() < PIECE_BYTES);
        if !has_room {
            self.pieces.push_back(Vec::new());
        }
        let Some(piece) = self.pieces.back_mut() else {
            return bytes;
        };
        let (now, rest) = bytes.split_at(bytes.len().min(PIECE_BYTES - piece.len()));
        let needed = piece.len() + now.len();
        if needed > piece.capacity() {
            // doubles the capacity, up to the length of a piece
            let capacity = needed.max(piece.capacity() * 2).min(PIECE_BYTES);
            piece.reserve_exact(capacity - piece.len());
        }
        piece.extend_from_slice(now);
        rest
    }
}

impl Waiting {
    /// The bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Whether something of this transfer waits: then everything that follows has to wait, too.
    pub(super) fn has(&self, id: TransferId) -> bool {
        !self.bodies.is_empty() && self.bodies.contains_key(&id)
    }

    /// Adds more of a transfer, and whether that is the last of it.
    pub(super) fn push(&mut self, id: TransferId, bytes: &[u8], last: bool) {
        let body = self.bodies.entry(id).or_default();
        body.ended |= last;
        self.bytes += bytes.len();
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = body.append(rest);
        }
    }

    /// Takes the next piece of a transfer if it has at most this many bytes, and whether it is the last one, which may
    /// be empty. `None`: nothing waits, or the next piece is too long.
    pub(super) fn take(&mut self, id: TransferId, most: usize) -> Option<(Vec<u8>, bool)> {
        let body = self.bodies.get_mut(&id)?;
        let piece = match body.pieces.front() {
            Some(piece) if piece.len() > most => return None,
            _ => body.pieces.pop_front().unwrap_or_default(),
        };
        self.bytes -= piece.len();
        let is_last = body.pieces.is_empty() && body.ended;
        if body.pieces.is_empty() {
            self.bodies.remove(&id);
        }
        Some((piece, is_last))
    }

    /// Drops the rest of a transfer.
    pub(super) fn drop_all(&mut self, id: TransferId) {
        if let Some(body) = self.bodies.remove(&id) {
            self.bytes -= body.pieces.iter().map(Vec::len).sum::<usize>();
        }
    }
}

/// The longest piece: a worker that has read everything it was sent has room for one.
const PIECE_BYTES: usize = FIRST_CREDIT - 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const ID: TransferId = TransferId::new(64);
    const OTHER: TransferId = TransferId::new(128);

    fn taken(waiting: &mut Waiting, most: usize) -> Option<(Vec<u8>, bool)> {
        waiting.take(ID, most)
    }

    #[test]
    fn waiting_contents_leave_in_order_and_in_whole_pieces() {
        let mut waiting = Waiting::default();
        let bytes: Vec<u8> = (0..=250).cycle().take(PIECE_BYTES + 3).collect();
        let (first, second) = bytes.split_at(PIECE_BYTES);
        waiting.push(ID, &bytes, false);
        waiting.push(OTHER, b"x", false);
        waiting.push(ID, b"end", true);
        assert_eq!(waiting.bytes(), PIECE_BYTES + 7);
        assert_eq!(taken(&mut waiting, PIECE_BYTES - 1), None);
        assert_eq!(
            taken(&mut waiting, PIECE_BYTES),
            Some((first.to_vec(), false))
        );
        assert_eq!(taken(&mut waiting, 5), None);
        let last = [second, b"end"].concat();
        assert_eq!(taken(&mut waiting, 6), Some((last, true)));
        assert!(!waiting.has(ID) && waiting.has(OTHER));
        assert_eq!(taken(&mut waiting, 4), None);
        assert_eq!(waiting.bytes(), 1);
    }

    #[test]
    fn an_empty_end_waits_behind_earlier_bytes() {
        let mut waiting = Waiting::default();
        waiting.push(ID, b"abc", false);
        waiting.push(ID, b"", true);
        assert_eq!(taken(&mut waiting, 9), Some((b"abc".to_vec(), true)));
        waiting.push(ID, b"", true);
        assert_eq!(taken(&mut waiting, 0), Some((Vec::new(), true)));
        assert!(waiting.is_empty());
    }

    #[test]
    fn short_pieces_share_a_buffer_that_is_never_longer_than_one_piece() {
        let mut waiting = Waiting::default();
        for _ in 0..=PIECE_BYTES {
            waiting.push(ID, b"x", false);
            let held = waiting.bodies[&ID].pieces.iter().map(Vec::capacity);
            assert!(held.sum::<usize>() <= (2 * waiting.bytes()).min(PIECE_BYTES + 1));
        }
        assert_eq!(waiting.bodies[&ID].pieces.len(), 2);
        assert_eq!(waiting.bytes(), PIECE_BYTES + 1);
        waiting.drop_all(ID);
        waiting.drop_all(OTHER);
        assert_eq!(waiting.bytes(), 0);
        assert!(waiting.is_empty());
    }
}
