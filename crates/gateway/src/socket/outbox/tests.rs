//! Tests what waits, is counted and is dropped, case by case.

use super::*;
use crate::limits::OutboxPolicy;

#[test]
fn output_in_one_piece_can_be_written_at_once() {
    let ledger = Arc::new(Ledger::new());
    let mut outbox = Outbox::default();
    outbox.append(&ledger, |out| out.extend_from_slice(b"chunk"));
    outbox.advance_single(2, &ledger);
    assert_eq!(outbox.single(), Some(&b"unk"[..]));
    outbox.advance_single(3, &ledger);
    assert_eq!(outbox.single(), None);
    let large = Frame::new(vec![b'x'; COPY_BYTES + 1], &ledger);
    (0..2).for_each(|_| outbox.append_frame(&ledger, &large, 1));
    assert_eq!(outbox.single(), None);
    outbox.advance(COPY_BYTES + 1);
    outbox.advance_single(COPY_BYTES, &ledger);
    assert_eq!(outbox.single(), Some(&b"x"[..]));
    outbox.advance_single(1, &ledger);
    assert!(outbox.is_empty());
}

#[test]
fn the_charge_behind_is_without_what_is_being_written() {
    let ledger = ledger();
    let mut outbox = Outbox::default();
    assert_eq!(outbox.charge_behind(), 0);
    for length in [COPY_BYTES + 10, COPY_BYTES + 1] {
        let frame = Frame::new(vec![b'x'; length], &ledger);
        outbox.append_frame(&ledger, &frame, 1);
    }
    for _ in 0..2 {
        assert_eq!(outbox.charge_behind(), COPY_BYTES + 1 + ENTRY_CHARGE);
        outbox.advance(9);
    }
    outbox.advance(COPY_BYTES - 8);
    assert_eq!(outbox.charge_behind(), 0, "the second is being written");
    outbox.advance(COPY_BYTES + 1);
    assert!(outbox.is_empty() && outbox.charge_behind() == 0);
}

#[test]
fn a_large_buffer_is_not_kept_for_few_bytes() {
    let ledger = ledger();
    let mut outbox = Outbox::default();
    outbox.lend(|| Vec::with_capacity(100_000));
    text(&mut outbox, &ledger, b"little");
    outbox.advance_chunk(1, &ledger);
    assert!(ledger.held() < 1000, "{} bytes held", ledger.held());
    assert_eq!(rest(&outbox), b"ittle");
}

fn ledger() -> Arc<Ledger> {
    Arc::new(Ledger::new())
}

fn text(outbox: &mut Outbox, ledger: &Arc<Ledger>, payload: &[u8]) {
    outbox.append(ledger, |out| out.extend_from_slice(payload));
}

/// All remaining bytes, in order.
fn rest(outbox: &Outbox) -> Vec<u8> {
    let mut slices = [IoSlice::new(&[]); 64];
    let used = outbox.slices(&mut slices);
    let mut all: Vec<u8> = slices[..used]
        .iter()
        .flat_map(|slice| slice.to_vec())
        .collect();
    all.extend_from_slice(&outbox.chunk);
    all
}

#[test]
fn a_short_write_loses_and_repeats_nothing() {
    let ledger = ledger();
    let mut outbox = Outbox::default();
    text(&mut outbox, &ledger, b"abc");
    text(&mut outbox, &ledger, b"def");
    outbox.advance_chunk(4, &ledger);
    assert!(outbox.is_backlogged());
    text(&mut outbox, &ledger, b"ghi");
    outbox.append_frame(&ledger, &Frame::new(b"jkl".to_vec(), &ledger), 1);
    assert_eq!(rest(&outbox), b"efghijkl");
    outbox.advance(3);
    assert_eq!(rest(&outbox), b"hijkl");
    outbox.advance(5);
    assert!(outbox.is_empty());
    assert_eq!(outbox.charge(), 0);
    assert_eq!(ledger.held(), 0);
}

#[test]
fn large_frames_are_shared_not_copied() {
    let ledger = ledger();
    let frame = Frame::new(vec![b'x'; COPY_BYTES + 1], &ledger);
    let mut outbox = Outbox::default();
    text(&mut outbox, &ledger, b"first");
    outbox.append_frame(&ledger, &frame, 1);
    assert_eq!(outbox.entries(), 2);
    assert!(ledger.held() < 2 * frame.len());
}

#[test]
fn the_entry_being_written_does_not_count() {
    let limits = GatewayLimits {
        outbox_bytes: 10,
        outbox_frames: 1,
        ..GatewayLimits::default()
    };
    let ledger = ledger();
    let mut outbox = Outbox::default();
    outbox.append_frame(&ledger, &Frame::new(vec![0; 100_000], &ledger), 5);
    assert!(!outbox.is_over(&limits));
    outbox.advance(1);
    outbox.append_frame(&ledger, &Frame::new(vec![0; 10], &ledger), 1);
    assert!(!outbox.is_over(&limits));
    outbox.append_frame(&ledger, &Frame::new(vec![0; 1], &ledger), 1);
    assert!(outbox.is_over(&limits));
    outbox.advance(99_999);
    assert!(!outbox.is_over(&limits));
}

#[test]
fn requested_replies_do_not_count() {
    let limits = GatewayLimits {
        outbox_bytes: 1000,
        ..GatewayLimits::default()
    };
    let ledger = ledger();
    let mut outbox = Outbox::default();
    let reply = |out: &mut Vec<u8>| out.resize(out.len() + 10_000, b'r');
    text(&mut outbox, &ledger, b"message");
    outbox.append_control(&ledger, reply);
    outbox.advance_chunk(1, &ledger);
    outbox.append_control(&ledger, reply);
    text(&mut outbox, &ledger, b"message");
    assert!(outbox.charge() > 20_000 && !outbox.is_over(&limits));
    text(&mut outbox, &ledger, &[b'm'; 1000]);
    assert!(outbox.is_over(&limits));
    outbox.advance(10_007);
    assert!(outbox.is_over(&limits), "messages wait behind the reply");
    outbox.advance(10_000 + 7 + 999);
    assert_eq!((outbox.entries(), outbox.charge()), (0, 0));
    assert!(!outbox.is_over(&limits));
}

fn filled(policy: OutboxPolicy) -> (Outbox, GatewayLimits, Arc<Ledger>) {
    let limits = GatewayLimits {
        outbox_frames: 2,
        outbox_policy: policy,
        ..GatewayLimits::default()
    };
    let ledger = ledger();
    let mut outbox = Outbox::default();
    text(&mut outbox, &ledger, b"00");
    outbox.advance_chunk(1, &ledger);
    for digit in b'1'..b'6' {
        text(&mut outbox, &ledger, &[digit]);
    }
    (outbox, limits, ledger)
}

#[test]
fn the_oldest_or_newest_are_dropped_but_never_a_begun_message() {
    let (mut outbox, limits, _ledger) = filled(OutboxPolicy::DropOldest);
    assert_eq!(outbox.drop_excess(&limits), 3);
    assert_eq!(rest(&outbox), b"045");
    let (mut outbox, limits, _ledger) = filled(OutboxPolicy::DropNewest);
    assert_eq!(outbox.drop_excess(&limits), 3);
    assert_eq!(rest(&outbox), b"012");
}

#[test]
fn control_frames_are_never_dropped() {
    let (mut outbox, limits, ledger) = filled(OutboxPolicy::DropNewest);
    outbox.append_control(&ledger, |out| out.push(b'!'));
    outbox.drop_excess(&limits);
    assert_eq!(rest(&outbox), b"012!");
}

#[test]
fn a_reply_among_messages_is_never_dropped() {
    for policy in [OutboxPolicy::DropOldest, OutboxPolicy::DropNewest] {
        let limits = GatewayLimits {
            outbox_frames: 0,
            outbox_policy: policy,
            ..GatewayLimits::default()
        };
        let ledger = ledger();
        let mut outbox = Outbox::default();
        text(&mut outbox, &ledger, b"message");
        outbox.append_control(&ledger, |out| out.extend_from_slice(b"reply"));
        outbox.seal(&ledger);
        for digit in b'1'..b'4' {
            text(&mut outbox, &ledger, &[digit]);
        }
        assert_eq!(outbox.drop_excess(&limits), 3);
        assert_eq!(rest(&outbox), b"messagereply");
    }
}

#[test]
fn truncating_keeps_the_begun_message() {
    let (mut outbox, _limits, ledger) = filled(OutboxPolicy::Close);
    assert_eq!(outbox.truncate(), 5);
    outbox.append_control(&ledger, |out| out.push(b'!'));
    assert_eq!(rest(&outbox), b"0!");
}

#[test]
fn an_empty_message_waits_for_nothing() {
    let ledger = ledger();
    let mut outbox = Outbox::default();
    let empty = Frame::new(Vec::new(), &ledger);
    text(&mut outbox, &ledger, b"");
    outbox.append_frame(&ledger, &empty, 1);
    outbox.seal(&ledger);
    assert!(outbox.is_empty());
    assert_eq!(outbox.messages(), 0);

    text(&mut outbox, &ledger, b"abc");
    outbox.seal(&ledger);
    text(&mut outbox, &ledger, b"");
    outbox.append_frame(&ledger, &empty, 1);
    outbox.advance(3);
    assert!(outbox.is_empty());
    assert_eq!(outbox.messages(), 0);
}

#[test]
fn an_empty_message_is_not_counted_with_the_next_one() {
    let ledger = ledger();
    let mut outbox = Outbox::default();
    for spare in [Vec::new(), Vec::with_capacity(64)] {
        outbox.lend(|| spare);
        text(&mut outbox, &ledger, b"");
        // as at the end of a turn
        outbox.reclaim();
    }
    outbox.lend(Vec::new);
    text(&mut outbox, &ledger, b"abc");
    assert_eq!(outbox.truncate(), 1);
}
