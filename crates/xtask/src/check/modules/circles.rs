//! Circular imports between the files of a crate. A module may use items of the module around it, as parts of a
//! module in files of their own do. So only modules beside each other can form a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::module_graph::{ModuleGraph, folder_of};
use crate::tree::Tree;

pub(super) fn check(tree: &Tree, src: &str) -> Vec<Finding> {
    let Some(graph) = ModuleGraph::read(tree, src) else {
        return Vec::new();
    };
    let arrows = graph.arrows();
    let beside = |(from, to): &(&str, &str)| !from.starts_with(&folder_of(to));
    let finding = |circle: BTreeSet<&str>| {
        let files: Vec<&str> = circle.into_iter().collect();
        Finding::error(
            &format!("{src}{}", files.first().unwrap_or(&"")),
            0,
            format!("a circle of imports: {} (I15)", files.join(", ")),
        )
    };
    circles(arrows.keys().copied().filter(beside))
        .into_iter()
        .map(finding)
        .collect()
}

/// The largest sets in which every file reaches every other.
fn circles<'a>(arrows: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeSet<BTreeSet<&'a str>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows {
        next.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next
        .keys()
        .map(|from| (*from, reached(from, &next)))
        .collect();
    let circle = |(from, to): (&&'a str, &BTreeSet<&'a str>)| -> BTreeSet<&'a str> {
        to.iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(from)))
            .copied()
            .collect()
    };
    reached
        .iter()
        .map(circle)
        .filter(|circle| !circle.is_empty())
        .collect()
}

fn reached<'a>(from: &str, next: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = next.get(from).cloned().unwrap_or_default();
    while let Some(file) = open.pop() {
        if seen.insert(file) {
            open.extend(next.get(file).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRC: &str = "crates/a/src/";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files
            .iter()
            .map(|(path, _)| format!("{SRC}{path}"))
            .collect();
        let files: Vec<(&str, &str)> = paths
            .iter()
            .map(String::as_str)
            .zip(files.iter().map(|(_, code)| *code))
            .collect();
        check(&Tree::of(&files), SRC)
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    const THREE: [(&str, &str); 5] = [
        ("lib.rs", "mod a; mod b; mod c; mod d; pub use a::A;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use super::c; pub type B = c::C;"),
        ("c.rs", "pub type C = crate::A;"),
        ("d.rs", "use crate::a::A;"),
    ];

    #[test]
    fn a_circle_is_found_with_all_its_files() {
        assert_eq!(
            found(&THREE),
            ["a circle of imports: a.rs, b.rs, c.rs (I15)"]
        );
    }

    #[test]
    fn a_part_may_use_what_is_around_it() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; use b::B; pub struct A;"),
            ("a/b.rs", "use super::A; pub struct B;"),
        ];
        assert!(found(&files).is_empty());
    }
}
