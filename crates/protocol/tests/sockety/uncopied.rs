//! Data whose bytes the caller of the sender sends itself.

use crate::seen::{Draft, U};
use millrace_protocol::sockety::{SendError, Sender};

#[test]
fn data_head_announces_bytes_that_the_caller_sends() {
    let payload: Vec<u8> = (0..=250).cycle().take(2_000_000).collect();
    let draft = Draft {
        data_size: 2_000_000,
        ..Draft::message(U, "d")
    };
    let (mut sender, mut copied) = (Sender::new(4), Vec::new());
    draft.with(|head| sender.begin(head, &mut copied)).unwrap();
    let mut rest = &payload[..];
    while !rest.is_empty() {
        let taken = sender.data(0, rest, &mut copied).unwrap();
        rest = &rest[taken..];
    }
    let (mut sender, mut apart) = (Sender::new(4), Vec::new());
    draft.with(|head| sender.begin(head, &mut apart)).unwrap();
    let mut rest = &payload[..];
    while sender.is_busy(0) {
        let size = usize::try_from(sender.data_head(0, &mut apart).unwrap()).unwrap();
        let (now, later) = rest.split_at(size);
        apart.extend_from_slice(now);
        rest = later;
    }
    assert!(rest.is_empty() && apart == copied);
    assert!(sender.data_head(0, &mut apart).is_err());
    // within an open packet no other packet can be appended
    draft.with(|head| sender.begin(head, &mut apart)).unwrap();
    sender.data(0, b"x", &mut apart).unwrap();
    assert_eq!(sender.data_head(0, &mut apart), Err(SendError::PacketOpen));
}
