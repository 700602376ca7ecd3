//! Tests messages that are sent in parts: what is written before their end, and what waits for it.

use super::*;
use crate::limits::OutboxPolicy;

struct Parts {
    outbox: Outbox,
    ledger: Arc<Ledger>,
}

impl Parts {
    fn begun() -> Self {
        let mut parts = Self {
            outbox: Outbox::default(),
            ledger: Arc::new(Ledger::new()),
        };
        assert!(parts.outbox.begin_parts(&parts.ledger));
        parts
    }

    fn message(&mut self, bytes: &[u8]) {
        self.outbox
            .append(&self.ledger, |out| out.extend_from_slice(bytes));
    }

    fn control(&mut self, bytes: &[u8]) {
        self.outbox
            .append_control(&self.ledger, |out| out.extend_from_slice(bytes));
    }

    fn reply(&mut self, bytes: &[u8]) {
        self.outbox
            .append_reply(&self.ledger, |out| out.extend_from_slice(bytes));
    }

    fn part(&mut self, bytes: &[u8]) {
        self.outbox
            .append_to_parts(&self.ledger, |out| out.extend_from_slice(bytes));
    }

    /// Writes everything that may be written.
    fn written(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while self.outbox.is_backlogged() {
            let mut slices = [IoSlice::new(&[]); 8];
            let used = self.outbox.slices(&mut slices);
            let bytes: Vec<u8> = slices[..used]
                .iter()
                .flat_map(|slice| slice.to_vec())
                .collect();
            self.outbox.advance(bytes.len());
            all.extend(bytes);
        }
        all
    }
}

fn limits(outbox_bytes: usize, outbox_policy: OutboxPolicy) -> GatewayLimits {
    GatewayLimits {
        outbox_bytes,
        outbox_policy,
        ..GatewayLimits::default()
    }
}

#[test]
fn messages_wait_for_the_end_and_control_frames_do_not() {
    let mut parts = Parts {
        outbox: Outbox::default(),
        ledger: Arc::new(Ledger::new()),
    };
    parts.message(b"before ");
    assert!(parts.outbox.begin_parts(&parts.ledger));
    parts.message(b"behind ");
    parts.part(b"first ");
    assert_eq!(parts.written(), b"before first ");
    assert!(!parts.outbox.is_empty() && !parts.outbox.is_backlogged());
    parts.control(b"ping ");
    parts.reply(b"reply ");
    parts.part(b"last ");
    let shared = Frame::new(b"shared".to_vec(), &parts.ledger);
    parts.outbox.append_frame(&parts.ledger, &shared, 3);
    assert_eq!(parts.outbox.messages(), 4);
    assert_eq!(parts.written(), b"ping last ");
    assert!(!parts.outbox.end_parts());
    assert_eq!(parts.written(), b"behind reply shared");
    assert!(parts.outbox.is_empty());
    drop(shared);
    assert_eq!(parts.ledger.held(), 0);
}

#[test]
fn two_messages_in_parts_follow_each_other() {
    let mut parts = Parts::begun();
    assert!(!parts.outbox.begin_parts(&parts.ledger));
    parts.message(b"between ");
    assert!(!parts.outbox.begin_parts(&parts.ledger));
    parts.message(b"last");
    parts.part(b"one ");
    assert!(parts.outbox.end_parts(), "the second one has its turn");
    assert_eq!(parts.written(), b"one ");
    parts.part(b"two ");
    assert!(parts.outbox.end_parts(), "the third one has its turn");
    assert_eq!(parts.written(), b"two between ");
    assert!(!parts.outbox.end_parts());
    assert_eq!(parts.written(), b"last");
    assert!(parts.outbox.is_empty());
}

#[test]
fn what_waits_is_charged_and_what_may_be_written_is_known_apart() {
    let mut parts = Parts::begun();
    parts.part(b"12345");
    parts.message(b"123");
    assert_eq!(parts.outbox.charge(), 8 + 2 * ENTRY_CHARGE);
    assert_eq!(parts.outbox.charge_of_parts(), 5 + ENTRY_CHARGE);
    assert_eq!((parts.outbox.entries(), parts.outbox.unwritten()), (2, 8));
    parts.outbox.advance(2);
    assert_eq!(parts.outbox.charge_of_parts(), 3 + ENTRY_CHARGE);
    parts.written();
    assert_eq!(parts.outbox.charge(), 3 + ENTRY_CHARGE);
    assert_eq!(parts.outbox.charge_of_parts(), 0);
}

#[test]
fn parts_do_not_count_against_the_limit_and_what_waits_does() {
    let limits = limits(100, OutboxPolicy::Close);
    let mut parts = Parts::begun();
    (0..3).for_each(|_| parts.part(&[b'x'; 200]));
    assert!(!parts.outbox.is_over(&limits));
    parts.written();
    parts.message(&[b'x'; 100]);
    assert!(!parts.outbox.is_over(&limits));
    parts.message(b"x");
    assert!(
        parts.outbox.is_over(&limits),
        "nothing is being written, and it is too much"
    );
    parts.part(b"part");
    assert!(parts.outbox.is_over(&limits));
}

#[test]
fn a_policy_drops_messages_and_no_part() {
    for (policy, left) in [
        (OutboxPolicy::DropOldest, &b"part|33"[..]),
        (OutboxPolicy::DropNewest, b"part|11"),
    ] {
        let limits = limits(70, policy);
        let mut parts = Parts::begun();
        parts.part(b"part");
        parts.control(b"|");
        for message in [b"11", b"22", b"33"] {
            parts.message(message);
        }
        assert!(parts.outbox.is_over(&limits));
        assert_eq!(parts.outbox.drop_excess(&limits), 2);
        assert!(!parts.outbox.end_parts());
        assert_eq!(parts.written(), left);
    }
}

#[test]
fn messages_before_the_parts_are_older_than_those_behind() {
    let limits = limits(80, OutboxPolicy::DropOldest);
    let mut parts = Parts {
        outbox: Outbox::default(),
        ledger: Arc::new(Ledger::new()),
    };
    for message in [b"0", b"1", b"2"] {
        parts.message(message);
        parts.outbox.seal(&parts.ledger);
    }
    parts.outbox.begin_parts(&parts.ledger);
    parts.part(b"p");
    parts.message(b"3");
    assert_eq!(parts.outbox.drop_excess(&limits), 2);
    parts.outbox.end_parts();
    assert_eq!(parts.written(), b"0p3");
}

#[test]
fn a_cut_drops_what_waits() {
    let mut parts = Parts::begun();
    parts.part(b"part ");
    parts.message(b"one");
    assert!(!parts.outbox.begin_parts(&parts.ledger));
    parts.message(b"two");
    assert_eq!(parts.outbox.cut_parts(), 2);
    parts.control(b"close");
    assert_eq!(parts.written(), b"part close");
    assert!(parts.outbox.is_empty());
    assert_eq!(parts.outbox.cut_parts(), 0);
    let mut parts = Parts::begun();
    parts.message(b"one");
    assert_eq!(parts.outbox.cut_parts(), 1);
    assert!(parts.outbox.is_empty());
    assert_eq!(parts.ledger.held(), 0);
}

#[test]
fn a_truncated_outbox_is_no_longer_in_parts() {
    let mut parts = Parts::begun();
    parts.part(b"part");
    parts.outbox.advance(1);
    parts.part(b"never");
    parts.message(b"one");
    assert_eq!(parts.outbox.truncate(), 1);
    assert_eq!(parts.outbox.cut_parts(), 0);
    parts.control(b"|close");
    assert_eq!(parts.written(), b"art|close");
}

#[test]
fn a_message_that_is_being_compressed_keeps_its_place() {
    let mut parts = Parts::begun();
    let late = Late::new();
    let plain = Frame::new(b"plain text ".to_vec(), &parts.ledger);
    parts.message(b"one ");
    parts
        .outbox
        .append_late(&parts.ledger, &plain, late.clone());
    parts.message(b"two ");
    parts.part(b"part ");
    assert!(parts.outbox.has_lates() && !parts.outbox.is_parked());
    assert_eq!(parts.written(), b"part ");
    assert!(!parts.outbox.is_backlogged(), "everything else waits");
    assert!(!parts.outbox.end_parts());
    assert!(parts.outbox.has_lates());
    let made = Frame::new(b"short ".to_vec(), &parts.ledger);
    let _shards = late.fill(Some(made), None);
    parts.outbox.settle(&late, &parts.ledger);
    assert!(!parts.outbox.has_lates());
    assert_eq!(parts.written(), b"one short two ");
}

#[test]
fn a_message_that_is_compressed_meanwhile_needs_no_place_any_more() {
    let mut parts = Parts::begun();
    let (early, late) = (Late::new(), Late::new());
    let plain = Frame::new(b"plain text ".to_vec(), &parts.ledger);
    for one in [&early, &late] {
        parts.outbox.append_late(&parts.ledger, &plain, one.clone());
    }
    let made = Frame::new(b"early ".to_vec(), &parts.ledger);
    let _shards = early.fill(Some(made), None);
    parts.outbox.settle(&early, &parts.ledger);
    assert!(!parts.outbox.begin_parts(&parts.ledger));
    parts.message(b"last");
    assert!(parts.outbox.end_parts());
    let _shards = late.fill(None, None);
    parts.outbox.settle(&late, &parts.ledger);
    assert_eq!(parts.written(), b"early plain text ");
    parts.part(b"part ");
    assert!(!parts.outbox.end_parts());
    assert_eq!(parts.written(), b"part last");
    assert!(parts.outbox.is_empty());
}
