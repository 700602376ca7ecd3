//! Contents that came and that the worker has no room for yet. Owns their order and how much there is of them.

use std::collections::VecDeque;

use ahash::AHashMap;

use crate::contract::TransferId;

/// Those of one connection.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    bodies: AHashMap<TransferId, Body>,
    bytes: usize,
}

/// What waits of one transfer. There is something, or its end is.
#[derive(Debug, Default)]
struct Body {
    /// Few are short: what comes goes to the last while that is.
    pieces: VecDeque<Vec<u8>>,
    ended: bool,
}

impl Waiting {
    /// Bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Whether something of this transfer waits, and so everything of it has to.
    pub(super) fn has(&self, id: TransferId) -> bool {
        !self.bodies.is_empty() && self.bodies.contains_key(&id)
    }

    /// More of a transfer, and whether that is the last.
    pub(super) fn push(&mut self, id: TransferId, bytes: &[u8], last: bool) {
        let body = self.bodies.entry(id).or_default();
        body.ended |= last;
        self.bytes += bytes.len();
        match body.pieces.back_mut() {
            Some(piece) if piece.len() + bytes.len() <= PIECE_BYTES => {
                piece.extend_from_slice(bytes);
            }
            _ if bytes.is_empty() => {}
            _ => body.pieces.push_back(bytes.to_vec()),
        }
    }

    /// The next piece of a transfer, of at most so many bytes, and whether it is the last; a last one may have none. `None`:
    /// nothing waits, or nothing may be taken.
    pub(super) fn take(&mut self, id: TransferId, most: usize) -> Option<(Vec<u8>, bool)> {
        let body = self.bodies.get_mut(&id)?;
        let piece = match body.pieces.pop_front() {
            None => Vec::new(),
            Some(mut piece) if piece.len() > most => {
                if most == 0 {
                    body.pieces.push_front(piece);
                    return None;
                }
                let rest = piece.split_off(most);
                body.pieces.push_front(rest);
                piece
            }
            Some(piece) => piece,
        };
        self.bytes -= piece.len();
        let is_last = body.pieces.is_empty() && body.ended;
        if body.pieces.is_empty() {
            self.bodies.remove(&id);
        }
        Some((piece, is_last))
    }

    /// Nobody wants the rest of a transfer.
    pub(super) fn drop_all(&mut self, id: TransferId) {
        if let Some(body) = self.bodies.remove(&id) {
            self.bytes -= body.pieces.iter().map(Vec::len).sum::<usize>();
        }
    }
}

/// A longer piece begins another.
const PIECE_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const ID: TransferId = TransferId::new(64);
    const OTHER: TransferId = TransferId::new(128);

    fn taken(waiting: &mut Waiting, most: usize) -> Option<(Vec<u8>, bool)> {
        waiting.take(ID, most)
    }

    #[test]
    fn what_waits_leaves_in_order_and_in_pieces() {
        let mut waiting = Waiting::default();
        waiting.push(ID, b"abc", false);
        waiting.push(OTHER, b"x", false);
        waiting.push(ID, b"def", true);
        assert_eq!(waiting.bytes(), 7);
        assert_eq!(taken(&mut waiting, 0), None);
        assert_eq!(taken(&mut waiting, 4), Some((b"abcd".to_vec(), false)));
        assert_eq!(taken(&mut waiting, 4), Some((b"ef".to_vec(), true)));
        assert!(!waiting.has(ID) && waiting.has(OTHER));
        assert_eq!(taken(&mut waiting, 4), None);
        assert_eq!(waiting.bytes(), 1);
    }

    #[test]
    fn an_end_without_a_byte_waits_behind_what_came_before() {
        let mut waiting = Waiting::default();
        waiting.push(ID, b"abc", false);
        waiting.push(ID, b"", true);
        assert_eq!(taken(&mut waiting, 9), Some((b"abc".to_vec(), true)));
        waiting.push(ID, b"", true);
        assert_eq!(taken(&mut waiting, 0), Some((Vec::new(), true)));
        assert!(waiting.is_empty());
    }

    #[test]
    fn short_pieces_share_a_buffer() {
        let mut waiting = Waiting::default();
        (0..=PIECE_BYTES).for_each(|_| waiting.push(ID, b"x", false));
        assert_eq!(waiting.bodies[&ID].pieces.len(), 2);
        assert_eq!(waiting.bytes(), PIECE_BYTES + 1);
        waiting.drop_all(ID);
        waiting.drop_all(OTHER);
        assert_eq!(waiting.bytes(), 0);
        assert!(waiting.is_empty());
    }
}
