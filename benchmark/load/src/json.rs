//! Writes one JSON object, field by field. No reading, no nesting beyond ready-made fragments.

use std::fmt::Write;

/// An object under construction.
#[derive(Debug, Clone, Default)]
pub struct Object(String);

impl Object {
    /// An object without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a string.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        self.0.push('"');
        for c in value.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                c if u32::from(c) < 0x20 => {
                    put(&mut self.0, format_args!("\\u{:04x}", u32::from(c)));
                }
                c => self.0.push(c),
            }
        }
        self.0.push('"');
        self
    }

    /// Adds a number with up to four decimals; `null` when it is not finite.
    #[must_use]
    pub fn number(mut self, name: &str, value: f64) -> Self {
        self.name(name);
        if value.is_finite() {
            put(&mut self.0, format_args!("{value:.4}"));
        } else {
            self.0.push_str("null");
        }
        self
    }

    /// Adds a whole number.
    #[must_use]
    pub fn integer(mut self, name: &str, value: impl Into<i128>) -> Self {
        self.name(name);
        put(&mut self.0, format_args!("{}", value.into()));
        self
    }

    /// Adds a boolean.
    #[must_use]
    pub fn boolean(mut self, name: &str, value: bool) -> Self {
        self.name(name);
        put(&mut self.0, format_args!("{value}"));
        self
    }

    /// The finished object, on one line.
    pub fn finish(mut self) -> String {
        self.0.insert(0, '{');
        self.0.push('}');
        self.0
    }

    fn name(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        put(&mut self.0, format_args!("\"{name}\":"));
    }
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments)
        .expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_escaped_and_separated() {
        let object = Object::new()
            .text("a", "x\"\\\n")
            .number("b", 1.5)
            .number("n", f64::NAN)
            .integer("c", 7u64)
            .boolean("d", true);
        let expected = r#"{"a":"x\"\\\u000a","b":1.5000,"n":null,"c":7,"d":true}"#;
        assert_eq!(object.finish(), expected);
    }
}
