//! Which file of a crate imports which: every path is followed through `use` and re-exports to the file that
//! defines the item, so that a facade neither hides an import nor adds one. Works on names only: the types that
//! methods return and the items that macros make are unknown.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust_imports::{Import, RustFile};
use crate::tree::{SourceFile, Tree};

/// One crate.
#[derive(Debug)]
pub(crate) struct ModuleGraph<'t> {
    modules: Vec<Module<'t>>,
}

#[derive(Debug)]
struct Module<'t> {
    /// The path relative to the crate's `src`.
    path: &'t str,
    source: &'t SourceFile,
    parent: usize,
    /// The children. Two may have the same name if the platform chooses between them.
    children: Vec<(String, usize)>,
    file: RustFile,
}

/// Imports from one file to another, both relative to the crate's `src`. The value is the line of the first import.
pub(crate) type Arrows<'t> = BTreeMap<(&'t str, &'t str), usize>;

/// What a path refers to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(usize),
    /// An item in this module's file.
    Item(usize),
}

/// The names that were looked up already on the way, so that circular re-exports terminate.
type Seen = BTreeSet<(usize, String)>;

const ROOT: usize = 0;

impl<'t> ModuleGraph<'t> {
    /// Reads the crate with its sources in `src`, a path that ends with `/`; `None` if it has no root.
    pub(crate) fn read(tree: &'t Tree, src: &str) -> Option<Self> {
        let files: BTreeMap<&str, &SourceFile> = tree
            .files()
            .iter()
            .filter_map(|file| Some((file.path.strip_prefix(src)?, file)))
            .collect();
        let root = ["lib.rs", "main.rs"]
            .into_iter()
            .find_map(|name| files.get_key_value(name))?;
        let mut graph = Self {
            modules: Vec::new(),
        };
        graph.add(root.0, root.1, ROOT);
        let mut next = ROOT;
        while next < graph.modules.len() {
            for (name, path) in graph.declared(next) {
                if let Some((path, source)) = files.get_key_value(path.as_str()) {
                    let child = graph.add(path, source, next);
                    graph.modules[next].children.push((name, child));
                }
            }
            next += 1;
        }
        Some(graph)
    }

    fn add(&mut self, path: &'t str, source: &'t SourceFile, parent: usize) -> usize {
        self.modules.push(Module {
            path,
            source,
            parent,
            children: Vec::new(),
            file: RustFile::read(&source.code),
        });
        self.modules.len() - 1
    }

    /// The modules that a module declares, each with the paths that its file may have.
    fn declared(&self, module: usize) -> Vec<(String, String)> {
        let module = &self.modules[module];
        let folder = folder_of(module.path);
        let beside = module
            .path
            .rsplit_once('/')
            .map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let by_attribute = paths_by_attribute(&module.source.text);
        let mut declared = Vec::new();
        for name in &module.file.modules {
            let of_its_own = [
                format!("{folder}{name}.rs"),
                format!("{folder}{name}/mod.rs"),
            ];
            let told = by_attribute
                .iter()
                .filter(|(of, _)| of == name)
                .map(|(_, path)| format!("{beside}{path}"));
            declared.extend(
                of_its_own
                    .into_iter()
                    .chain(told)
                    .map(|path| (name.clone(), path)),
            );
        }
        declared
    }

    /// Every file that is compiled without tests.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'t str> {
        self.modules.iter().map(|module| module.path)
    }

    pub(crate) fn arrows(&self) -> Arrows<'t> {
        let mut arrows = Arrows::new();
        for (from, module) in self.modules.iter().enumerate() {
            for (targets, at) in self.reached(from) {
                for target in targets {
                    if target != from {
                        let line = module.source.line_at(at);
                        let first = arrows
                            .entry((module.path, self.modules[target].path))
                            .or_insert(line);
                        *first = line.min(*first);
                    }
                }
            }
        }
        arrows
    }

    /// The files that a file's imports and paths refer to, with lines. Naming a module is not an import, but using
    /// an item of it is. A re-export is not an import unless the item is used as well.
    fn reached(&self, from: usize) -> Vec<(Vec<usize>, usize)> {
        let file = &self.modules[from].file;
        let is_used = |import: &&Import| {
            let name = import.name.as_ref();
            !import.is_reexport || name.is_some_and(|name| file.words.contains(name))
        };
        let mut reached = Vec::new();
        for import in file.imports.iter().filter(is_used) {
            let all = import.name.is_none();
            let files = self.resolve(from, &import.path, &mut Seen::new());
            let files = files.into_iter().filter_map(|target| match target {
                Target::Item(file) => Some(file),
                Target::Module(file) => all.then_some(file),
            });
            reached.push((files.collect(), import.at));
        }
        for path in &file.paths {
            let targets = self.resolve(from, &path.parts, &mut Seen::new());
            let files = targets.into_iter().filter_map(|target| match target {
                Target::Item(file) => Some(file),
                Target::Module(module) => self.namesake(module, &path.parts),
            });
            reached.push((files.collect(), path.at));
        }
        reached
    }

    /// The file with the item that has the same name as the module beside it: code that ends in this name means the
    /// item.
    fn namesake(&self, module: usize, path: &[String]) -> Option<usize> {
        let parent = self.modules[module].parent;
        let items = &self.modules[parent].file.items;
        path.last()
            .is_some_and(|name| items.contains(name))
            .then_some(parent)
    }

    /// What a path in the module `from` refers to; nothing if it is in another crate.
    fn resolve(&self, from: usize, path: &[String], seen: &mut Seen) -> BTreeSet<Target> {
        match path.first().map(String::as_str) {
            None => BTreeSet::new(),
            Some("crate") => self.walk(ROOT, &path[1..], true, seen),
            Some("self" | "super") => self.walk(from, path, true, seen),
            Some(_) => self.walk(from, path, false, seen),
        }
    }

    /// Continues in a module. If `must` is set, a name that is not found counts as an item of this module.
    fn walk(&self, at: usize, path: &[String], must: bool, seen: &mut Seen) -> BTreeSet<Target> {
        let module = &self.modules[at];
        let Some((name, rest)) = path.split_first() else {
            return [Target::Module(at)].into();
        };
        match name.as_str() {
            "self" => return self.walk(at, rest, true, seen),
            "super" => return self.walk(module.parent, rest, true, seen),
            _ => {}
        }
        let children = module.children.iter().filter(|(child, _)| child == name);
        let mut found: BTreeSet<Target> = children
            .flat_map(|(_, child)| self.walk(*child, rest, true, seen))
            .collect();
        if !found.is_empty() {
            return found;
        }
        if module.file.items.contains(name) {
            return [Target::Item(at)].into();
        }
        if !seen.insert((at, name.clone())) {
            return BTreeSet::new();
        }
        let (named, globs): (Vec<&Import>, Vec<&Import>) = module
            .file
            .imports
            .iter()
            .filter(|import| import.name.as_ref().is_none_or(|known| known == name))
            .partition(|import| import.name.is_some());
        for import in &named {
            let path: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            found.extend(self.resolve(at, &path, seen));
        }
        if named.is_empty() {
            for import in globs {
                for target in self.resolve(at, &import.path, seen) {
                    if let Target::Module(of) = target {
                        found.extend(self.walk(of, path, false, seen));
                    }
                }
            }
        }
        // the item has another crate's path under a local name, or a macro makes it
        if found.is_empty() && (must || !named.is_empty()) {
            found.insert(Target::Item(at));
        }
        found
    }
}

/// The folder with the modules that a file declares.
pub(crate) fn folder_of(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, "mod.rs")) => format!("{folder}/"),
        None if matches!(path, "lib.rs" | "main.rs") => String::new(),
        _ => format!("{}/", path.trim_end_matches(".rs")),
    }
}

/// Parses `#[path = "…"] mod name;` to names with their paths.
fn paths_by_attribute(text: &str) -> Vec<(String, String)> {
    let after = text.split("#[path = \"").skip(1);
    let pair = |rest: &str| {
        let (path, rest) = rest.split_once("\"]")?;
        let (_, name) = rest.split_once("mod ")?;
        Some((
            crate::rust_code::identifier(name).to_owned(),
            path.to_owned(),
        ))
    };
    after.filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports of a crate with these files.
    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, code)| (format!("src/{path}"), *code))
            .collect();
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, code)| (path.as_str(), *code))
            .collect();
        let tree = Tree::of(&files);
        let graph = ModuleGraph::read(&tree, "src/").unwrap();
        graph
            .arrows()
            .into_iter()
            .map(|((from, to), line)| format!("{from}:{line} {to}"))
            .collect()
    }

    /// The imports of a facade `f` over `f/g.rs`, and of a file that uses it.
    fn through_facade(facade: &str, user: &str) -> Vec<String> {
        arrows(&[
            ("lib.rs", "mod f; mod user;"),
            ("f/mod.rs", facade),
            ("f/g.rs", "pub struct G; pub enum E { A }"),
            ("user.rs", user),
        ])
    }

    #[test]
    fn imports_are_followed_through_a_facade() {
        for facade in [
            "mod g; pub(crate) use g::{E, G};",
            "mod g; pub use self::g::*;",
            "pub(crate) mod g; pub use crate::f::g::{self as h, E, G};",
        ] {
            let got = through_facade(
                facade,
                "\nuse crate::f::{G, self};\nuse super::f as x;\nfn f() { x::E::A; }",
            );
            assert_eq!(got, ["user.rs:2 f/g.rs"], "{facade}");
        }
    }

    #[test]
    fn other_items_of_a_facade_belong_to_it() {
        let facade = "mod g; pub use bytes::Bytes; pub fn own() {} made! { pub struct Made; }";
        for user in [
            "use crate::f::Bytes;",
            "use crate::f::own;",
            "fn f() { crate::f::Made::new() }",
        ] {
            assert_eq!(
                through_facade(facade, user),
                ["user.rs:1 f/mod.rs"],
                "{user}"
            );
        }
    }

    #[test]
    fn a_re_export_is_an_import_only_if_it_is_used() {
        assert!(through_facade("mod g; pub use g::G;", "").is_empty());
        let used = through_facade("mod g; pub use g::G;\nstruct S(G);", "use crate::f;");
        assert_eq!(used, ["f/mod.rs:1 f/g.rs"]);
    }

    #[test]
    fn a_function_is_distinguished_from_a_module_of_the_same_name() {
        let root = "mod a; mod user; fn a() {}";
        let of = |user| {
            arrows(&[
                ("lib.rs", root),
                ("a.rs", "pub struct A;"),
                ("user.rs", user),
            ])
        };
        assert_eq!(of("use crate::a; fn f() { a::A }"), ["user.rs:1 a.rs"]);
        assert_eq!(of("fn f() { crate::a() }"), ["user.rs:1 lib.rs"]);
    }

    #[test]
    fn files_for_platforms_and_tests_are_known() {
        let root = "#[path = \"b/unix.rs\"]\nmod b;\n#[cfg(test)]\nmod t;\nstruct S;";
        let got = arrows(&[
            ("lib.rs", root),
            ("b/unix.rs", "use super::S;"),
            ("t.rs", "use super::S;"),
        ]);
        assert_eq!(got, ["b/unix.rs:1 lib.rs"]);
    }

    #[test]
    fn circular_re_exports_terminate() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub use super::b::*;"),
            ("b.rs", "pub use super::a::*;"),
        ];
        assert!(arrows(&files).is_empty());
    }
}
