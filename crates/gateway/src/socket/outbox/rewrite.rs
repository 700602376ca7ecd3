//! Changes what an outbox has before its connection opens: nothing of it is written, and nothing is being compressed.

use std::sync::Arc;

use super::Outbox;
use super::backlog::{Backlog, Entry};
use crate::frame::{Frame, Ledger};

impl Outbox {
    /// Replaces the bytes of each entry, whole frames, by what `change` appends for them.
    pub(crate) fn rewrite(&mut self, ledger: &Arc<Ledger>, change: impl Fn(&[u8], &mut Vec<u8>)) {
        self.seal(ledger);
        if let Some(backlog) = self.backlog.as_deref_mut() {
            backlog.rewrite(ledger, &change);
        }
        self.drop_empty();
    }
}

impl Backlog {
    fn rewrite(&mut self, ledger: &Arc<Ledger>, change: &dyn Fn(&[u8], &mut Vec<u8>)) {
        if let Some(ahead) = &mut self.ahead {
            ahead.rewrite(ledger, change);
        }
        for entry in std::mem::take(&mut self.queue) {
            self.forget(&entry);
            let mut bytes = Vec::new();
            change(entry.frame.bytes(), &mut bytes);
            // an entry that had no bytes before marks the place of a message in parts
            if bytes.is_empty() && !entry.frame.is_empty() {
                continue;
            }
            self.push(Entry {
                asked: entry.asked.min(super::narrow(bytes.len())),
                frame: Frame::new(bytes, ledger),
                messages: entry.messages,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::*;

    /// What would be written, and what the outbox counts.
    fn state(outbox: &Outbox) -> (Vec<u8>, u64, usize) {
        let mut slices = [IoSlice::new(&[]); 16];
        let used = outbox.slices(&mut slices);
        let written = slices[..used].iter().flat_map(|slice| slice.to_vec());
        let written = written.collect();
        (written, outbox.messages(), outbox.unwritten())
    }

    fn without_dashes(sent: &[u8], out: &mut Vec<u8>) {
        out.extend(sent.iter().filter(|byte| **byte != b'-'));
    }

    #[test]
    fn entries_are_replaced_and_counted_anew() {
        let ledger = &Arc::new(Ledger::new());
        let mut outbox = Outbox::default();
        outbox.rewrite(ledger, without_dashes);
        assert!(outbox.is_empty());
        outbox.append_control(ledger, |out| out.extend_from_slice(b"--"));
        outbox.append(ledger, |out| out.extend_from_slice(b"-one"));
        outbox.seal(ledger);
        outbox.append_control(ledger, |out| out.extend_from_slice(b"--"));
        outbox.append(ledger, |out| out.extend_from_slice(b"t-wo"));
        outbox.append(ledger, |out| out.extend_from_slice(b"--"));
        outbox.rewrite(ledger, without_dashes);
        assert_eq!(state(&outbox), (b"onetwo".to_vec(), 2, 6));
        outbox.advance(6);
        assert!(outbox.is_empty());
        let mut outbox = Outbox::default();
        outbox.append_control(ledger, |out| out.extend_from_slice(b"--"));
        outbox.rewrite(ledger, without_dashes);
        assert!(outbox.is_empty(), "nothing is left");
    }

    #[test]
    fn what_waits_for_the_end_of_a_message_in_parts_is_replaced_too() {
        let ledger = &Arc::new(Ledger::new());
        let mut outbox = Outbox::default();
        outbox.append(ledger, |out| out.extend_from_slice(b"-before "));
        assert!(outbox.begin_parts(ledger));
        outbox.append_to_parts(ledger, |out| out.extend_from_slice(b"-part "));
        outbox.append(ledger, |out| out.extend_from_slice(b"-behind "));
        assert!(!outbox.begin_parts(ledger), "the next one waits");
        outbox.append(ledger, |out| out.extend_from_slice(b"-last"));
        outbox.rewrite(ledger, without_dashes);
        assert_eq!(state(&outbox).0, b"before part ");
        assert!(outbox.end_parts(), "the next one has its turn");
        assert_eq!(state(&outbox).0, b"before part behind ");
        assert!(!outbox.end_parts());
        assert_eq!(state(&outbox).0, b"before part behind last");
    }
}
