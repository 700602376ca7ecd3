//! Notices about messages that a policy has dropped: each stands where they were, and is never dropped.

use std::sync::Arc;

use super::Outbox;
use super::backlog::{Backlog, Entry};
use super::lates::Lates;
use crate::frame::{Frame, FrameIdentity, Ledger};

/// A message that was dropped.
#[derive(Debug)]
pub(crate) struct Dropped {
    pub(crate) frame: Frame,
    pub(crate) messages: u32,
    pub(crate) spot: Spot,
}

/// Where an entry was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Whether it did not wait for the end of a message in parts, while there is one.
    pub(super) is_ahead: bool,
    pub(super) index: usize,
}

impl Outbox {
    /// Drops the oldest or the newest message, if there is one that may be dropped.
    pub(crate) fn drop_one(&mut self, oldest: bool) -> Option<Dropped> {
        let backlog = self.backlog.as_deref_mut()?;
        let (spot, entry) = if backlog.ahead.is_some() {
            backlog.drop_around_parts(oldest)?
        } else {
            // the entry that is being written stays
            let (index, entry) = backlog.drop_one(1, oldest)?;
            let is_ahead = false;
            (Spot { is_ahead, index }, entry)
        };
        Some(Dropped {
            frame: entry.frame,
            messages: entry.messages,
            spot,
        })
    }

    /// Whether this notice is directly in front of a spot, or at the end, so that it can be replaced there.
    pub(crate) fn has_notice(&self, spot: Option<Spot>, notice: &FrameIdentity) -> bool {
        let find = || {
            let (backlog, place) = self.backlog.as_deref()?.place_before(spot)?;
            Some(backlog.queue.get(place)?.frame.is(notice))
        };
        find().unwrap_or_default()
    }

    /// Puts a notice at a spot, or at the end; `replaces`: the one that it [has](Self::has_notice) there goes.
    pub(crate) fn put_notice(
        &mut self,
        (spot, replaces): (Option<Spot>, bool),
        bytes: Vec<u8>,
        ledger: &Arc<Ledger>,
    ) -> FrameIdentity {
        let frame = Frame::new(bytes, ledger);
        let identity = frame.identity();
        let entry = Entry {
            frame,
            messages: 0,
            asked: 0,
        };
        let all = self.backlog.get_or_insert_default();
        let place = all.place_before(spot).map(|(_, place)| place);
        let backlog = match (&mut all.ahead, spot) {
            (Some(ahead), Some(spot)) if spot.is_ahead => ahead,
            _ => all,
        };
        match (place.filter(|_| replaces), spot) {
            (Some(place), _) => backlog.replace(place, entry),
            (None, Some(spot)) => backlog.insert(spot.index, entry),
            (None, None) => backlog.push(entry),
        }
        identity
    }
}

impl Backlog {
    /// The queue of a spot and the index in front of it, or of the last entry; `None`: there is none that is not being
    /// written.
    fn place_before(&self, spot: Option<Spot>) -> Option<(&Self, usize)> {
        let ahead = self.ahead.as_deref();
        let queue = match spot {
            Some(spot) if spot.is_ahead => ahead?,
            _ => self,
        };
        let index = spot.map_or(queue.queue.len(), |spot| spot.index);
        let place = index.checked_sub(1)?;
        let may_be_written =
            place == 0 && (ahead.is_none() || spot.is_some_and(|spot| spot.is_ahead));
        (!may_be_written).then_some((queue, place))
    }

    fn replace(&mut self, place: usize, entry: Entry) {
        if let Some(known) = self.queue.get_mut(place) {
            self.bytes = self.bytes + entry.frame.len() - known.frame.len();
            *known = entry;
        }
    }

    fn insert(&mut self, index: usize, entry: Entry) {
        if let Some(lates) = self.lates.as_deref_mut() {
            Lates::insert(lates, index);
        }
        self.bytes += entry.frame.len();
        self.queue.insert(index.min(self.queue.len()), entry);
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::*;

    fn outbox(ledger: &Arc<Ledger>, texts: &[&str]) -> Outbox {
        let mut outbox = Outbox::default();
        for text in texts {
            outbox.seal(ledger);
            outbox.append(ledger, |out| out.extend_from_slice(text.as_bytes()));
        }
        outbox.seal(ledger);
        outbox
    }

    fn written(outbox: &Outbox) -> String {
        let mut slices = [IoSlice::new(&[]); 16];
        let used = outbox.slices(&mut slices);
        let bytes: Vec<u8> = slices[..used]
            .iter()
            .flat_map(|slice| slice.to_vec())
            .collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_notice_stands_where_messages_were_and_is_replaced_there() {
        let ledger = &Arc::new(Ledger::new());
        for (oldest, expected) in [(true, "1(2,3)45"), (false, "123(5,4)")] {
            let mut outbox = outbox(ledger, &["1", "2", "3", "4", "5"]);
            let first = outbox.drop_one(oldest).unwrap();
            let spot = oldest.then_some(first.spot);
            let text =
                |dropped: &Dropped| String::from_utf8(dropped.frame.bytes().to_vec()).unwrap();
            let notice = format!("({})", text(&first));
            let notice = outbox.put_notice((spot, false), notice.into(), ledger);
            let second = outbox.drop_one(oldest).unwrap();
            let spot = oldest.then_some(second.spot);
            assert!(outbox.has_notice(spot, &notice));
            let both = format!("({},{})", text(&first), text(&second));
            let notice = outbox.put_notice((spot, true), both.into(), ledger);
            assert_eq!(written(&outbox), expected);
            assert_eq!((outbox.messages(), outbox.unwritten()), (3, 8));
            // what is being written is not replaced
            outbox.advance(if oldest { 1 } else { 3 });
            assert!(!outbox.has_notice(spot.map(|spot| Spot { index: 1, ..spot }), &notice));
            outbox.advance(outbox.unwritten());
            assert!(outbox.is_empty());
        }
        assert_eq!(ledger.held(), 0);
    }

    #[test]
    fn a_notice_in_front_of_parts_does_not_part_them() {
        let ledger = &Arc::new(Ledger::new());
        let mut outbox = outbox(ledger, &["1", "2"]);
        assert!(outbox.begin_parts(ledger));
        outbox.append_to_parts(ledger, |out| out.push(b'<'));
        outbox.append(ledger, |out| out.push(b'3'));
        let dropped = outbox.drop_one(true).unwrap();
        let notice = outbox.put_notice((Some(dropped.spot), false), b"(2)".to_vec(), ledger);
        assert_eq!(written(&outbox), "1(2)<");
        let dropped = outbox.drop_one(true).unwrap();
        assert!(!outbox.has_notice(Some(dropped.spot), &notice));
        outbox.put_notice((Some(dropped.spot), false), b"(3)".to_vec(), ledger);
        outbox.append_to_parts(ledger, |out| out.push(b'>'));
        assert!(!outbox.end_parts());
        assert_eq!(written(&outbox), "1(2)<>(3)");
    }
}
