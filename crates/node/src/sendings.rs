//! The messages that one JavaScript thread sends in parts, by number. Checks that texts are UTF-8; posts nothing itself.

use std::cell::RefCell;
use std::collections::HashMap;

use millrace_gateway::{Kind, Sending};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Sendings(RefCell<HashMap<u32, Message>>);

/// A message that has not ended.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) sending: Sending,
    text: Text,
}

/// A text of which parts were checked.
#[derive(Debug, Default)]
struct Text {
    /// The beginning of a character whose rest has not come.
    begun: Vec<u8>,
}

impl Sendings {
    pub(crate) fn add(&self, number: u32, sending: Sending) {
        let text = Text::default();
        self.0
            .borrow_mut()
            .insert(number, Message { sending, text });
    }

    /// Calls `work` with a message; `None`: it has ended.
    pub(crate) fn with<R>(&self, number: u32, work: impl FnOnce(&mut Message) -> R) -> Option<R> {
        self.0.borrow_mut().get_mut(&number).map(work)
    }

    /// Removes a message.
    pub(crate) fn take(&self, number: u32) -> Option<Message> {
        self.0.borrow_mut().remove(&number)
    }

    /// Removes all messages.
    pub(crate) fn take_all(&self) -> Vec<Message> {
        let all = self.0.take();
        all.into_values().collect()
    }
}

impl Message {
    /// Whether a part may follow the parts so far.
    pub(crate) fn takes(&mut self, kind: Kind, part: &[u8]) -> bool {
        kind == Kind::Binary || self.text.takes(part)
    }

    /// Whether it may end here.
    pub(crate) fn may_end(&self) -> bool {
        self.text.begun.is_empty()
    }
}

impl Text {
    fn takes(&mut self, part: &[u8]) -> bool {
        let mut rest = part;
        while !self.begun.is_empty()
            && let Some((next, behind)) = rest.split_first()
        {
            self.begun.push(*next);
            rest = behind;
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return false,
            }
        }
        match std::str::from_utf8(rest) {
            Ok(_) => true,
            Err(error) if error.error_len().is_none() => {
                let begun = rest.get(error.valid_up_to()..).unwrap_or_default();
                self.begun.extend_from_slice(begun);
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_be_cut_anywhere_but_must_be_valid() {
        let text = "a\u{e9}\u{20ac}\u{1f980}b".as_bytes();
        for cut in 0..=text.len() {
            for second in cut..=text.len() {
                let mut checked = Text::default();
                for part in [&text[..cut], &text[cut..second], &text[second..]] {
                    assert!(checked.takes(part), "{part:?}");
                }
                assert!(checked.begun.is_empty());
            }
        }
        let mut unfinished = Text::default();
        assert!(unfinished.takes(b"\xe2\x82"));
        assert!(!unfinished.begun.is_empty());
        assert!(!unfinished.takes(b"a"));
        for invalid in [&b"\xff"[..], b"\xc0\x80", b"\xed\xa0\x80", b"\x80"] {
            assert!(!Text::default().takes(invalid), "{invalid:?}");
        }
    }
}
