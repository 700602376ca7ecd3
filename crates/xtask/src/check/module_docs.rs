//! Rule 3: every Rust module opens with `//!`: what it owns, what it never does.

use crate::finding::Finding;
use crate::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let silent = tree.rust().filter(|file| !file.text.starts_with("//! "));
    let message = "open the module with `//!`: what it owns, what it never does";
    silent
        .map(|file| Finding::error(&file.path, 1, message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_its_first_sentence_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "//! Owns a.\n"),
            ("b.rs", "use std::fmt;\n"),
            ("c.rs", "// Plain.\n"),
            ("d.rs", ""),
        ]);
        let paths: Vec<String> = check(&tree)
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        assert_eq!(paths, ["b.rs", "c.rs", "d.rs"]);
    }
}
