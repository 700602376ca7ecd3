//! I15: inside a crate imports go downward only, floor by floor (`floors.rs`), and are not circular. An import that
//! points upward is an error unless it is in the list of those that existed when the floors were defined. An entry of
//! that list whose import is gone is an error, too, so the list only shrinks. Tests may import anything.

mod circles;
mod floors;

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::module_graph::ModuleGraph;
use crate::tree::Tree;

use floors::{Crate, MODULES};

/// The file with the tables.
const TABLES: &str = "crates/xtask/src/check/modules/floors.rs";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = MODULES.iter().flat_map(|of| floors_of(tree, of)).collect();
    for src in sources(tree) {
        findings.extend(circles::check(tree, &src));
    }
    findings
}

/// Whether a module at the root of the crate with its sources in `src` is on the lowest floor.
pub(crate) fn is_ground(src: &str, module: &str) -> bool {
    let of = MODULES.iter().find(|of| of.src == src);
    of.is_some_and(|of| of.floor(&format!("{module}.rs")) == Some(of.floors.len() - 1))
}

/// The folders with the sources of our crates.
fn sources(tree: &Tree) -> BTreeSet<String> {
    let of = |path: &str| {
        let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
        rest.starts_with("src/")
            .then(|| format!("crates/{name}/src/"))
    };
    tree.rust().filter_map(|file| of(&file.path)).collect()
}

fn floors_of(tree: &Tree, of: &Crate) -> Vec<Finding> {
    let Some(graph) = ModuleGraph::read(tree, of.src) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for file in graph.files().filter(|file| of.floor(file).is_none()) {
        let message = format!("lies on no floor: give it one in {TABLES}");
        findings.push(Finding::error(&format!("{}{file}", of.src), 0, message));
    }
    let mut listed: BTreeSet<(&str, &str)> = of.upward.iter().copied().collect();
    for ((from, to), line) in graph.arrows() {
        let (Some(here), Some(there)) = (of.floor(from), of.floor(to)) else {
            continue;
        };
        if here <= there || listed.remove(&(from, to)) {
            continue;
        }
        let message = format!(
            "imports {to}, which lies above it ({} over {}): imports go downward only (I15)",
            of.floors[there].0, of.floors[here].0,
        );
        findings.push(Finding::error(&format!("{}{from}", of.src), line, message));
    }
    for (from, to) in listed {
        let message = format!(
            "{}{from} no longer imports {to} upward: take the line out of the list",
            of.src
        );
        findings.push(Finding::error(TABLES, 0, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOORS: Crate = Crate {
        src: "crates/a/src/",
        floors: &[("face", &["lib.rs"]), ("top", &["top"]), ("low", &["low"])],
        upward: &[],
    };

    /// The findings for a crate in which `low/a.rs` has this code.
    fn messages(of: &Crate, code: &str) -> Vec<String> {
        let root = "mod top; mod low; pub use top::{self, Top};";
        let files = [
            ("crates/a/src/lib.rs", root),
            (
                "crates/a/src/top.rs",
                "use crate::low::Low; pub struct Top;",
            ),
            ("crates/a/src/low/mod.rs", "mod a; mod b; pub use a::*;"),
            ("crates/a/src/low/b.rs", "pub(super) struct B;"),
            ("crates/a/src/low/a.rs", code),
        ];
        floors_of(&Tree::of(&files), of)
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn an_import_that_points_upward_is_found() {
        let upward =
            "imports top.rs, which lies above it (top over low): imports go downward only (I15)";
        for code in [
            "use crate::top::Top;",
            "use crate::Top;",
            "use super::super::top::{Top as Other};",
            "use crate::top; fn f() { top::Top::new() }",
            "fn f() { select!(x => crate::top::Top) }",
        ] {
            assert_eq!(messages(&FLOORS, code), [upward], "{code}");
        }
    }

    #[test]
    fn imports_downward_within_a_floor_and_of_tests_are_fine() {
        for code in [
            "use super::b::B;",
            "use crate::top;",
            "#[cfg(test)] mod tests { use crate::top::Top; }",
            "use std::top::Top; use top::Top as Other;",
        ] {
            assert!(messages(&FLOORS, code).is_empty(), "{code}");
        }
    }

    #[test]
    fn a_listed_import_is_fine_until_it_is_gone() {
        let listed = Crate {
            upward: &[("low/a.rs", "top.rs")],
            ..FLOORS
        };
        assert!(messages(&listed, "use crate::Top;").is_empty());
        assert_eq!(
            messages(&listed, ""),
            [
                "crates/a/src/low/a.rs no longer imports top.rs upward: take the line out of the list"
            ]
        );
    }

    #[test]
    fn a_circle_is_found_on_every_floor() {
        let root = ("crates/gateway/src/lib.rs", "mod hub;");
        let hub = ("crates/gateway/src/hub/mod.rs", "mod a; mod b;");
        let a = (
            "crates/gateway/src/hub/a.rs",
            "use super::b::B; pub struct A;",
        );
        let found = |b| {
            let tree = Tree::of(&[root, hub, a, ("crates/gateway/src/hub/b.rs", b)]);
            let messages = check(&tree).into_iter().map(|finding| finding.message);
            messages
                .filter(|message| message.contains("circle"))
                .count()
        };
        assert_eq!(found("use super::a::A; pub struct B;"), 1);
        assert_eq!(found("pub struct B;"), 0);
    }

    #[test]
    fn a_file_without_a_floor_is_found() {
        let floors = Crate {
            floors: &[
                ("face", &["lib.rs"]),
                ("top", &["top"]),
                ("low", &["low/mod.rs", "low/a.rs"]),
            ],
            ..FLOORS
        };
        let message = messages(&floors, "pub struct Low;").concat();
        assert!(message.starts_with("lies on no floor"), "{message}");
    }

    #[test]
    fn the_crates_with_floors_exist() {
        let tree = Tree::read(&crate::root()).unwrap();
        let sources = sources(&tree);
        assert!(MODULES.iter().all(|of| sources.contains(of.src)));
    }
}
