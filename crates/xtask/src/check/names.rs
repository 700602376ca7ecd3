//! Rule 1: a module is named after its subject. A module without a proper name has no subject.

use crate::finding::Finding;
use crate::rust_code::{identifier, words};
use crate::tree::Tree;

const NAMELESS: [&str; 8] = [
    "common", "helper", "helpers", "misc", "type", "types", "util", "utils",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.rust().chain(tree.scripts());
    let of_files = files.filter_map(|file| {
        let name = file
            .path
            .split('/')
            .find_map(|part| nameless(part.split('.').next()?))?;
        Some(Finding::error(&file.path, 0, message(name)))
    });
    let of_modules = tree.rust().flat_map(|file| {
        words(&file.code, "mod").into_iter().filter_map(|at| {
            let name = nameless(identifier(file.code[at + "mod".len()..].trim_start()))?;
            Some(Finding::error(&file.path, file.line_at(at), message(name)))
        })
    });
    of_files.chain(of_modules).collect()
}

fn nameless(name: &str) -> Option<&'static str> {
    NAMELESS.into_iter().find(|nameless| *nameless == name)
}

fn message(name: &str) -> String {
    format!("\"{name}\" names no subject: name the module after what it owns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nameless_modules_are_found() {
        let tree = Tree::of(&[
            ("crates/core/src/utils.rs", "//! A.\n"),
            ("crates/core/src/common/mod.rs", "//! A.\n"),
            ("js/src/types.d.ts", "// A.\n"),
            (
                "crates/core/src/lib.rs",
                "//! A.\n// mod misc;\npub mod helpers;\n",
            ),
            ("crates/core/src/utility_pole.rs", "//! A.\nmod model;\n"),
        ]);
        let found: Vec<(String, usize)> = check(&tree)
            .into_iter()
            .map(|finding| (finding.path, finding.line))
            .collect();
        let expected = [
            ("crates/core/src/utils.rs", 0),
            ("crates/core/src/common/mod.rs", 0),
            ("js/src/types.d.ts", 0),
            ("crates/core/src/lib.rs", 3),
        ];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }
}
