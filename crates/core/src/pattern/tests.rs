//! Redis's rules, including its unusual ones, and the bound on the work.

use super::*;
use proptest::prelude::*;

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    Pattern::new(pattern).unwrap().matches(name)
}

#[test]
fn patterns_follow_the_rules_of_redis() {
    for (pattern, yes, no) in [
        ("a", &["a"][..], &["", "b", "aa"][..]),
        ("*", &["a", "abc", "*"], &[]),
        ("**", &["a", "abc"], &[]),
        ("a*", &["a", "ab", "a*"], &["", "ba"]),
        ("*a", &["a", "ba", "aa"], &["", "ab"]),
        ("a*b", &["ab", "axb", "abb"], &["a", "b", "abx"]),
        ("a*b*c", &["abc", "axbxc", "abbcc"], &["acb", "ab"]),
        ("*ab*", &["ab", "xaby", "aab"], &["a", "ba", "axb"]),
        ("?", &["a", "?"], &["", "ab"]),
        ("a?c", &["abc", "a?c"], &["ac", "abbc"]),
        ("*?", &["a", "ab"], &[]),
        ("?*", &["a", "ab"], &[]),
        ("a*?c", &["abc", "abbc"], &["ac"]),
        ("[abc]", &["a", "b", "c"], &["d", "", "ab"]),
        ("[a-c]x", &["ax", "cx"], &["dx", "x"]),
        ("[c-a]x", &["ax", "bx", "cx"], &["dx"]),
        ("[^a-c]", &["d", "^"], &["a", ""]),
        ("[a^]", &["a", "^"], &["b"]),
        ("[\\]]", &["]"], &["\\", "["]),
        ("[\\^a]", &["^", "a"], &["\\"]),
        ("[a\\-c]", &["a", "-", "c"], &["b"]),
        ("[", &[], &["[", "a"]),
        ("[a", &["a"], &["[", "[a"]),
        ("[^", &["a", "^"], &[]),
        ("[]", &[], &["]", "a"]),
        ("[]a]", &[], &["a", "]a]", "a]"]),
        ("[^]", &["a", "]"], &[]),
        ("[a-]", &["a", "]", "^"], &["-", "b"]),
        ("[a-]b]", &["a", "]", "_", "b"], &["-", "ab]"]),
        ("[\\", &["\\"], &["["]),
        ("\\*", &["*"], &["a", "\\*"]),
        ("\\a\\?", &["a?"], &["ab"]),
        ("a\\", &["a\\"], &["a"]),
        ("h[ae]llo*", &["hello", "hallo!"], &["hillo"]),
        ("news.*", &["news.", "news.art"], &["news", "newsx"]),
    ] {
        for name in yes {
            assert!(
                matches(pattern.as_bytes(), name.as_bytes()),
                "{pattern} {name}"
            );
        }
        for name in no {
            assert!(
                !matches(pattern.as_bytes(), name.as_bytes()),
                "{pattern} {name}"
            );
        }
    }
}

#[test]
fn only_the_empty_pattern_matches_the_empty_name() {
    assert!(matches(b"", b""));
    for pattern in ["*", "**", "?", "[^a]", "a", "*a*"] {
        assert!(!matches(pattern.as_bytes(), b""), "{pattern}");
    }
    assert!(!matches(b"", b"a"));
}

#[test]
fn patterns_are_bytes() {
    assert!(matches(b"\xff?[\x80-\xfe]", b"\xff\x00\x90"));
    assert!(!matches(b"?", "\u{e9}".as_bytes()));
    assert!(matches(b"[\x00-\xff]", b"\x80"));
}

#[test]
fn the_literal_beginning_is_known() {
    for (text, literal) in [
        ("room:*", "room:"),
        ("ro\\*om?", "ro*om"),
        ("*", ""),
        ("abc", "abc"),
        ("a[b]c", "a"),
        ("a\\", "a\\"),
    ] {
        let pattern = Pattern::new(text.as_bytes()).unwrap();
        assert_eq!(pattern.literal(), literal.as_bytes(), "{text}");
    }
}

#[test]
fn a_pattern_has_at_most_1024_bytes() {
    assert!(Pattern::new(&[b'*'; 1024]).is_ok());
    assert_eq!(
        Pattern::new(&[b'*'; 1025]).unwrap_err(),
        PatternError::TooLong { given: 1025 }
    );
}

#[test]
fn a_search_stops_after_its_bound_of_steps() {
    let part = |length| format!("*{}b*", "a".repeat(length));
    let name = |length| ["a".repeat(length), "bc".to_owned()].concat();
    let gives_up = |part: String, name: String| !matches(part.as_bytes(), name.as_bytes());
    assert!(
        gives_up(part(1000), name(60_000)),
        "60 million steps are over the bound"
    );
    assert!(
        !gives_up(part(10), name(60_000)),
        "less than a million steps are within it"
    );
    for length in 1..255 {
        assert!(
            !gives_up(part(length), name(254)),
            "a short name is within the bound"
        );
    }
    let many = "*a?".repeat(300) + "*";
    assert!(matches(many.as_bytes(), name(60_000).as_bytes()));
    assert!(!matches((many + "d*").as_bytes(), name(60_000).as_bytes()));
}

/// Redis's own recursive algorithm, as its comments describe it.
fn naive(pattern: &[u8], name: &[u8]) -> bool {
    if name.is_empty() {
        return pattern.is_empty();
    }
    match pattern {
        [] => false,
        [b'*', rest @ ..] => {
            rest.iter().all(|byte| *byte == b'*')
                || (0..name.len()).any(|start| naive(rest, &name[start..]))
        }
        _ => {
            let mut behind = pattern;
            let one = match pattern[0] {
                b'?' => One::Any,
                b'[' => {
                    behind = &behind[1..];
                    let one = set(&mut behind);
                    return one.is(name[0]) && naive_behind(behind, &name[1..]);
                }
                b'\\' if pattern.len() > 1 => {
                    behind = &behind[1..];
                    One::Byte(pattern[1])
                }
                byte => One::Byte(byte),
            };
            one.is(name[0]) && naive_behind(&behind[1..], &name[1..])
        }
    }
}

fn naive_behind(pattern: &[u8], name: &[u8]) -> bool {
    if name.is_empty() {
        return pattern.iter().all(|byte| *byte == b'*');
    }
    naive(pattern, name)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_recursive_matcher(
        pattern in prop::collection::vec(prop::sample::select(&b"ab*?[]^-\\"[..]), 0..12),
        name in prop::collection::vec(prop::sample::select(&b"ab]-^"[..]), 0..10),
    ) {
        prop_assert_eq!(matches(&pattern, &name), naive(&pattern, &name));
    }

    #[test]
    fn any_text_is_a_pattern(text in prop::collection::vec(any::<u8>(), 0..64), name in prop::collection::vec(any::<u8>(), 0..64)) {
        Pattern::new(&text).unwrap().matches(&name);
    }
}
