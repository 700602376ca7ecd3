//! Rule 10: no unfinished code or comment stays. A note for later contains the number of its issue.

use crate::finding::Finding;
use crate::rust_code::words;
use crate::tree::Tree;

/// Concatenated, so that this file is not a finding itself.
const NOTES: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

const MACROS: [&str; 3] = ["dbg", "todo", "unimplemented"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let notes = tree.rust().chain(tree.scripts()).flat_map(|file| {
        NOTES
            .into_iter()
            .flat_map(|note| {
                words(&file.text, note)
                    .into_iter()
                    .map(move |at| (note, at))
            })
            .filter_map(|(note, at)| {
                let has_issue = file.text[at + note.len()..].starts_with("(#");
                let message =
                    format!("{note} without an issue's number: do it, or write {note}(#123)");
                (!has_issue).then(|| Finding::error(&file.path, file.line_at(at), message))
            })
    });
    let macros = tree.rust().flat_map(|file| {
        MACROS
            .into_iter()
            .flat_map(|name| {
                words(&file.code, name)
                    .into_iter()
                    .map(move |at| (name, at))
            })
            .filter_map(|(name, at)| {
                let is_macro = file.code[at + name.len()..].starts_with('!');
                is_macro.then(|| {
                    Finding::error(&file.path, file.line_at(at), format!("{name}! left behind"))
                })
            })
    });
    notes.chain(macros).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)]))
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn notes_without_a_number_are_found() {
        for note in NOTES {
            assert_eq!(lines("a.rs", &format!("//! A.\n// {note}: later\n")), [2]);
            assert_eq!(
                lines(
                    "a.mjs",
                    &format!("// A\n// {note}(#12): later\n// {note}\n")
                ),
                [3]
            );
        }
    }

    #[test]
    fn macros_left_behind_are_found() {
        for name in MACROS {
            assert_eq!(
                lines(
                    "a.rs",
                    &format!("//! A {name}!\nfn f() {{\n    {name}!();\n}}\n")
                ),
                [3]
            );
        }
        assert!(lines("a.rs", "//! A.\nfn todo() {}\n").is_empty());
    }
}
