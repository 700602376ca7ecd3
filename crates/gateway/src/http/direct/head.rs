//! The head of an answer, with its headers in the order in which hyper writes them.

use std::io::Write as _;

use crate::http::simple::ReadyHead;

/// Appends a head: the headers of the endpoint, those `about` the connection, the length of the body, and the date unless
/// the endpoint has given one.
pub(super) fn append(
    head: &ReadyHead,
    length: usize,
    out: &mut Vec<u8>,
    about: impl FnOnce(&mut Vec<u8>),
    date: impl FnOnce(&mut Vec<u8>),
) {
    match head {
        ReadyHead::Lines(lines) => {
            out.extend_from_slice(lines);
            about(out);
            date(out);
        }
        ReadyHead::Checked(head) => {
            let is_dated = head.append_lines(out);
            about(out);
            out.extend_from_slice(b"content-length: ");
            write!(out, "{length}").expect("a Vec takes everything");
            out.extend_from_slice(b"\r\n");
            if !is_dated {
                date(out);
            }
        }
    }
    out.extend_from_slice(b"\r\n");
}
