//! The comparison of secrets with what peers send.

use std::hint::black_box;

/// Compares in a time that depends only on the length of what was given.
pub(crate) fn is_equal(given: &[u8], expected: &[u8]) -> bool {
    let mut differs = u8::from(given.len() != expected.len());
    let mut others = expected.iter().cycle();
    for byte in given {
        differs |= black_box(byte ^ others.next().unwrap_or(&0));
    }
    black_box(differs) == 0
}
