//! What one Rust file declares and names: its `use` items, its `mod` lines, its own items and every path in its
//! code. Paths within macro calls count like any other. That is why this module reads tokens and not a syntax tree,
//! in which the body of `select!` is an unparsed list of tokens. Code that is compiled only for tests is omitted.
//! Paths are not followed here; `module_graph` does that.

use std::collections::BTreeSet;

use crate::rust_code::{Token, tokens};

/// One name that a `use` imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    /// The local name; `None` is `*`.
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
    /// Whether it is a `pub use`, of any visibility.
    pub(crate) is_reexport: bool,
    /// The offset in the file.
    pub(crate) at: usize,
}

/// A path of two or more parts in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) parts: Vec<String>,
    pub(crate) at: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct RustFile {
    pub(crate) imports: Vec<Import>,
    pub(crate) paths: Vec<Path>,
    /// The names in `mod name;`, each once.
    pub(crate) modules: BTreeSet<String>,
    /// The items declared in the file, including those in inline modules.
    pub(crate) items: BTreeSet<String>,
    /// Every word outside `use` items.
    pub(crate) words: BTreeSet<String>,
}

impl RustFile {
    /// Reads code with blanked comments and literals.
    pub(crate) fn read(code: &str) -> Self {
        let mut reader = Reader {
            tokens: tokens(code),
            at: 0,
            braces: Vec::new(),
            file: Self::default(),
        };
        while reader.at < reader.tokens.len() {
            reader.step();
        }
        reader.file
    }
}

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    /// The open braces; true for those of an inline module.
    braces: Vec<bool>,
    file: RustFile,
}

impl<'a> Reader<'a> {
    fn step(&mut self) {
        let item_level = self.braces.iter().all(|is_module| *is_module);
        match self.text(0) {
            "#" if matches!((self.text(1), self.text(2)), ("[", _) | ("!", "[")) => {
                self.attribute();
            }
            "{" => self.enter(false),
            "}" => {
                self.braces.pop();
                self.at += 1;
            }
            "pub" => self.visibility(),
            "use" if self.text(1) != "<" => self.import(false),
            "mod" if is_name(self.text(1)) => self.module(),
            "static" if self.text(1) == "mut" && item_level => self.declare(2),
            "macro_rules" if self.text(1) == "!" => self.declare(2),
            "struct" | "enum" | "union" | "trait" | "fn" | "const" | "static" | "type"
                if item_level && is_name(self.text(1)) && !is_keyword(self.text(1)) =>
            {
                self.declare(1);
            }
            text if is_name(text) => self.path(),
            _ => self.at += 1,
        }
    }

    /// The token `ahead` positions from here; empty after the end.
    fn text(&self, ahead: usize) -> &'a str {
        self.tokens
            .get(self.at + ahead)
            .map_or("", |token| token.text)
    }

    fn offset(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.at)
    }

    fn enter(&mut self, is_module: bool) {
        self.braces.push(is_module);
        self.at += 1;
    }

    fn declare(&mut self, ahead: usize) {
        let name = self.text(ahead).to_owned();
        self.file.items.insert(name);
        self.at += ahead + 1;
    }

    /// Reads an attribute `#[…]`. If it limits an item to tests, skips the item.
    fn attribute(&mut self) {
        self.at += if self.text(1) == "!" { 2 } else { 1 };
        let start = self.at;
        self.group();
        let words: Vec<&str> = self.tokens[start..self.at]
            .iter()
            .map(|token| token.text)
            .collect();
        let not_for_tests = words.windows(3).any(|three| three == ["not", "(", "test"]);
        if words.get(1) == Some(&"cfg") && words.contains(&"test") && !not_for_tests {
            self.leave_out();
        }
    }

    /// Moves from an opening bracket to after the matching one.
    fn group(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips an item, a statement, a field or an arm of a `match`.
    fn leave_out(&mut self) {
        let mut is_item = false;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "}" => return, // the end of the enclosing block
                "{" => {
                    self.group();
                    return;
                }
                "#" => {
                    self.at += 1;
                    self.group();
                }
                "(" | "[" => self.group(),
                "use" => return self.pass(";"),
                "," if !is_item => return self.at += 1,
                ";" => return self.at += 1,
                text => {
                    is_item |= matches!(text, "fn" | "impl" | "struct" | "enum" | "trait" | "type");
                    self.at += 1;
                }
            }
        }
    }

    fn pass(&mut self, end: &str) {
        while self.at < self.tokens.len() && self.text(0) != end {
            self.at += 1;
        }
        self.at += 1;
    }

    fn visibility(&mut self) {
        self.at += 1;
        if self.text(0) == "(" && matches!(self.text(1), "crate" | "super" | "self" | "in") {
            self.group();
        }
        if self.text(0) == "use" {
            self.import(true);
        }
    }

    fn module(&mut self) {
        let name = self.text(1).to_owned();
        let after = self.text(2);
        self.at += 2;
        if after == ";" {
            self.file.modules.insert(name);
        } else if after == "{" {
            self.file.items.insert(name);
            self.enter(true);
        }
    }

    fn import(&mut self, is_reexport: bool) {
        self.at += 1;
        if self.text(0) == "::" {
            return self.pass(";"); // an explicit path to another crate
        }
        self.tree(&[], is_reexport);
        self.pass(";");
    }

    /// Reads one branch of a `use`, up to the `,`, `}` or `;` after it.
    fn tree(&mut self, before: &[&'a str], is_reexport: bool) {
        let mut parts = before.to_vec();
        let at = self.offset();
        loop {
            match self.text(0) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(0), "}" | "") {
                        self.tree(&parts, is_reexport);
                        self.at += usize::from(self.text(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.at += 1;
                    self.found(None, &parts, is_reexport, at);
                    return;
                }
                "as" => {
                    let name = self.text(1);
                    self.at += 2;
                    return self.found(Some(name), &parts, is_reexport, at);
                }
                text if is_name(text) => {
                    // `{self}` stands for the path before it
                    if text != "self" || parts.is_empty() {
                        parts.push(text);
                    }
                    self.at += 1;
                }
                _ => return self.found(parts.last().copied(), &parts, is_reexport, at),
            }
        }
    }

    fn found(&mut self, name: Option<&str>, parts: &[&str], is_reexport: bool, at: usize) {
        let path = self.outside(parts);
        self.file.imports.push(Import {
            name: name.map(str::to_owned),
            path,
            is_reexport,
            at,
        });
    }

    /// Rewrites a path in inline modules as it would be written at the top of the file.
    fn outside(&self, parts: &[&str]) -> Vec<String> {
        let inside = self.braces.iter().filter(|is_module| **is_module).count();
        let supers = parts.iter().take_while(|part| **part == "super").count();
        let left = supers.min(inside);
        let own = (left > 0).then_some("self").into_iter();
        own.chain(parts[left..].iter().copied())
            .map(str::to_owned)
            .collect()
    }

    fn path(&mut self) {
        let at = self.offset();
        let before = self.at.checked_sub(1).map_or("", |at| self.tokens[at].text);
        let mut parts = vec![self.text(0)];
        self.at += 1;
        while self.text(0) == "::" && is_name(self.text(1)) {
            parts.push(self.text(1));
            self.at += 2;
        }
        if matches!(before, "::" | ".") {
            return; // the rest of another path
        }
        self.file.words.insert(parts[0].to_owned());
        if parts.len() > 1 {
            let parts = self.outside(&parts);
            self.file.paths.push(Path { parts, at });
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Whether a word may stand between `const` or `static` and the name that is declared.
fn is_keyword(text: &str) -> bool {
    matches!(text, "async" | "extern" | "fn" | "mut" | "unsafe")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(code: &str) -> Vec<String> {
        let file = RustFile::read(code);
        let line = |import: &Import| {
            let name = import.name.as_deref().unwrap_or("*");
            let mark = if import.is_reexport { "pub " } else { "" };
            format!("{mark}{name} = {}", import.path.join("::"))
        };
        file.imports.iter().map(line).collect()
    }

    fn paths(code: &str) -> Vec<String> {
        let file = RustFile::read(code);
        file.paths
            .iter()
            .map(|path| path.parts.join("::"))
            .collect()
    }

    #[test]
    fn a_use_is_split_into_imports() {
        assert_eq!(
            imports("use crate::a::{self, B, c::{D as E, F}, g::*}; pub(crate) use r#in::H as _;"),
            [
                "a = crate::a",
                "B = crate::a::B",
                "E = crate::a::c::D",
                "F = crate::a::c::F",
                "* = crate::a::g",
                "pub _ = in::H",
            ]
        );
        assert_eq!(
            imports("use {a::B, super::c};"),
            ["B = a::B", "c = super::c"]
        );
        assert!(imports("use ::http::Request;").is_empty());
    }

    #[test]
    fn paths_are_found_in_macros_and_types() {
        assert_eq!(
            paths("fn f<T: crate::a::B>() { m!(x => super::c::d(), y.e::<F>()); <T>::g::h(); }"),
            ["crate::a::B", "super::c::d"]
        );
        assert!(paths("pub(in crate::a) fn f() -> impl Sized + use<'static> {}").is_empty());
    }

    #[test]
    fn code_for_tests_is_omitted() {
        let code = "
            #[cfg(test)] use crate::a::A;
            #[cfg(all(test, loom))] mod loom_tests;
            #[cfg(test)] #[derive(Debug)] struct B(crate::b::B);
            struct C { #[cfg(test)] d: crate::d::D, e: crate::e::E }
            #[cfg(test)] fn f<G, H>(x: crate::g::G<G, H>) -> [u8; 2] { crate::h::h() }
            #[cfg(test)] mod tests { use super::*; }
            #[cfg(not(test))] use crate::i::I;
            mod j;";
        assert_eq!(paths(code), ["crate::e::E"]);
        assert_eq!(imports(code), ["I = crate::i::I"]);
        let file = RustFile::read(code);
        assert_eq!(Vec::from_iter(file.modules), ["j"]);
        assert_eq!(Vec::from_iter(file.items), ["C"]);
    }

    #[test]
    fn items_are_those_of_the_file_and_not_of_its_blocks() {
        let code =
            "pub const fn a() { fn inner() {} } impl B { fn c() {} } macro_rules! d { () => {} }
            static mut E: u8 = 0; mod f { pub(super) type G = super::super::H; use super::a; }";
        let file = RustFile::read(code);
        assert_eq!(Vec::from_iter(file.items), ["E", "G", "a", "d", "f"]);
        assert_eq!(paths(code), ["self::super::H"]);
        assert_eq!(imports(code), ["a = self::a"]);
    }
}
