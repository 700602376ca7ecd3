//! The limits, and that announced lengths allocate nothing.

use millrace_protocol::resp::{Decoder, RequestError, RequestLimits};

use crate::seen::{LIMITS, decode, request};

const LARGE: RequestLimits = RequestLimits {
    argument_bytes: 16 << 20,
    unauthenticated: false,
};

#[test]
fn announced_lengths_hold_no_memory() {
    let mut decoder = Decoder::new();
    let mut feed = |mut bytes: &[u8]| {
        assert!(decoder.next(&mut bytes, &LARGE).unwrap().is_none());
        (decoder.held_bytes(), decoder.unfinished())
    };
    let (held, unfinished) = feed(b"*1048576\r\n$16777216\r\n");
    assert!(held < 100, "{held} bytes are held for a head");
    assert_eq!(unfinished, Some(21));
    for more in [1, 10, 100, 1000, 10_000] {
        let (held, unfinished) = feed(&vec![b'x'; more]);
        let received = unfinished.unwrap();
        assert!(
            held <= 2 * received + 200,
            "{held} bytes are held for {received} received ones"
        );
    }
}

#[test]
fn arguments_are_bounded_alone_and_together() {
    let seen = |bytes: &[u8]| decode(&LIMITS, [bytes]).1;
    assert_eq!(seen(&request(&[vec![0; 1000]])), None);
    assert_eq!(seen(b"*1\r\n$1001\r\n"), Some(RequestError::InvalidLength));
    assert_eq!(
        seen(b"*1\r\n$1000000000\r\n"),
        Some(RequestError::InvalidLength)
    );
    let many = vec![vec![0; 984]; 132];
    assert_eq!(seen(&request(&many)), None);
    let more = vec![vec![0; 984]; 133];
    assert_eq!(seen(&request(&more)), Some(RequestError::TooBig));
    let empty = vec![Vec::<u8>::new(); 10_000];
    assert_eq!(seen(&request(&empty)), Some(RequestError::TooBig));
}

#[test]
fn memory_is_freed_between_requests() {
    let mut decoder = Decoder::new();
    let stream = request(&vec![vec![b'x'; 900]; 100]);
    for piece in stream.chunks(999) {
        let mut input = piece;
        while decoder.next(&mut input, &LIMITS).unwrap().is_some() {}
    }
    assert!(decoder.held_bytes() <= 100, "{}", decoder.held_bytes());
    assert_eq!(decoder.unfinished(), None);
}

#[test]
fn the_length_of_lines_is_bounded_however_they_are_split() {
    let line = |length: usize| [&vec![b'a'; length][..], b"\r\n"].concat();
    let errors = |stream: &[u8]| {
        let one = decode(&LIMITS, [stream]).1;
        assert_eq!(decode(&LIMITS, stream.chunks(1000)).1, one);
        one
    };
    assert_eq!(errors(&line(65_535)), None);
    assert_eq!(errors(&line(65_536)), Some(RequestError::InlineTooBig));
    let count = [b"*", &vec![b'1'; 65_537][..]].concat();
    assert_eq!(errors(&count), Some(RequestError::CountTooLong));
    let length = [b"*1\r\n$", &vec![b'1'; 65_537][..]].concat();
    assert_eq!(errors(&length), Some(RequestError::LengthTooLong));
}

#[test]
fn unauthenticated_peers_have_lower_limits() {
    let unauthenticated = RequestLimits {
        unauthenticated: true,
        ..LARGE
    };
    let seen = |bytes: &[u8]| decode(&unauthenticated, [bytes]).1;
    assert_eq!(seen(b"*10\r\n"), None);
    assert_eq!(seen(b"*11\r\n"), Some(RequestError::UnauthenticatedCount));
    assert_eq!(seen(b"*1\r\n$16384\r\n"), None);
    assert_eq!(
        seen(b"*1\r\n$16385\r\n"),
        Some(RequestError::UnauthenticatedLength)
    );
}
