//! I5: a JS thread never blocks on Rust. `crates/node` calls nothing that waits for another thread's work.

use crate::finding::Finding;
use crate::rust_code::words;
use crate::tree::Tree;

const BLOCKING: [&str; 4] = [
    "block_on",
    "blocking_recv",
    "blocking_send",
    "block_in_place",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let node = tree
        .rust()
        .filter(|file| file.path.starts_with("crates/node/src/"));
    node.flat_map(|file| {
        BLOCKING.into_iter().flat_map(move |name| {
            let message = format!("{name} would block a JS thread on Rust (I5)");
            let found = words(&file.code, name).into_iter();
            found.map(move |at| Finding::error(&file.path, file.line_at(at), message.clone()))
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_in_the_addon_is_found() {
        let text = "//! Never block_on.\nfn f() {\n    runtime.block_on(g());\n}\n";
        let findings = check(&Tree::of(&[
            ("crates/node/src/a.rs", text),
            ("crates/gateway/src/a.rs", text),
        ]));
        let places: Vec<(&str, usize)> = findings
            .iter()
            .map(|finding| (finding.path.as_str(), finding.line))
            .collect();
        assert_eq!(places, [("crates/node/src/a.rs", 3)]);
    }
}
