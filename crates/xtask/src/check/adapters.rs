//! I3: an adapter imports the contract, its own files and the ground, and HTTP if it is an endpoint; nothing else of
//! the gateway, and no other adapter. Code that two adapters need lies outside `crates/gateway/src/adapter`, or the
//! registry in `adapter/mod.rs` passes it in. Tests may import anything.

use std::collections::BTreeSet;

use super::modules::is_ground;
use crate::finding::Finding;
use crate::rust_code::identifier;
use crate::rust_imports::RustFile;
use crate::tree::{SourceFile, Tree};

const SRC: &str = "crates/gateway/src/";
const FOLDER: &str = "crates/gateway/src/adapter/";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files: Vec<Part<'_>> = tree.rust().filter_map(Part::read).collect();
    let is_protocol = |part: &&Part<'_>| part.names_protocol();
    let protocols: BTreeSet<&str> = files.iter().filter(is_protocol).map(|of| of.own).collect();
    files
        .iter()
        .flat_map(|part| part.findings(protocols.contains(part.own)))
        .collect()
}

/// A file of an adapter.
struct Part<'t> {
    source: &'t SourceFile,
    /// The adapter's name: `websocket` for `adapter/websocket.rs` and `adapter/websocket/upgrade.rs`.
    own: &'t str,
    /// The number of modules from the file's own, included, up to `adapter`.
    depth: usize,
    file: RustFile,
}

impl<'t> Part<'t> {
    fn read(source: &'t SourceFile) -> Option<Self> {
        let path = source.path.strip_prefix(FOLDER)?;
        let own = identifier(path);
        let below = path.trim_end_matches(".rs").trim_end_matches("/mod");
        (own != "mod").then(|| Self {
            source,
            own,
            depth: below.split('/').count(),
            file: RustFile::read(&source.code),
        })
    }

    /// Whether the adapter is a protocol of listeners.
    fn names_protocol(&self) -> bool {
        let mut imports = self.file.imports.iter();
        imports.any(|import| import.path == ["crate", "contract", "Protocol"])
    }

    fn findings(&self, is_protocol: bool) -> Vec<Finding> {
        let imports = self.file.imports.iter().map(|it| (&it.path, it.at));
        let paths = self.file.paths.iter().map(|it| (&it.parts, it.at));
        let all = imports.chain(paths);
        all.filter_map(|(path, at)| {
            let problem = self.problem(path, is_protocol)?;
            let line = self.source.line_at(at);
            Some(Finding::error(&self.source.path, line, problem))
        })
        .collect()
    }

    /// What is wrong with a path, if anything is.
    fn problem(&self, path: &[String], is_protocol: bool) -> Option<String> {
        let own = self.own;
        let part = |at: usize| path.get(at).map_or("", String::as_str);
        let adapter = match part(0) {
            "crate" => match part(1) {
                "adapter" => 2,
                "contract" => return None,
                "http" if !is_protocol => return None,
                "http" => {
                    return Some(format!(
                        "adapter {own} is a protocol of its own and names HTTP (I3)"
                    ));
                }
                module if is_ground(SRC, module) => return None,
                module => {
                    return Some(format!(
                        "adapter {own} names {module}: what it needs of the gateway is in contract.rs (I3)"
                    ));
                }
            },
            "self" | "super" => {
                let named = path
                    .iter()
                    .take_while(|name| *name == "self" || *name == "super");
                let at = named.count();
                let ups = path[..at].iter().filter(|name| *name == "super").count();
                if ups < self.depth {
                    return None;
                }
                at
            }
            _ => return None,
        };
        (part(adapter) != own).then(|| {
            let other = part(adapter);
            format!("adapter {own} names {other} of the registry: adapters meet only there (I3)")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESP: &str = "crates/gateway/src/adapter/resp.rs";
    const INNER: &str = "crates/gateway/src/adapter/resp/parse.rs";

    fn lines(path: &str, code: &str) -> Vec<usize> {
        let text = format!("//! A.\n{code}\n");
        let tree = Tree::of(&[
            ("crates/gateway/src/adapter/sse.rs", "//! A.\n"),
            ("crates/gateway/src/adapter/websocket/mod.rs", "//! A.\n"),
            (
                "crates/gateway/src/adapter/mod.rs",
                "//! The registry.\nuse self::sse;\nuse crate::adapter::websocket;\nuse crate::shard::Shard;\n",
            ),
            (path, &text),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn an_adapter_that_names_another_or_the_registry_is_found() {
        for (path, code) in [
            (RESP, "use crate::adapter::sse::Route;"),
            (RESP, "use super::websocket;"),
            (RESP, "use crate::adapter::{Endpoint, resp};"),
            (RESP, "fn a() { super::websocket::answer(); }"),
            (INNER, "use crate::adapter::sse;"),
            (INNER, "use super::super::sse;"),
            (INNER, "const A: usize = crate::adapter::LENGTH;"),
        ] {
            assert_eq!(lines(path, code), [2], "{code}");
        }
    }

    #[test]
    fn an_import_outside_the_contract_is_found() {
        for code in [
            "use crate::shard::Shard;",
            "use crate::socket::Session;",
            "use crate::{contract::Peer, hub::Hub};",
            "fn a(hub: &crate::hub::Hub) {}",
            "use crate::Gateway;",
        ] {
            assert_eq!(lines(RESP, code), [2], "{code}");
        }
    }

    #[test]
    fn its_own_parts_the_contract_and_the_ground_are_fine() {
        for (path, code) in [
            (INNER, "use super::Key; use super::super::resp::A;"),
            (INNER, "use crate::adapter::resp::Key;"),
            (
                RESP,
                "use crate::contract::{self, Protocol}; use self::parse::A;",
            ),
            (
                RESP,
                "use crate::limits::A; use crate::sync::Mutex; use std::fmt;",
            ),
            (RESP, "use crate::http::{Answer, Endpoint};"),
            (RESP, "#[cfg(test)] mod tests { use crate::shard::Shard; }"),
        ] {
            assert!(lines(path, code).is_empty(), "{code}");
        }
    }

    #[test]
    fn a_protocol_must_not_import_http() {
        let code = "use crate::contract::Protocol;\nuse crate::http::Answer;";
        assert_eq!(lines(RESP, code), [3]);
    }
}
