//! Parses tables of numbers in Rust: `/// description` and then `Name = number;`, where `=> "text"`
//! or `=> NAME = number => "text"` may follow the number. Entries for tests are omitted.

use super::SourceError;
use super::tables::{head, syntax};
use crate::rust_code::identifier;

/// One macro's table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// The name of the enum; empty if the macro makes none.
    pub(super) name: String,
    pub(super) about: String,
    pub(super) entries: Vec<Entry>,
}

/// A name with its number, as written in the source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) number: String,
    /// The text after the number.
    pub(super) text: Option<String>,
    /// The number before the text, if there is one.
    pub(super) second: Option<String>,
}

/// The tables in a file, in order.
pub(super) fn tables(source: &str) -> Result<Vec<Table>, SourceError> {
    let macros = [
        "\nnumbers! {",
        "\nhandlers! {",
        "\nevents! {",
        "\noperations! {",
    ];
    let mut starts: Vec<usize> = macros
        .iter()
        .flat_map(|opening| source.match_indices(opening))
        .map(|(at, opening)| at + opening.len())
        .collect();
    starts.sort_unstable();
    starts
        .iter()
        .map(|start| table(&source[*start..]))
        .collect()
}

/// Parses `/// description`, `pub enum Name {` and the entries up to `}`; or only the entries.
fn table(text: &str) -> Result<Table, SourceError> {
    let (about, rest) = head(text);
    let (first, inner) = rest.split_once('{').ok_or_else(|| syntax(rest))?;
    let mut table = Table {
        name: String::new(),
        about: String::new(),
        entries: Vec::new(),
    };
    let mut rest = text;
    if first.contains(" enum ") && !first.contains(';') {
        let name = first.split_whitespace().last();
        table.name = String::from(name.unwrap_or_default());
        table.about = about;
        rest = inner;
    }
    loop {
        let (about, entry) = head(rest);
        if entry.starts_with('}') {
            return Ok(table);
        }
        let for_tests = rest[..rest.len() - entry.len()].contains("#[cfg(test)]");
        let (line, after) = entry.split_once(';').ok_or_else(|| syntax(entry))?;
        let read = read(line, about).ok_or_else(|| syntax(entry))?;
        if !for_tests {
            table.entries.push(read);
        }
        rest = after;
    }
}

fn read(line: &str, about: String) -> Option<Entry> {
    let pair = |part: &str| {
        let (name, number) = part.split_once('=')?;
        let [name, number] = [name, number].map(|part| part.trim().to_owned());
        (!name.is_empty() && identifier(&name) == name).then_some((name, number))
    };
    let literal = |part: &str| Some(part.trim().strip_prefix('"')?.strip_suffix('"')?.to_owned());
    let parts: Vec<&str> = line.split("=>").collect();
    let (name, number) = pair(parts.first()?)?;
    let (text, second) = match parts[1..] {
        [] => (None, None),
        [text] => (Some(literal(text)?), None),
        [second, text] => (Some(literal(text)?), Some(pair(second)?.1)),
        _ => return None,
    };
    Some(Entry {
        name,
        about,
        number,
        text,
        second,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_names_numbers_and_texts() {
        let source = "\nnumbers! {\n/// A.\npub(super) enum Kind {\n/// One\n/// of all.\nOne = 1;\n#[cfg(test)]\nTwo = 2;\n}\n}\n\nhandlers! {\nOPEN = 1 << 0 => \"handleOpen\";\n}\n\nevents! {\n/// B.\npub enum Event {\n/// End.\nEnd = 3 => END = 1 << 6 => \"handleEnd\";\n}\n}\n";
        let tables = tables(source).unwrap();
        let [kinds, handlers, events] = &tables[..] else {
            panic!("three tables: {tables:?}");
        };
        assert_eq!((kinds.name.as_str(), kinds.about.as_str()), ("Kind", "A."));
        let entry =
            |name: &str, about: &str, number: &str, text: Option<&str>, second: Option<&str>| {
                Entry {
                    name: name.to_owned(),
                    about: about.to_owned(),
                    number: number.to_owned(),
                    text: text.map(str::to_owned),
                    second: second.map(str::to_owned),
                }
            };
        assert_eq!(
            kinds.entries,
            [entry("One", "One of all.", "1", None, None)]
        );
        assert_eq!(handlers.name, "");
        assert_eq!(
            handlers.entries,
            [entry("OPEN", "", "1 << 0", Some("handleOpen"), None)]
        );
        let end = entry("End", "End.", "3", Some("handleEnd"), Some("1 << 6"));
        assert_eq!(events.entries, [end]);
    }

    #[test]
    fn unreadable_entries_are_errors() {
        for entry in [
            "One;",
            "One = 1",
            "One = 1 => two;",
            "= 1;",
            "One = 1 => a = 1 => \"b\" => \"c\";",
        ] {
            let source = format!("\nnumbers! {{\npub enum Kind {{\n{entry}\n}}\n}}\n");
            assert!(
                matches!(tables(&source), Err(SourceError::Syntax(_))),
                "{entry}"
            );
        }
    }
}
