//! Publications that a store of histories has, and the replies behind them: they are sent in the order of the commands, each
//! when the store has answered. Pure.

use std::collections::VecDeque;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// Of the last publication.
    number: u32,
    due: VecDeque<Due>,
}

/// A reply that is not sent yet.
#[derive(Debug)]
enum Due {
    /// The store has not answered.
    Waits {
        number: u32,
        /// What is answered if it succeeds.
        deliveries: u32,
        /// The client wants no reply.
        is_silent: bool,
    },
    Ready(Vec<u8>),
}

impl Stored {
    /// A number for a publication.
    pub(super) fn next(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// The store has the last publication, which so many subscribers of this node may get.
    pub(super) fn wait(&mut self, deliveries: usize, is_silent: bool) {
        let due = Due::Waits {
            number: self.number,
            deliveries: u32::try_from(deliveries).unwrap_or(u32::MAX),
            is_silent,
        };
        self.due.push_back(due);
    }

    /// Whether a reply is due.
    pub(super) fn waits(&self) -> bool {
        !self.due.is_empty()
    }

    /// Whether another publication may wait as well.
    pub(super) fn has_room(&self) -> bool {
        self.due.len() < MOST_DUE
    }

    /// Appends a reply behind those that are due.
    pub(super) fn push(&mut self, reply: Vec<u8>) {
        self.due.push_back(Due::Ready(reply));
    }

    /// Writes the reply to the publication with this number, if it waits for one, and returns all replies that can be sent
    /// now. `write` gets the number of deliveries.
    pub(super) fn answer(
        &mut self,
        number: u32,
        write: impl FnOnce(u32, &mut Vec<u8>),
    ) -> Option<Vec<u8>> {
        let (due, deliveries, is_silent) = self.due.iter_mut().find_map(|due| match *due {
            Due::Waits {
                number: waits,
                deliveries,
                is_silent,
            } if waits == number => Some((due, deliveries, is_silent)),
            _ => None,
        })?;
        let mut reply = Vec::new();
        if !is_silent {
            write(deliveries, &mut reply);
        }
        *due = Due::Ready(reply);
        let mut ready = Vec::new();
        while let Some(Due::Ready(reply)) = self.due.front() {
            ready.extend_from_slice(reply);
            self.due.pop_front();
        }
        Some(ready)
    }
}

/// The most publications of a connection that wait for the store.
const MOST_DUE: usize = 128;

/// Whether input that begins here is a publication as clients send it, or nothing: then the commands before need not be
/// answered first.
pub(super) fn may_publish(input: &[u8]) -> bool {
    let begin = input.get(..PUBLICATION.len());
    input.is_empty() || begin.is_some_and(|begin| begin.eq_ignore_ascii_case(PUBLICATION))
}

const PUBLICATION: &[u8] = b"*3\r\n$7\r\nPUBLISH\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn text(deliveries: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{deliveries} ").as_bytes());
    }

    #[test]
    fn replies_are_sent_in_the_order_of_the_commands_and_once() {
        let mut stored = Stored::default();
        let plain = stored.next();
        assert_eq!(stored.answer(plain, text), None, "it does not wait");
        assert!(!stored.waits());
        let first = stored.next();
        stored.wait(1, false);
        stored.push(b"error ".to_vec());
        let second = stored.next();
        stored.wait(2, false);
        let silent = stored.next();
        stored.wait(3, true);
        assert_eq!(stored.answer(second, text).as_deref(), Some(&b""[..]));
        assert_eq!(stored.answer(second, text), None);
        assert_eq!(
            stored.answer(first, text).as_deref(),
            Some(&b"1 error 2 "[..])
        );
        assert!(stored.waits());
        assert_eq!(stored.answer(silent, text).as_deref(), Some(&b""[..]));
        assert!(!stored.waits());
    }

    #[test]
    fn only_so_many_publications_wait() {
        let mut stored = Stored::default();
        for _ in 0..MOST_DUE {
            assert!(stored.has_room());
            stored.next();
            stored.wait(0, false);
        }
        assert!(!stored.has_room());
        stored.answer(1, text);
        assert!(stored.has_room());
    }

    #[test]
    fn a_publication_is_known_by_its_first_bytes() {
        for input in [&b""[..], b"*3\r\n$7\r\npublish\r\n$1\r\na"] {
            assert!(may_publish(input));
        }
        for input in [
            &b"*"[..],
            b"*3\r\n$7\r\nPUBLIS",
            b"*2\r\n$4\r\nPING\r\n$9\r\n",
            b"PUBLISH a b\r\n     ",
        ] {
            assert!(!may_publish(input));
        }
    }
}
