//! A stream yields the same result however it is split.

use proptest::prelude::*;

use crate::seen::{inspect, small};

/// Valid and invalid streams that together cover every path through the inspector.
fn streams() -> Vec<Vec<u8>> {
    let get = "GET /a%20b?c HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n";
    let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let texts = [
        format!("{get}{post}{get}"),
        format!("\r\n{get}\r\n{post}"),
        format!("{chunked}5;ext=\"x\"\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n{get}"),
        format!("{chunked}0\r\n\r\n{chunked}1\r\na\r\n1\r\nb\r\n00\r\n\r\n"),
        format!("{chunked}5\r\nhelloX"),
        format!("{chunked}0\r\nA: b\r\nHost: x\r\n\r\n"),
        format!("{chunked}0\r\nA: b\nC: d\r\n\r\n"),
        format!("{chunked}0\r\nA: {}", "b".repeat(400)),
        format!("{get}GET / HTTP/1.1\nHost: x\n\n"),
        format!("{get}GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "p".repeat(60)),
        format!("GET / HTTP/1.1\r\nA: {}\r\nB c\r\n\r\n", "b".repeat(400)),
        format!("GET / HTTP/1.1\r\nA b: {}\r\n\r\n", "b".repeat(400)),
        format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(12)),
        format!("GET / HTTP/1.1\r\nHost: x\r\nA b: {}", "b".repeat(200)),
        format!("{}/ HTTP/1.1\r\n\r\n", "GET".repeat(120)),
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello".into(),
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n".into(),
        format!(
            "{get}GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nframes"
        ),
    ];
    let mut streams: Vec<Vec<u8>> = texts.map(String::into_bytes).into();
    streams.push(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec());
    streams
}

#[test]
fn split_once_at_every_position() {
    for stream in streams() {
        let whole = inspect(&small(), [&stream[..]]);
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(
                inspect(&small(), [first, second]),
                whole,
                "{} split at {cut}",
                stream.escape_ascii()
            );
        }
    }
}

#[test]
fn in_pieces_of_every_size() {
    for stream in streams() {
        let whole = inspect(&small(), [&stream[..]]);
        for stride in 1..=17 {
            assert_eq!(
                inspect(&small(), stream.chunks(stride)),
                whole,
                "{} in {stride}s",
                stream.escape_ascii()
            );
        }
    }
}

/// A stream in which one byte is replaced by another.
fn slipped() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop::sample::select(streams());
    let byte = prop::sample::select(b"\r\n\0 \t:;,0aA%/?\x7f\xff".to_vec());
    (stream, any::<prop::sample::Index>(), byte, 0..4u8).prop_map(|(mut stream, at, byte, kind)| {
        let at = at.index(stream.len());
        match kind {
            0 => drop(stream.remove(at)),
            1 => stream.insert(at, byte),
            2 => stream[at] = byte,
            _ => {}
        }
        stream
    })
}

proptest! {
    #[test]
    fn streams_with_a_wrong_byte_in_random_reads(
        stream in slipped(),
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
    ) {
        let whole = inspect(&small(), [&stream[..]]);
        cuts.sort_by_key(|cut| cut.index(stream.len() + 1));
        let mut reads = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts {
            let taken = stream.len() - rest.len();
            let (read, after) = rest.split_at(cut.index(stream.len() + 1) - taken);
            reads.push(read);
            rest = after;
        }
        reads.push(rest);
        prop_assert_eq!(inspect(&small(), reads), whole);
    }
}
