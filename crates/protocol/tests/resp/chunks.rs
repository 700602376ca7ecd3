//! An input split at every position yields the same requests.

use proptest::prelude::*;

use crate::seen::{LIMITS, decode, request};

/// Valid and invalid streams that together cover every path through the decoder.
fn streams() -> Vec<Vec<u8>> {
    let long: Vec<u8> = (0..900u16).map(|i| i.to_le_bytes()[0]).collect();
    vec![
        [request(&["PING"]), request(&[&b"SET"[..], b"k", &long])].concat(),
        [request(&["", "\r\n", ""]), b"PING\r\n".to_vec()].concat(),
        b"\r\n\nset 'a b' \"\\x41\\n\"\nget k\r\n".to_vec(),
        b"*0\r\n*-1\r\n*-7\r\n*1\r\n$4\r\nPINGxxPING\r\n".to_vec(),
        b"*2\r\n$3\r\nGET\r\n$1\r\n".to_vec(),
        b"*2\r\n$3\r\nGET\r\nX1\r\n".to_vec(),
        b"*2\r\n$3\r\nGET\r\n\r\n".to_vec(),
        b"*2\r\n$3\r\nGET\r\n$1001\r\n".to_vec(),
        b"*1x\r\nPING\r\n".to_vec(),
        b"PING\r\nget \"a\r\n".to_vec(),
        b"unfinished".to_vec(),
        b"*1\r\n$4\r\nPING\rX*1\r\n$1\r\na\r\n".to_vec(),
    ]
}

#[test]
fn split_once_at_every_position() {
    for stream in streams() {
        let whole = decode(&LIMITS, [&stream[..]]);
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            let shown = String::from_utf8_lossy(&stream);
            assert_eq!(decode(&LIMITS, [first, second]), whole, "{shown} at {cut}");
        }
        assert_eq!(decode(&LIMITS, stream.chunks(1)), whole);
    }
}

#[test]
fn the_streams_contain_the_expected_requests() {
    let found: Vec<_> = streams()
        .iter()
        .map(|stream| decode(&LIMITS, [&stream[..]]).0.len())
        .collect();
    assert_eq!(found, [2, 2, 2, 2, 0, 0, 0, 0, 0, 1, 0, 2]);
}

fn pieces<'a>(stream: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
    ends.extend([0, stream.len()]);
    ends.sort_unstable();
    ends.windows(2)
        .map(|pair| &stream[pair[0]..pair[1]])
        .collect()
}

proptest! {
    #[test]
    fn encoded_requests_decode_however_they_are_split(
        requests in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6), 0..6),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let stream: Vec<u8> = requests.iter().flat_map(|one| request(one)).collect();
        prop_assert_eq!(decode(&LIMITS, pieces(&stream, &cuts)), (requests, None, None));
    }

    #[test]
    fn any_bytes_yield_the_same_however_they_are_split(
        stream in prop::collection::vec(
            prop_oneof![
                4 => prop::sample::select(b"*$0123456789\r\n'\"\\x- ".to_vec()),
                1 => any::<u8>(),
            ], 0..120),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        prop_assert_eq!(decode(&LIMITS, pieces(&stream, &cuts)), decode(&LIMITS, [&stream[..]]));
    }
}
