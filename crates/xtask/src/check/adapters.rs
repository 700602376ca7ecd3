//! I3: adapters do not import each other. What two of them need lies outside `crates/gateway/src/adapter`, or
//! is handed in by the registry in `adapter/mod.rs`.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::rust_code::{identifier, words};
use crate::tree::{SourceFile, Tree};

const FOLDER: &str = "crates/gateway/src/adapter/";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let names: BTreeSet<&str> = tree.rust().filter_map(adapter).collect();
    tree.rust()
        .filter_map(|file| Some((adapter(file)?, file)))
        .flat_map(|(own, file)| imports(own, file, &names))
        .collect()
}

/// The adapter a file belongs to: `websocket` for `adapter/websocket.rs` and `adapter/websocket/upgrade.rs`.
fn adapter(file: &SourceFile) -> Option<&str> {
    let name = identifier(file.path.strip_prefix(FOLDER)?);
    (name != "mod").then_some(name)
}

fn imports(own: &str, file: &SourceFile, names: &BTreeSet<&str>) -> Vec<Finding> {
    let is_top = file
        .path
        .strip_prefix(FOLDER)
        .is_some_and(|path| !path.contains('/') || path.ends_with("/mod.rs"));
    let parents: &[&str] = if is_top {
        &["adapter", "super"]
    } else {
        &["adapter"]
    };
    let mut findings = Vec::new();
    for at in parents.iter().flat_map(|parent| {
        words(&file.code, parent)
            .into_iter()
            .map(|at| at + parent.len())
    }) {
        let Some(path) = file.code[at..].strip_prefix("::") else {
            continue;
        };
        let path = path.trim_start();
        let group = path
            .strip_prefix('{')
            .map(|group| &group[..group.find('}').unwrap_or(group.len())]);
        for name in group
            .unwrap_or(path)
            .split(',')
            .map(|part| identifier(part.trim_start()))
        {
            if name != own && names.contains(name) {
                let message = format!(
                    "adapter {own} imports adapter {name}: they meet only in the registry (I3)"
                );
                findings.push(Finding::error(&file.path, file.line_at(at), message));
            }
            if group.is_none() {
                break;
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, code: &str) -> Vec<usize> {
        let text = format!("//! A.\n{code}\n");
        let tree = Tree::of(&[
            ("crates/gateway/src/adapter/http.rs", "//! A.\n"),
            ("crates/gateway/src/adapter/websocket/mod.rs", "//! A.\n"),
            (
                "crates/gateway/src/adapter/mod.rs",
                "//! The registry.\nuse self::http;\nuse crate::adapter::websocket;\n",
            ),
            (path, &text),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn an_adapter_that_imports_another_is_found() {
        let resp = "crates/gateway/src/adapter/resp.rs";
        assert_eq!(lines(resp, "use crate::adapter::http::Route;"), [2]);
        assert_eq!(lines(resp, "use super::websocket;"), [2]);
        assert_eq!(lines(resp, "use crate::adapter::{Endpoint, http};"), [2]);
        let inner = "crates/gateway/src/adapter/resp/parse.rs";
        assert_eq!(lines(inner, "use crate::adapter::http;"), [2]);
    }

    #[test]
    fn its_own_parts_and_the_contract_are_fine() {
        let own = "crates/gateway/src/adapter/websocket/upgrade.rs";
        assert!(lines(own, "use crate::adapter::websocket::Key;\nuse super::http;\nuse crate::adapter::Endpoint;").is_empty());
    }
}
