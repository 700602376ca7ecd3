//! Parses the `limits!` tables of the gateway, in all files: `/// description` and then `name: Type = default,
//! least..=most, "when met";`. A limit that is not a number has no range.

use std::collections::BTreeSet;

use super::{SourceError, numbers, shown};
use crate::rust_code::identifier;
use crate::tree::Tree;

/// The file with the limits that belong to no single protocol and with the constants used in ranges.
pub(crate) const SOURCE: &str = "crates/gateway/src/limits.rs";

const FOLDER: &str = "crates/gateway/src/";

const OPENING: &str = "\nlimits! {";

/// The part that takes the options of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Taker {
    /// A listener: for every table that belongs to no other part.
    Listener,
    Gateway,
    /// JavaScript, which enforces them itself.
    Script,
    /// No option changes these limits: none has a range.
    Nobody,
}

/// A table of limits with the doc comment of its struct.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The file that it is in.
    pub(crate) path: String,
    /// The name of its struct.
    pub(crate) name: String,
    pub(crate) taker: Taker,
    pub(crate) about: String,
    pub(crate) limits: Vec<Limit>,
}

/// One limit, as written in the source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) default: String,
    /// The range; `None` if the limit is not a number.
    pub(crate) range: Option<Range>,
    pub(crate) about: String,
    pub(crate) when_met: String,
}

/// The smallest and the largest value of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Limit {
    /// The option's name in JavaScript: camel case, with milliseconds for a duration.
    pub(crate) fn option(&self) -> String {
        let option = shown::camel(&self.name);
        if self.kind == "Duration" {
            option + "Ms"
        } else {
            option
        }
    }

    /// Whether the default is within the range.
    fn is_sound(&self) -> bool {
        let default = numbers::value(&self.default);
        self.range.is_none_or(|Range { least, most }| {
            default.is_some_and(|value| (least..=most).contains(&value))
        })
    }
}

/// A text in which the names of limits in backquotes are replaced by the names in JavaScript.
pub(crate) fn translate(tables: &[Table], text: &str) -> String {
    let limits = tables.iter().flat_map(|table| &table.limits);
    limits.fold(text.to_owned(), |text, limit| {
        text.replace(
            &format!("`{}`", limit.name),
            &format!("`{}`", limit.option()),
        )
    })
}

/// All tables of the gateway, ordered by the part that takes them, listeners first. For each part the common table
/// comes first, then those of protocols, then those of endpoints, whose paths are longer.
pub(crate) fn tables(tree: &Tree) -> Result<Vec<Table>, SourceError> {
    let source = tree.text(SOURCE).ok_or(SourceError::Missing)?;
    let mut tables = parse(SOURCE, source, source)?;
    let others = tree
        .rust()
        .filter(|file| file.path.starts_with(FOLDER) && file.path != SOURCE);
    let mut others: Vec<_> = others.collect();
    others.sort_by_key(|file| (file.path.matches('/').count(), &file.path));
    for file in others {
        tables.extend(parse(&file.path, &file.text, source)?);
    }
    if tables.is_empty() {
        return Err(SourceError::Empty("limits! table"));
    }
    tables.sort_by_key(|table| table.taker);
    let mut names = BTreeSet::new();
    for limit in tables.iter().flat_map(|table| &table.limits) {
        if !names.insert(&limit.name) {
            return Err(SourceError::Twice(limit.name.clone()));
        }
        if !limit.is_sound() {
            return Err(SourceError::OutOfRange(limit.name.clone()));
        }
    }
    Ok(tables)
}

/// The tables of a file, in order. The ends of their ranges may be constants defined in `constants`.
fn parse(path: &str, source: &str, constants: &str) -> Result<Vec<Table>, SourceError> {
    source
        .match_indices(OPENING)
        .map(|(at, _)| table(path, &source[at + OPENING.len()..], constants))
        .collect()
}

/// Parses `/// description`, attributes, `pub struct Name {` and the limits up to `}`.
fn table(path: &str, text: &str, constants: &str) -> Result<Table, SourceError> {
    let (about, rest) = head(text);
    let (head_of_struct, mut rest) = rest.split_once('{').ok_or_else(|| syntax(rest))?;
    let name = head_of_struct.split_whitespace().last().unwrap_or_default();
    let mut limits = Vec::new();
    loop {
        let (about, entry) = head(rest);
        if entry.starts_with('}') {
            break;
        }
        let (limit, after) = limit(&about, entry, constants)?;
        limits.push(limit);
        rest = after;
    }
    if limits.is_empty() {
        return Err(SourceError::Empty("limit in a limits! table"));
    }
    let taker = match name {
        _ if limits.iter().all(|limit| limit.range.is_none()) => Taker::Nobody,
        "GatewayLimits" => Taker::Gateway,
        "ScriptLimits" => Taker::Script,
        _ => Taker::Listener,
    };
    Ok(Table {
        path: path.to_owned(),
        name: name.to_owned(),
        taker,
        about,
        limits,
    })
}

/// The doc comment before an item, as one line, and the item without its attributes and comments.
pub(super) fn head(text: &str) -> (String, &str) {
    let mut about = Vec::new();
    let mut rest = text.trim_start();
    while ["//", "#["].iter().any(|start| rest.starts_with(start)) {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        about.extend(line.strip_prefix("///").map(str::trim));
        rest = after.trim_start();
    }
    (about.join(" "), rest)
}

/// Parses `name: Type = default, "when met";`, with `least..=most,` before the text if there is a range.
fn limit<'a>(
    about: &str,
    entry: &'a str,
    constants: &str,
) -> Result<(Limit, &'a str), SourceError> {
    let parts = || {
        let name = identifier(entry);
        let (kind, rest) = entry[name.len()..].strip_prefix(':')?.split_once('=')?;
        let open = rest.find('"')?;
        let numbers = rest[..open].trim_end().strip_suffix(',')?;
        let (default, range) = match numbers.split_once("..=") {
            None => (numbers, None),
            Some((before, most)) => {
                let (default, least) = before.rsplit_once(',')?;
                let [least, most] = [least, most].map(|end| numbers::constant(end, constants));
                let (least, most) = (least?, most?);
                (default, Some(Range { least, most }))
            }
        };
        let (when_met, rest) = rest[open + 1..].split_once('"')?;
        let rest = rest.trim_start().strip_prefix(';')?;
        let [name, kind, default] = [name, kind, default].map(|part| part.trim().to_owned());
        let limit = Limit {
            name,
            kind,
            default,
            range,
            about: about.to_owned(),
            when_met: when_met.to_owned(),
        };
        (!limit.name.is_empty() && !limit.about.is_empty()).then_some((limit, rest))
    };
    parts().ok_or_else(|| syntax(entry))
}

pub(super) fn syntax(near: &str) -> SourceError {
    SourceError::Syntax(near.trim().chars().take(40).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Result<Vec<Table>, SourceError> {
        tables(&Tree::of(files))
    }

    fn one(entry: &str) -> Result<Vec<Table>, SourceError> {
        let table = format!("\nlimits! {{ pub struct L {{\n{entry}\n}} }}");
        read(&[(SOURCE, &table)])
    }

    #[test]
    fn tables_are_found_in_every_file() {
        let common = "const DAY: u64 = 24 * 60;\n\nlimits! {\n/// F.\npub struct FixedLimits {\n/// A.\na: u32 = 1, \"x\";\n}\n}\n\nlimits! {\n/// G.\npub struct GatewayLimits {\n/// B.\nb_timeout: Duration = Duration::from_millis(5), 1..=DAY, \"x\";\n}\n}\n\nlimits! {\n/// S.\npub struct ScriptLimits {\n/// C.\nc: u32 = 1, 1..=5, \"x\";\n}\n}\n\nlimits! {\n/// L.\npub struct ListenerLimits {\n/// D.\nd: u32 = 1, 0..=4, \"x\";\n}\n}\n";
        let own = "\nlimits! {\n/// Of RESP.\npub(crate) struct RespLimits {\n/// E.\ne: u64 = 2 * 1024, 1..=3 * 1024, \"x\";\n}\n}\n";
        let http = "\n#[cfg(test)]\nlimits! {\n/// Of HTTP.\npub(crate) struct HttpLimits {\n/// H.\nh: u32 = 2, 0..=3, \"x\";\n}\n}\n";
        let tables = read(&[
            (SOURCE, common),
            ("crates/gateway/src/adapter/resp/limits.rs", own),
            ("crates/gateway/src/http/limits.rs", http),
        ])
        .unwrap();
        let found: Vec<_> = tables
            .iter()
            .map(|table| {
                (
                    table.taker,
                    table.name.as_str(),
                    table.about.as_str(),
                    table.limits[0]
                        .range
                        .map(|Range { least, most }| (least, most)),
                )
            })
            .collect();
        let expected = [
            (Taker::Listener, "ListenerLimits", "L.", Some((0, 4))),
            (Taker::Listener, "HttpLimits", "Of HTTP.", Some((0, 3))),
            (Taker::Listener, "RespLimits", "Of RESP.", Some((1, 3072))),
            (Taker::Gateway, "GatewayLimits", "G.", Some((1, 1440))),
            (Taker::Script, "ScriptLimits", "S.", Some((1, 5))),
            (Taker::Nobody, "FixedLimits", "F.", None),
        ];
        assert_eq!(found, expected);
        let places: Vec<_> = tables.iter().map(|table| table.path.as_str()).collect();
        let [http, resp] =
            ["http", "adapter/resp"].map(|place| format!("{FOLDER}{place}/limits.rs"));
        assert_eq!(places, [SOURCE, &http, &resp, SOURCE, SOURCE, SOURCE]);
    }

    #[test]
    fn unreadable_tables_are_errors() {
        assert_eq!(read(&[]), Err(SourceError::Missing));
        assert_eq!(
            read(&[(SOURCE, "//! A.\n")]),
            Err(SourceError::Empty("limits! table"))
        );
        for entry in [
            "name = 1, \"met\";",
            "/// About.\nname: u32 = 1;",
            "/// About.\nname: u32 = 1, \"met\"",
            "/// About.\nname: u32 = 1, 1..=MOST, \"met\";",
            "/// About.\nname: u32 = 1..=5, \"met\";",
            "name: u32 = 1, \"met\";",
        ] {
            assert!(matches!(one(entry), Err(SourceError::Syntax(_))), "{entry}");
        }
    }

    #[test]
    fn names_are_unique_and_defaults_within_their_ranges() {
        let row = "/// About.\nname: u32 = 6, 1..=9, \"met\";\n";
        assert!(one(row).is_ok());
        assert_eq!(
            one(&row.repeat(2)),
            Err(SourceError::Twice("name".to_owned()))
        );
        assert_eq!(
            one(&row.replace('9', "5")),
            Err(SourceError::OutOfRange("name".to_owned()))
        );
    }
}
