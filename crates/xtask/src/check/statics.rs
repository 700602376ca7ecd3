//! I10: there is one process-wide static, the addon instance, in one file of `crates/node`. Everything else
//! is a value that is passed to its users. Tests and benches may count with statics of their own.

use crate::finding::Finding;
use crate::rust_code::{identifier, words};
use crate::tree::{SourceFile, Tree};

/// Types whose value can change behind a shared reference, by the prefix of their names.
const MUTABLE: [&str; 17] = [
    "ArcSwap",
    "Atomic",
    "Cell",
    "DashMap",
    "Lazy",
    "LazyCell",
    "LazyLock",
    "Mutex",
    "Once",
    "OnceCell",
    "OnceLock",
    "ReentrantMutex",
    "RefCell",
    "RwLock",
    "SegQueue",
    "ThreadLocal",
    "UnsafeCell",
];

const THE_ONE: &str = "ADDON";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files: Vec<&SourceFile> = tree
        .rust()
        .filter(|file| !is_own_binary(&file.path))
        .collect();
    let mut findings: Vec<Finding> = files.iter().flat_map(|file| thread_locals(file)).collect();
    let statics = files.iter().flat_map(|file| {
        mutable_statics(file)
            .into_iter()
            .map(move |found| (file, found))
    });
    let mut seen = false;
    for (file, (at, name)) in statics {
        let is_the_one = name == THE_ONE && file.path.starts_with("crates/node/src/") && !seen;
        seen |= is_the_one;
        if !is_the_one {
            let message = format!(
                "static {name} holds state: pass a value instead (I10; only {THE_ONE} in crates/node)"
            );
            findings.push(Finding::error(&file.path, file.line_at(at), message));
        }
    }
    findings
}

fn is_own_binary(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/benches/")
}

fn thread_locals(file: &SourceFile) -> impl Iterator<Item = Finding> {
    let places = words(&file.code, "thread_local").into_iter();
    let uses = places.filter(|at| file.code[at + "thread_local".len()..].starts_with('!'));
    uses.map(|at| {
        Finding::error(
            &file.path,
            file.line_at(at),
            "thread_local! holds state: pass a value instead (I10)",
        )
    })
}

/// The positions and names of statics whose type can change.
fn mutable_statics(file: &SourceFile) -> Vec<(usize, &str)> {
    let places = words(&file.code, "static").into_iter();
    places
        .filter(|at| !file.code[..*at].ends_with('\'')) // the lifetime
        .filter_map(|at| {
            let rest = file.code[at + "static".len()..].trim_start();
            let (is_mut, rest) = rest
                .strip_prefix("mut ")
                .map_or((false, rest), |rest| (true, rest.trim_start()));
            let name = identifier(rest);
            let declared = rest[name.len()..].trim_start().strip_prefix(':')?;
            let of_type = &declared[..declared.find('=').unwrap_or(declared.len())];
            (is_mut || is_mutable(of_type)).then_some((at, name))
        })
        .collect()
}

fn is_mutable(of_type: &str) -> bool {
    let names = of_type.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    names
        .into_iter()
        .any(|name| MUTABLE.contains(&name) || name.starts_with("Atomic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, code: &str) -> usize {
        check(&Tree::of(&[(path, &format!("//! A.\n{code}\n"))])).len()
    }

    #[test]
    fn state_in_statics_is_found() {
        for code in [
            "static COUNT: AtomicU64 = AtomicU64::new(0);",
            "pub(crate) static X: std::sync::Mutex<Vec<u8>> = Mutex::new(Vec::new());",
            "static mut X: u8 = 0;",
            "fn f() { static X: OnceLock<u8> = OnceLock::new(); }",
            "static ADDON: LazyLock<Addon> = LazyLock::new(Addon::new);",
            "thread_local! { static X: u8 = 0; }",
        ] {
            assert_eq!(count("crates/core/src/a.rs", code), 1, "{code}");
        }
    }

    #[test]
    fn constants_lifetimes_and_words_are_fine() {
        for code in [
            "static TABLE: [u8; 2] = [1, 2];",
            "fn f(x: &'static Mutex<u8>) {}",
            "// static X: Mutex<u8>",
            "const X: &str = \"static Y: Mutex<u8> = \";",
        ] {
            assert_eq!(count("crates/core/src/a.rs", code), 0, "{code}");
        }
        assert_eq!(
            count(
                "crates/core/tests/a.rs",
                "static COUNT: AtomicU64 = AtomicU64::new(0);"
            ),
            0
        );
    }

    #[test]
    fn the_addon_is_allowed_once() {
        let addon = "//! A.\nstatic ADDON: LazyLock<Addon> = LazyLock::new(Addon::new);\n";
        assert!(check(&Tree::of(&[("crates/node/src/addon.rs", addon)])).is_empty());
        let twice = Tree::of(&[
            ("crates/node/src/addon.rs", addon),
            ("crates/node/src/b.rs", addon),
        ]);
        assert_eq!(check(&twice).len(), 1);
        assert_eq!(
            count(
                "crates/node/src/b.rs",
                "static OTHER: Mutex<u8> = Mutex::new(0);"
            ),
            1
        );
    }
}
