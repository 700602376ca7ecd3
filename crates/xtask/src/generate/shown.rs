//! Rewrites Rust names and expressions for readers who write JavaScript.

use super::numbers::{grouped, number};

/// A default such as `16 * 1024`, `Duration::from_secs(10)` or `Policy::Close`; `None` if it has no readable
/// form.
pub(super) fn default(kind: &str, expression: &str, zero_is_off: bool) -> Option<String> {
    if let Some(call) = expression.strip_prefix("Duration::") {
        return duration(call, zero_is_off);
    }
    if let Some(variant) = expression
        .strip_prefix(kind)
        .and_then(|rest| rest.strip_prefix("::"))
    {
        return Some(format!("`{}`", string(variant)));
    }
    let factors: Option<Vec<u64>> = expression.split('*').map(number).collect();
    match factors?[..] {
        [0] if zero_is_off => Some("off".to_owned()),
        [1024, 1024] => Some("1 MiB".to_owned()),
        [count, 1024, 1024] => Some(format!("{count} MiB")),
        [count, 1024] => Some(format!("{count} KiB")),
        [count] => Some(grouped(count, ',')),
        _ => None,
    }
}

/// The value of a string option: `'dropNewest'` for `DropNewest`.
fn string(variant: &str) -> String {
    let mut characters = variant.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    format!("'{}{}'", String::from_iter(first), characters.as_str())
}

/// Converts `outbox_bytes` to `outboxBytes`.
pub(super) fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut shown = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut characters = word.chars();
        shown.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        shown.push_str(characters.as_str());
    }
    shown
}

fn duration(call: &str, zero_is_off: bool) -> Option<String> {
    let argument = |function: &str| {
        number(
            call.strip_prefix(function)?
                .strip_prefix('(')?
                .strip_suffix(')')?,
        )
    };
    match call {
        "ZERO" if zero_is_off => Some("off".to_owned()),
        "ZERO" => Some("0".to_owned()),
        _ => {
            let seconds = argument("from_secs").map(|seconds| format!("{seconds} s"));
            seconds.or_else(|| argument("from_millis").map(|millis| format!("{millis} ms")))
        }
    }
}

/// A text without its full stop, as a part of a sentence or table.
pub(super) fn phrase(text: &str) -> &str {
    text.strip_suffix('.').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_written_like_settings() {
        for (kind, expression, expected) in [
            ("Duration", "Duration::from_secs(10)", Some("10 s")),
            ("Duration", "Duration::from_millis(250)", Some("250 ms")),
            ("Duration", "Duration::ZERO", Some("0")),
            ("usize", "16 * 1024", Some("16 KiB")),
            ("usize", "4 * 1024 * 1024", Some("4 MiB")),
            ("usize", "1024 * 1024", Some("1 MiB")),
            ("u32", "1_000_000", Some("1,000,000")),
            ("u32", "0", Some("0")),
            ("Policy", "Policy::DropNewest", Some("`'dropNewest'`")),
            ("u32", "compute()", None),
            ("Duration", "Duration::from_days(1)", None),
        ] {
            assert_eq!(
                default(kind, expression, false).as_deref(),
                expected,
                "{expression}"
            );
        }
        assert_eq!(default("u32", "0", true).as_deref(), Some("off"));
        assert_eq!(
            default("Duration", "Duration::ZERO", true).as_deref(),
            Some("off")
        );
    }

    #[test]
    fn names_are_written_like_in_javascript() {
        assert_eq!(camel("outbox_bytes"), "outboxBytes");
        assert_eq!(camel("connections"), "connections");
        assert_eq!(string("DropNewest"), "'dropNewest'");
    }
}
