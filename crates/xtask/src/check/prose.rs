//! Phrases that make readers stumble, in comments, texts and pages: riddles and unnatural sentences. Finds only fixed
//! phrases; the list grows with what readers report.

use crate::finding::Finding;
use crate::tree::{SourceFile, Tree};

/// A phrase in lower case, the texts after it that make it acceptable, and what to write instead. Concatenated, so that
/// this file is not a finding itself.
const PHRASES: [(&str, &[&str], &str); 10] = [
    (concat!("that is", " none"), &[" of"], NOT_ONE),
    (concat!("what is", " none"), &[" of"], NOT_ONE),
    (concat!("which is", " none"), &[" of"], NOT_ONE),
    (concat!("is to be", " said"), &[], "say who sends what"),
    (
        concat!("from there", " is none"),
        &[],
        "say what is missing",
    ),
    (concat!("owns", " that a "), &[], OWNS),
    (concat!("owns", " that the "), &[], OWNS),
    (concat!("owns", " that at "), &[], OWNS),
    (concat!("want", " of "), &[], "write \"lack of\""),
    (
        concat!("fare", "well"),
        &[],
        "write what is sent last: a close, a reply",
    ),
];

const NOT_ONE: &str = "say what is wrong with it: invalid, missing, of another kind";

/// Words for people, which do not say whether a connection, a task, a thread or a peer is meant. They are refused in the folders
/// of `REVIEWED`.
const PEOPLE: [&str; 4] = [
    concat!("who", "ever"),
    concat!("whom", "ever"),
    concat!("some", "body"),
    concat!("every", "body"),
];

const REVIEWED: [&str; 6] = [
    "benchmark/",
    "crates/",
    "examples/",
    "fuzz/",
    "js/src/",
    "scripts/",
];

const NOTHING: &[&str] = &[];

const NAME_IT: &str = "name what is meant: the peer, the task, the thread, the caller";

const OWNS: &str = "a module owns things: write a sentence about what it ensures";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files().iter().filter(|file| has_prose(file));
    files.flat_map(findings).collect()
}

/// Decisions and the changelog are included, although they are records.
fn has_prose(file: &SourceFile) -> bool {
    file.is_rust() || file.is_script() || file.is_page()
}

fn findings(file: &SourceFile) -> Vec<Finding> {
    let text = file.text.to_ascii_lowercase();
    let phrases = PHRASES.iter().copied();
    let is_reviewed = REVIEWED.iter().any(|folder| file.path.starts_with(folder));
    let people = PEOPLE.iter().filter(|_| is_reviewed);
    let people = people.map(|word| (*word, NOTHING, NAME_IT));
    let text = &*text;
    let found = phrases.chain(people).flat_map(|(phrase, unless, instead)| {
        let starts = text.match_indices(phrase).map(|(at, _)| at);
        starts
            .filter(move |at| is_whole(text, *at, phrase, unless))
            .map(move |at| (at, phrase, instead))
    });
    found
        .map(|(at, phrase, instead)| {
            let message = format!("\"{}\": {instead}", phrase.trim_end());
            Finding::error(&file.path, file.line_at(at), message)
        })
        .collect()
}

/// Whether the phrase at this place is no part of other words, and nothing follows that makes it fine.
fn is_whole(text: &str, at: usize, phrase: &str, unless: &[&str]) -> bool {
    let rest = text.get(at + phrase.len()..).unwrap_or_default();
    let is_word = rest.starts_with(|next: char| next.is_ascii_alphabetic());
    let begins = text.get(..at).unwrap_or_default();
    let is_part = begins.ends_with(|before: char| before.is_ascii_alphabetic());
    let goes_on = phrase.ends_with(' ');
    !is_part && (goes_on || !is_word) && !unless.iter().any(|one| rest.starts_with(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&Tree::of(&[(path, text)]));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn phrases_are_found_in_code_and_on_pages() {
        for (phrase, _, _) in PHRASES {
            let text = format!("//! A.\n\n/// A length {phrase}, again.\n");
            for path in ["a.rs", "a.mjs", "a.md"] {
                assert_eq!(lines(path, &text), [3], "{phrase} in {path}");
            }
            assert!(lines("a.toml", &text).is_empty());
        }
        let first = PHRASES.first().map(|(phrase, _, _)| phrase.to_uppercase());
        assert_eq!(lines("a.md", &first.unwrap_or_default()), [1]);
    }

    #[test]
    fn words_for_people_are_found_where_the_words_were_reviewed() {
        for word in PEOPLE {
            let text = format!("// wakes {word} waits\n");
            for path in ["crates/gateway/src/a.rs", "js/src/a.ts", "benchmark/a.md"] {
                assert_eq!(lines(path, &text), [1], "{word} in {path}");
            }
            assert!(lines("docs/a.md", &text).is_empty(), "{word}");
        }
    }

    #[test]
    fn plain_sentences_are_accepted() {
        for text in [
            concat!("a table that is", " none of the others'"),
            concat!("what is", " nonessential"),
            concat!("the un", "want", " of it"),
            "owns that",
        ] {
            assert!(lines("a.md", text).is_empty(), "{text}");
        }
    }
}
