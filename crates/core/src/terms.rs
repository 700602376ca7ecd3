//! Which terms of the application a channel has: the first of a list of patterns that matches its name. Owns the
//! patterns and the numbers of the terms; never knows what the terms say.

use std::sync::Arc;

use crate::pattern::Pattern;

/// The number of a channel's terms, 0 to 63: their place in the list that the application gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermsIndex(u8);

impl TermsIndex {
    /// How many terms there can be.
    pub const END: u8 = 64;

    /// The terms with this number; `None` from 64 on.
    pub const fn new(index: u8) -> Option<Self> {
        if index < Self::END {
            Some(Self(index))
        } else {
            None
        }
    }

    /// The number, for indexing.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }

    /// The number as it is in a channel's id.
    pub(crate) const fn number(self) -> u8 {
        self.0
    }
}

/// The patterns of all terms, in order.
pub(crate) type TermsList = Arc<[Pattern]>;

/// The first terms whose pattern matches a channel's name.
#[inline(never)]
pub(crate) fn first_match(patterns: &[Pattern], name: &[u8]) -> Option<TermsIndex> {
    let place = patterns.iter().position(|pattern| pattern.matches(name))?;
    u8::try_from(place).ok().and_then(TermsIndex::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pattern_that_matches_counts() {
        let patterns = [b"img:*".as_slice(), b"*:1", b"x"].map(|text| Pattern::new(text).unwrap());
        let of = |name: &[u8]| first_match(&patterns, name).map(TermsIndex::get);
        assert_eq!(
            [b"img:1".as_slice(), b"x:1", b"x", b"y"].map(of),
            [Some(0), Some(1), Some(2), None]
        );
        assert_eq!(TermsIndex::new(64), None);
    }
}
