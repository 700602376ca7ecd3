//! Which terms of the application a channel has: the first of a list of patterns that matches its name. Owns the
//! patterns; never knows what the terms say.

use std::sync::Arc;

use crate::id::TermsIndex;
use crate::pattern::Pattern;

/// The patterns of all terms, in order.
pub(crate) type TermsList = Arc<Vec<Pattern>>;

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
