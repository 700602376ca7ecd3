//! Masking (RFC 6455 §5.3), eight bytes at a time.
//!
//! Does not know what the bytes mean, but also computes whether all of them are ASCII, because the
//! bytes are in a register anyway.

/// A masking key, applied to byte `i` of a payload as `key[i % 4]`.
pub(super) type Key = [u8; 4];

/// Masks or unmasks `bytes`, whose first byte is masked with `key[0]`. Returns whether the result is
/// all ASCII.
#[expect(
    clippy::inline_always,
    reason = "with several ways to find a head it would be a call per message"
)]
#[inline(always)]
pub(super) fn apply(bytes: &mut [u8], key: Key) -> bool {
    let word = twice(key);
    let mut seen = 0u64;
    let (words, tail) = bytes.as_chunks_mut::<8>();
    for chunk in words {
        let plain = u64::from_ne_bytes(*chunk) ^ word;
        seen |= plain;
        *chunk = plain.to_ne_bytes();
    }
    let mut seen_tail = 0u8;
    for (byte, key) in tail.iter_mut().zip(word.to_ne_bytes()) {
        *byte ^= key;
        seen_tail |= *byte;
    }
    (seen & HIGH_BITS) == 0 && seen_tail < 0x80
}

/// The key for eight bytes. Made of two halves, because the compiler would put eight bytes together one by one.
#[inline]
fn twice(key: Key) -> u64 {
    let half = u64::from(u32::from_ne_bytes(key));
    half | half << u32::BITS
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Unmasks in place. Returns the bytes and whether they are all ASCII.
#[inline]
pub(super) fn remove(bytes: &mut [u8], mask: Option<Key>) -> (&[u8], bool) {
    let ascii = match mask {
        Some(key) => apply(bytes, key),
        None => bytes.is_ascii(),
    };
    (bytes, ascii)
}

/// Appends `bytes` to `out`, masked or unmasked, in one pass instead of a copy and a second pass.
#[inline]
pub(super) fn append(out: &mut Vec<u8>, bytes: &[u8], key: Key) {
    out.reserve(bytes.len());
    if key == [0; 4] {
        out.extend_from_slice(bytes);
        return;
    }
    let word = twice(key);
    let mask = |from: [u8; 8]| (u64::from_ne_bytes(from) ^ word).to_ne_bytes();
    let (words, tail) = bytes.as_chunks::<8>();
    // blocks of eight words, which the compiler can vectorise
    let (blocks, words) = words.as_chunks::<8>();
    for block in blocks {
        out.extend_from_slice(block.map(mask).as_flattened());
    }
    for word in words {
        out.extend_from_slice(&mask(*word));
    }
    let tail = tail.iter().zip(word.to_ne_bytes());
    out.extend(tail.map(|(byte, key)| byte ^ key));
}

/// The key that has the same effect as both keys applied in turn.
#[inline]
pub(super) fn combine(one: Key, other: Key) -> Key {
    (u32::from_ne_bytes(one) ^ u32::from_ne_bytes(other)).to_ne_bytes()
}

/// The key for the bytes after the first `count` bytes.
#[inline]
pub(super) fn advance(mut key: Key, count: usize) -> Key {
    key.rotate_left(count % 4);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition_for_every_length_and_cut() {
        let key = [0x11, 0x92, 0x33, 0xf4];
        for length in 0u8..70 {
            let masked: Vec<u8> = (0..length).map(|i| i.wrapping_mul(37)).collect();
            let expected: Vec<u8> = masked
                .iter()
                .zip(key.iter().cycle())
                .map(|(byte, key)| byte ^ key)
                .collect();
            for cut in 0..=masked.len() {
                let mut bytes = masked.clone();
                let (first, second) = bytes.split_at_mut(cut);
                let ascii = apply(first, key) & apply(second, advance(key, cut));
                assert_eq!(bytes, expected, "{length} bytes cut at {cut}");
                assert_eq!(ascii, expected.is_ascii(), "{length} bytes cut at {cut}");
            }
        }
    }

    #[test]
    fn appending_equals_copying_and_masking() {
        let bytes: Vec<u8> = (0..=255).cycle().take(200).collect();
        for key in [[0; 4], [0x11, 0x92, 0x33, 0xf4], [0, 0, 0, 9]] {
            for length in 0..bytes.len() {
                let bytes = &bytes[..length];
                let mut expected = b"before".to_vec();
                expected.extend_from_slice(bytes);
                apply(&mut expected[6..], key);
                let mut out = b"before".to_vec();
                append(&mut out, bytes, key);
                assert_eq!(out, expected, "{length} bytes");
            }
        }
    }

    #[test]
    fn a_combined_key_has_the_effect_of_both() {
        let (one, other) = ([1, 20, 0, 200], [255, 3, 7, 200]);
        let mut bytes = *b"some bytes to mask";
        let mut expected = bytes;
        apply(&mut expected, one);
        apply(&mut expected, other);
        apply(&mut bytes, combine(one, other));
        assert_eq!(bytes, expected);
    }
}
