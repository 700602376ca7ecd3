//! The queue and the notes, and their bounds.

use super::*;
use crate::config::BackplaneFull;

fn outlet(queue_messages: usize, queue_bytes: usize) -> Outlet {
    let bounds = Bounds {
        queue_messages,
        queue_bytes,
        message_bytes: 1000,
        full: BackplaneFull::default(),
    };
    let outlet = Outlet::new();
    outlet.begin(bounds);
    outlet.open();
    outlet.take_notes();
    outlet
}

fn add(outlet: &Outlet, body: &'static [u8]) -> bool {
    outlet.publish(false, b"room", Kind::Text, Bytes::from_static(body))
}

fn taken(outlet: &Outlet, messages: usize, bytes: usize) -> Vec<u64> {
    let mut into = VecDeque::new();
    outlet.take(messages, bytes, &mut into);
    into.iter().map(|message| message.stamp.number).collect()
}

#[test]
fn the_oldest_message_is_dropped_and_keeps_its_number() {
    let outlet = outlet(3, 10_000);
    let fitted: Vec<bool> = (0..5).map(|_| add(&outlet, b"hello")).collect();
    assert_eq!(fitted, [true, true, true, false, false]);
    assert_eq!(outlet.backlog().dropped, 2);
    assert_eq!(taken(&outlet, 10, 10_000), [3, 4, 5]);
    assert_eq!(outlet.backlog().bytes, 0);
}

#[test]
fn bytes_are_bounded_and_one_message_always_fits() {
    let outlet = outlet(100, 150);
    assert!(add(&outlet, &[0; 20]));
    assert!(!add(&outlet, &[0; 900]));
    assert_eq!(taken(&outlet, 10, 10_000), [2]);
    assert!(!add(&outlet, &[0; 1001]), "over the limit");
    assert_eq!(outlet.backlog().dropped, 2);
    add(&outlet, b"hello");
    assert_eq!(taken(&outlet, 10, 10_000), [4], "message 3 is missing");
    let name = vec![b'x'; LONGEST_NAME + 1];
    let body = Bytes::from_static(b"hello");
    assert!(!outlet.publish(false, &name, Kind::Text, body.clone()));
    assert!(outlet.publish(true, &name[1..], Kind::Text, body));
    assert_eq!(outlet.backlog().dropped, 3);
}

#[test]
fn a_batch_is_bounded() {
    let outlet = outlet(100, 10_000);
    for _ in 0..10 {
        add(&outlet, &[0; 100]);
    }
    assert_eq!(taken(&outlet, 2, 10_000), [1, 2]);
    assert_eq!(taken(&outlet, 10, 250), [3, 4, 5]);
    assert_eq!(taken(&outlet, 10, 1), [6]);
    outlet.abandon(1);
    assert_eq!(
        (outlet.backlog().messages, outlet.backlog().dropped),
        (0, 5)
    );
}

#[test]
fn notes_keep_the_last_change() {
    let outlet = outlet(1, 1);
    let topic = Topic::Channel((*b"a").into());
    outlet.note(topic.clone(), true);
    outlet.note(topic.clone(), false);
    let notes = outlet.take_notes();
    assert_eq!(
        notes.changes.into_iter().collect::<Vec<_>>(),
        [(topic, false)]
    );
    for index in 0..=NOTES {
        outlet.note(Topic::Channel(index.to_le_bytes().into()), true);
    }
    let notes = outlet.take_notes();
    assert!(notes.is_incomplete && notes.changes.is_empty());
    assert!(!outlet.take_notes().is_incomplete);
}

#[test]
fn notes_of_long_names_are_bounded_by_their_bytes() {
    let outlet = outlet(1, 1);
    let mut name = vec![0; 1024 * 1024];
    for index in 0..100 {
        name[0] = index;
        outlet.note(Topic::Sharded((*name).into()), true);
        let held = outlet.notes.lock().changes.len();
        assert!(held <= 16, "{held} large names are held");
    }
    assert!(outlet.take_notes().is_incomplete);
    assert!(!outlet.take_notes().is_incomplete);
}
