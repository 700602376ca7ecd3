//! Masking keys of the frames that one session sends to its targets (RFC 6455 §5.3): unpredictable, and fetched from
//! the system's randomness in blocks.

use crate::contract::random;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Masks {
    /// Unused keys; empty until the first key is needed.
    keys: Vec<[u8; 4]>,
}

impl Masks {
    /// A key that was not used before.
    pub(super) fn next(&mut self) -> [u8; 4] {
        if self.keys.is_empty() {
            self.keys.resize(KEYS, [0; 4]);
            // a system without randomness has no TLS either, so no session has been opened there
            let _taken = random(self.keys.as_flattened_mut());
        }
        self.keys.pop().unwrap_or_default()
    }
}

/// Keys per block: a system call for each message would cost as much as the rest of the relaying.
const KEYS: usize = 64;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_not_used_again() {
        let mut masks = Masks::default();
        let keys = std::iter::repeat_with(|| masks.next()).take(1000);
        let keys: HashSet<_> = keys.collect();
        assert!(keys.len() > 990, "{} of 1000", keys.len());
    }
}
