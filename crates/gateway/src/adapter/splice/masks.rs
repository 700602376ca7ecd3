//! Masking keys of the frames that one session sends to its targets (RFC 6455 §5.3): unpredictable, taken from the system's
//! randomness some at a time.

use crate::contract::random;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Masks {
    /// None before the first is asked for.
    keys: Vec<[u8; 4]>,
}

impl Masks {
    /// One that was not used before.
    pub(super) fn next(&mut self) -> [u8; 4] {
        if self.keys.is_empty() {
            self.keys.resize(KEYS, [0; 4]);
            // where the system has none, there is no TLS either, and nobody was reached
            let _taken = random(self.keys.as_flattened_mut());
        }
        self.keys.pop().unwrap_or_default()
    }
}

/// Keys that are taken at a time: a call of the system for each message would cost as much as the rest of it.
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
