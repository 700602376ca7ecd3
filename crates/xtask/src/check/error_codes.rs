//! Error codes are one list: every code that Rust or TypeScript raises is in `ERROR_CODES`, and every code in
//! the list is raised. Comments do not count.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::generate::errors::{self, SOURCE};
use crate::rust_code::identifier;
use crate::tree::{SourceFile, Tree};

const PREFIX: &str = "ERR_MILLRACE_";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(Ok(listed)) = tree.text(SOURCE).map(|text| errors::parse(text)) else {
        return Vec::new(); // the check of generated pages reports it
    };
    let listed: BTreeSet<&str> = listed.iter().map(|error| error.code.as_str()).collect();
    let raising = tree.files().iter().filter(|file| raises(file));
    let used: Vec<(&SourceFile, usize, &str)> = raising.flat_map(codes).collect();
    let raised: BTreeSet<&str> = used.iter().map(|(_, _, code)| *code).collect();
    let unlisted = used
        .iter()
        .filter(|(_, _, code)| !listed.contains(code))
        .map(|(file, at, code)| {
            Finding::error(
                &file.path,
                file.line_at(*at),
                format!("{code} is not in ERROR_CODES of {SOURCE}"),
            )
        });
    let unraised = listed
        .difference(&raised)
        .map(|code| Finding::error(SOURCE, 0, format!("{code} is never raised")));
    unlisted.chain(unraised).collect()
}

fn raises(file: &SourceFile) -> bool {
    let rust = file.is_rust()
        && file.path.starts_with("crates/")
        && !file.path.starts_with("crates/xtask/");
    rust || (file.is_script() && file.path.starts_with("js/src/") && file.path != SOURCE)
}

fn codes(file: &SourceFile) -> Vec<(&SourceFile, usize, &str)> {
    let found = file
        .text
        .match_indices(PREFIX)
        .map(|(at, _)| (file, at, identifier(&file.text[at..])));
    found
        .filter(|(_, at, code)| *code != PREFIX && !in_comment(&file.text, *at))
        .collect()
}

/// A comment about a code does not raise it.
fn in_comment(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = text[start..at].trim_start();
    before.starts_with('*') || before.starts_with("/*") || before.contains("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_checked() {
        let list = "// A.\nexport const ERROR_CODES = {\n  ERR_MILLRACE_A: 'a',\n  ERR_MILLRACE_B: 'b',\n} as const;\n";
        let tree = Tree::of(&[
            (SOURCE, list),
            (
                "js/src/start.ts",
                "// A.\nthrow new MillraceError('ERR_MILLRACE_A');\n",
            ),
            (
                "crates/node/src/a.rs",
                "//! A.\nconst CODE: &str = \"ERR_MILLRACE_C\";\n",
            ),
        ]);
        let messages: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        let expected = [
            "crates/node/src/a.rs:2: error: ERR_MILLRACE_C is not in ERROR_CODES of js/src/errors.ts",
            "js/src/errors.ts: error: ERR_MILLRACE_B is never raised",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn comments_do_not_count() {
        let list = "// A.\nexport const ERROR_CODES = {\n  ERR_MILLRACE_A: 'a',\n} as const;\n";
        for comment in [
            "/** ERR_MILLRACE_A */\n",
            "/**\n * ERR_MILLRACE_A\n */\n",
            "call(); // ERR_MILLRACE_A\n",
        ] {
            let tree = Tree::of(&[(SOURCE, list), ("js/src/start.ts", comment)]);
            let messages: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
            let expected = ["js/src/errors.ts: error: ERR_MILLRACE_A is never raised"];
            assert_eq!(messages, expected, "{comment}");
        }
    }
}
