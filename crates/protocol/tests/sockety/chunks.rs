//! An input split at every position yields the same items.

use millrace_protocol::sockety::DecoderConfig;
use proptest::prelude::*;

use crate::seen::{decode_all, hex};
use crate::vectors::{Vector, vectors};

/// Valid and invalid streams that together cover every path through the decoder.
fn streams() -> Vec<Vec<u8>> {
    let others = [
        "e2 0001 20 11 00 U a0 30 P 60 02 01 61 b0",
        "e3 20 11 00 U 01 50 21 40 P U 60 01 02 e0 02 6f6b 00 60 02 01 61",
        "e3 20 1a 10 U 01 66 02 0200 00 02 01 62 c0 02 6869 d0 60 04 00 00 01 63 d1 01 a0",
        "e3 22 1b 50 U 01 66 02 01 0200 00 02 01 62 70 01 73 01 a0 00 c0 02 6869 e0 02 6869 80 d0",
        "e3 20 26 3c U 01 66 010000 020000000000 0e 020000000000 0100 62 cf 02000000 000000 6869 d3 000000",
        "e3 20 14 40 U 01 61 03 e0 02 6869 90 20 12 00 U 01 90 90 20 13 00 U 01 61",
        "e3 1f ff 20 13 00 U 01 61 10 05 4f ff P 40 00 U",
        "e3 20 13 00 U 01 61 f0 a0",
        "e3 20 14 00 U 01 61 00 a0",
        "e3 20 13 00 U 01 ff a0",
        "e3 20 1e 10 U 01 61 02 0200 00 02 01 62 00 00 01 ff a0",
        "e3 20 1e 10 U 01 61 02 0200 00 02 01 62 00 00 01 63 d1 01 d1 01",
        "e3 20 14 40 U 01 61 03 e0 02 6869 e0 02 a0",
        "e3 2c ffffffff 00",
        "e2 0000 a0",
        "e3 20 12 00 U 01 e0",
        "e3 24 1301 00 U 00",
    ];
    let others = others.iter().map(|text| hex(text));
    let vectors = vectors().iter().map(Vector::stream).collect::<Vec<_>>();
    vectors.into_iter().chain(others).collect()
}

fn config() -> DecoderConfig {
    DecoderConfig {
        head_bytes: 5000,
        pending_bytes: 20_000,
        ..DecoderConfig::default()
    }
}

#[test]
fn split_once_at_every_position() {
    for stream in streams() {
        let whole = decode_all(&config(), [&stream[..]]);
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            let seen = decode_all(&config(), [first, second]);
            assert_eq!(seen, whole, "{stream:02x?} split at {cut}");
        }
    }
}

#[test]
fn split_twice_at_every_pair_of_positions() {
    for stream in streams().into_iter().filter(|stream| stream.len() < 80) {
        let whole = decode_all(&config(), [&stream[..]]);
        for second in 0..=stream.len() {
            for first in 0..=second {
                let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                let seen = decode_all(&config(), pieces);
                assert_eq!(seen, whole, "{stream:02x?} split at {first} and {second}");
            }
        }
    }
}

#[test]
fn in_pieces_of_every_size() {
    for stream in streams() {
        let whole = decode_all(&config(), [&stream[..]]);
        for stride in 1..=19 {
            let seen = decode_all(&config(), stream.chunks(stride));
            assert_eq!(seen, whole, "{stream:02x?} in {stride}s");
        }
    }
}

pub(crate) fn pieces<'a>(stream: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
    ends.extend([0, stream.len()]);
    ends.sort_unstable();
    ends.windows(2)
        .map(|pair| &stream[pair[0]..pair[1]])
        .collect()
}

/// Packets that are mostly almost valid, so that they are not refused by their first byte.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let packet = prop::sample::select(vec![
        "20 13 00 U 01 61",
        "20 12 00 U 01",
        "22 14 40 U 01 61 03",
        "20 1a 10 U 01 66 01 0200 00 02 01 62",
        "20 1a 10 U 01 66 02 0200 00 02 01 62",
        "50 22 40 P U 02",
        "60 01 61",
        "60 04 00 00 01 63",
        "e0 01 61",
        "e0 02 6162",
        "70 03 616263",
        "70 00",
        "80",
        "90",
        "a0",
        "b0",
        "c0 02 6869",
        "c1 01 00 69",
        "d0",
        "d1 01",
        "00",
        "01",
        "10 02",
        "30 U",
        "41 02 P",
    ]);
    let packet = (packet, any::<u8>(), any::<prop::sample::Index>(), 0..40u8);
    let packet = packet.prop_map(|(packet, byte, place, slip)| {
        let mut packet = hex(packet);
        if slip == 0 {
            let place = place.index(packet.len());
            packet[place] = byte;
        }
        packet
    });
    prop::collection::vec(packet, 0..24).prop_map(|packets| [hex("e3"), packets.concat()].concat())
}

proptest! {
    #[test]
    fn random_packets_in_random_pieces(
        stream in noise(),
        head_bytes in 15..40usize,
        pending_bytes in 150..600usize,
        enforce_file_sizes in any::<bool>(),
        cuts in prop::collection::vec(any::<usize>(), 1..12),
    ) {
        let config = DecoderConfig {
            channels: 3,
            head_bytes,
            files: 1,
            pending_bytes,
            enforce_file_sizes,
        };
        let whole = decode_all(&config, [&stream[..]]);
        prop_assert_eq!(decode_all(&config, pieces(&stream, &cuts)), whole.clone());
        prop_assert_eq!(decode_all(&config, stream.chunks(1)), whole);
    }

    #[test]
    fn any_bytes_in_random_pieces(
        stream in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(any::<usize>(), 1..12),
    ) {
        let stream = [&[0xe3][..], &stream].concat();
        let whole = decode_all(&config(), [&stream[..]]);
        prop_assert_eq!(decode_all(&config(), pieces(&stream, &cuts)), whole);
    }
}
