//! The beginning of an answer's head: status line, headers, and the length of the body.

use std::io::Write as _;

use crate::http::simple::ReadyHead;

/// Appends everything but the headers about the connection, and our date. Returns whether there is a date already.
pub(super) fn append(head: &ReadyHead, length: usize, out: &mut Vec<u8>) -> bool {
    match head {
        ReadyHead::Lines(lines) => {
            out.extend_from_slice(lines);
            false
        }
        ReadyHead::Checked(head) => {
            let has_date = head.append_lines(out);
            out.extend_from_slice(b"content-length: ");
            write!(out, "{length}").expect("a Vec takes everything");
            out.extend_from_slice(b"\r\n");
            has_date
        }
    }
}
