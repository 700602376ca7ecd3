//! The limits page names options as JavaScript takes them, so each must exist in `js/src`.

use crate::finding::Finding;
use crate::generate::limits::{self, SOURCE};
use crate::rust_code::words;
use crate::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(Ok(groups)) = tree.text(SOURCE).map(|text| limits::parse(text)) else {
        return Vec::new(); // the check of generated pages tells
    };
    let options: Vec<String> = groups
        .iter()
        .filter(|group| group.about != FIXED)
        .flat_map(|group| &group.limits)
        .map(limits::Limit::option)
        .collect();
    let unknown = options.iter().filter(|option| !exists(tree, option));
    unknown
        .map(|option| {
            Finding::error(
                SOURCE,
                0,
                format!("no option {option} in js/src takes this limit"),
            )
        })
        .collect()
}

/// What the doc comment of the table says whose limits have no option.
const FIXED: &str = "Bounds that no option changes.";

fn exists(tree: &Tree, option: &str) -> bool {
    tree.scripts()
        .filter(|file| file.path.starts_with("js/src/"))
        .any(|file| !words(&file.text, option).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_limits_need_no_option() {
        let limits = format!(
            "//! A.\nlimits! {{\n/// {FIXED}\npub struct F {{\n/// B.\nb: u32 = 1, \"x\";\n}}\n}}\n"
        );
        assert!(check(&Tree::of(&[(SOURCE, &limits)])).is_empty());
    }

    #[test]
    fn a_limit_that_no_option_takes_is_found() {
        let limits = "//! A.\nlimits! {\n/// L.\npub struct L {\n/// A.\na_timeout: Duration = Duration::ZERO, \"x\";\n/// B.\nb: u32 = 1, \"x\";\n}\n}\n";
        let tree = Tree::of(&[
            (SOURCE, limits),
            (
                "js/src/options.ts",
                "// A.\ninterface L { aTimeoutMs?: number }\n",
            ),
        ]);
        let messages: Vec<String> = check(&tree)
            .into_iter()
            .map(|finding| finding.message)
            .collect();
        assert_eq!(messages, ["no option b in js/src takes this limit"]);
    }
}
