//! What a message holds is bounded by its bytes.

use millrace_protocol::v1::{HEADER_BYTES, Operation, decode};

use crate::operation;

#[test]
fn a_message_holds_no_more_than_its_header_has() {
    let room = HEADER_BYTES - 40;
    let names = [
        format!("\"c\":\"{}\"", "x".repeat(room)),
        format!("\"c\":\"{}\"", "\\u0061".repeat(room / 6)),
        format!("\"cb\":\"{}\"", "YWFh".repeat(room / 4)),
    ];
    for name in names {
        let header = format!(r#"{{"t":"unsub","id":1,{name}}}"#);
        assert!(header.len() <= HEADER_BYTES);
        let Operation::Unsubscribe { channel, .. } = operation(&header) else {
            panic!("an unsub");
        };
        let owned = channel.into_owned();
        assert!(!owned.is_empty() && owned.capacity() <= header.len());
    }
}

#[test]
fn a_payload_is_not_copied() {
    let message = [&b"{\"t\":\"pub\",\"c\":\"a\"}\n"[..], &vec![0xff; 100_000]].concat();
    let payload = decode(&message).unwrap().payload;
    assert!(std::ptr::eq(payload, &raw const message[20..]));
}
