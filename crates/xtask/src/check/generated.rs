//! The generated pages match the code. `cargo xtask generate` writes them.

use crate::finding::Finding;
use crate::generate;
use crate::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let stale = generate::pages(tree)
        .into_iter()
        .filter_map(|page| match page.text {
            Err(problem) => Some(Finding::error(page.source, 0, problem.to_string())),
            Ok(text) if tree.text(page.path) == Some(&text) => None,
            Ok(_) => Some(Finding::error(
                page.path,
                0,
                format!("differs from {}: run cargo xtask generate", page.source),
            )),
        });
    stale.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str =
        "//! A.\nlimits! {\n/// L.\npub struct L {\n/// A.\na: u32 = 1, 1..=2, \"closed\";\n}\n}\n";
    const ERRORS: &str =
        "// A.\nexport const ERROR_CODES = {\n  ERR_MILLRACE_A: 'an a',\n} as const;\n";

    const KINDS: &str = "//! A.\n\nnumbers! {\n/// T.\npub enum Turn {\n/// A.\nLate = 1;\n}\n}\n";

    fn paths(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files))
            .into_iter()
            .map(|finding| finding.path)
            .collect()
    }

    #[test]
    fn a_page_that_is_missing_or_stale_is_found() {
        let sources = [
            ("crates/gateway/src/limits.rs", LIMITS),
            ("js/src/errors.ts", ERRORS),
            ("crates/gateway/src/event/kinds.rs", KINDS),
        ];
        let generated = [
            "docs/limits.md",
            "js/src/options/limits.generated.ts",
            "docs/errors.md",
            "js/src/worker/kinds.generated.ts",
        ];
        assert_eq!(paths(&sources), generated);
        let stale = [
            sources[0],
            sources[1],
            sources[2],
            ("docs/limits.md", "old\n"),
            ("js/src/options/limits.generated.ts", "old\n"),
            ("docs/errors.md", "old\n"),
            ("js/src/worker/kinds.generated.ts", "old\n"),
        ];
        assert_eq!(paths(&stale), generated);
    }

    #[test]
    fn a_fresh_page_passes() {
        let sources = [
            ("crates/gateway/src/limits.rs", LIMITS),
            ("js/src/errors.ts", ERRORS),
            ("crates/gateway/src/event/kinds.rs", KINDS),
        ];
        let texts: Vec<String> = generate::pages(&Tree::of(&sources))
            .into_iter()
            .map(|page| page.text.unwrap())
            .collect();
        let fresh = [
            sources[0],
            sources[1],
            sources[2],
            ("docs/limits.md", &texts[0]),
            ("js/src/options/limits.generated.ts", &texts[1]),
            ("docs/errors.md", &texts[2]),
            ("js/src/worker/kinds.generated.ts", &texts[3]),
        ];
        assert!(paths(&fresh).is_empty());
    }

    #[test]
    fn a_missing_source_is_found() {
        assert_eq!(
            paths(&[]),
            [
                "crates/gateway/src/limits.rs",
                "crates/gateway/src/limits.rs",
                "js/src/errors.ts",
                "crates/gateway/src/event/kinds.rs"
            ]
        );
    }
}
