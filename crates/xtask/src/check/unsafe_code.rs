//! I1: `unsafe` is used only where a foreign interface needs it, and a SAFETY comment at each block states
//! the invariant that makes it sound. The addon uses it for Node-API alone, and not more often than before.

use crate::finding::Finding;
use crate::rust_code::words;
use crate::tree::{SourceFile, Tree};

const ALLOWED: [&str; 3] = ["crates/node/", "crates/sockets/", "benchmark/load/"];

/// How often the addon may use `unsafe`, which is how often it did before its threads were woken by libuv. What is not a
/// call of Node-API belongs into `crates/sockets`.
const AT_MOST: (&str, usize) = ("crates/node/", 102);

/// How many lines above a block its comment may begin: attributes and a statement of several lines may lie
/// between.
const REACH: usize = 8;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut all: Vec<Finding> = tree.rust().flat_map(findings).collect();
    all.extend(too_often(tree, AT_MOST));
    all
}

fn too_often(tree: &Tree, (folder, most): (&str, usize)) -> Option<Finding> {
    let files = tree.rust().filter(|file| file.path.starts_with(folder));
    let count: usize = files.map(|file| words(&file.code, "unsafe").len()).sum();
    let message = format!(
        "unsafe is used {count} times, and {most} is the limit: share a call of Node-API, and put other code into crates/sockets (I1)"
    );
    (count > most).then(|| Finding::error(folder, 0, message))
}

fn findings(file: &SourceFile) -> Vec<Finding> {
    let allowed = ALLOWED.iter().any(|folder| file.path.starts_with(folder));
    let judge = |at: usize| {
        let line = file.line_at(at);
        if !allowed {
            let message = "unsafe is for crates/node, crates/sockets and benchmark/load only (I1)";
            return Some(Finding::error(&file.path, line, message));
        }
        let rest = file.code[at + "unsafe".len()..].trim_start();
        let needs_comment = rest.starts_with('{') || rest.starts_with("impl");
        let message = "say in a SAFETY: comment above which invariant makes this sound";
        (needs_comment && !has_comment(file, line))
            .then(|| Finding::error(&file.path, line, message))
    };
    words(&file.code, "unsafe")
        .into_iter()
        .filter_map(judge)
        .collect()
}

fn has_comment(file: &SourceFile, line: usize) -> bool {
    let first = line.saturating_sub(REACH + 1);
    file.text
        .lines()
        .skip(first)
        .take(line - first)
        .any(|text| text.contains("SAFETY:"))
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
    fn unsafe_outside_its_crates_is_found() {
        let text = "//! No unsafe here.\n#![forbid(unsafe_code)]\nfn f() {\n    // SAFETY: none\n    unsafe { g() }\n}\n";
        assert_eq!(lines("crates/core/src/a.rs", text), [5]);
        assert!(lines("crates/node/src/a.rs", text).is_empty());
    }

    #[test]
    fn a_block_without_its_comment_is_found() {
        let text = "//! A.\nfn f() {\n    unsafe { g() }\n}\nunsafe impl Send for A {}\nunsafe extern \"C\" fn h() {}\n";
        assert_eq!(lines("crates/node/src/a.rs", text), [3, 5]);
    }

    #[test]
    fn more_unsafe_than_the_limit_of_a_folder_is_found() {
        let text = "//! A.\nfn f() {\n    // SAFETY: none\n    unsafe { g() }\n}\n";
        let paths = [
            "crates/node/src/a.rs",
            "crates/node/src/b.rs",
            "crates/sockets/src/c.rs",
        ];
        let tree = Tree::of(&paths.map(|path| (path, text)));
        let found = too_often(&tree, ("crates/node/", 1)).expect("two are more than one");
        assert!(found.message.contains("2 times"), "{found}");
        assert_eq!(too_often(&tree, ("crates/node/", 2)), None);
    }
}
