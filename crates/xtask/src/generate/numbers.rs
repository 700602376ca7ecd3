//! Computes the numbers in tables of limits. Supports products and a few forms of durations, no other arithmetic.

use crate::rust_code::identifier;

/// The value of `16 * 1024`, or of `Duration::from_secs(10)` in milliseconds.
pub(super) fn value(expression: &str) -> Option<u64> {
    let Some(call) = expression.strip_prefix("Duration::") else {
        return product(expression);
    };
    if call == "ZERO" {
        return Some(0);
    }
    let (unit, argument) = call.strip_suffix(')')?.split_once('(')?;
    let scale = match unit {
        "from_secs" => 1000,
        "from_millis" => 1,
        _ => return None,
    };
    product(argument)?.checked_mul(scale)
}

/// The value of a product, or of a constant that `source` defines: `const DAY: u64 = 24 * 60;`.
pub(super) fn constant(expression: &str, source: &str) -> Option<u64> {
    let name = expression.trim();
    product(name).or_else(|| {
        let definition = format!("const {name}: u64 = ");
        let at = source
            .find(&definition)
            .filter(|_| identifier(name) == name)?;
        let (value, _) = source[at + definition.len()..].split_once(';')?;
        product(value)
    })
}

/// The value of `1024 * 1024`.
fn product(text: &str) -> Option<u64> {
    text.split('*').try_fold(1_u64, |product, factor| {
        product.checked_mul(number(factor)?)
    })
}

/// The value of `65_536`.
pub(super) fn number(text: &str) -> Option<u64> {
    text.trim().replace('_', "").parse().ok()
}

/// The digits of `65536` in groups of three.
pub(super) fn grouped(number: u64, separator: char) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(separator);
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_values() {
        for (expression, expected) in [
            ("0", Some(0)),
            ("65_536", Some(65_536)),
            ("16 * 1024", Some(16_384)),
            ("Duration::from_secs(10)", Some(10_000)),
            ("Duration::from_millis(250)", Some(250)),
            ("Duration::ZERO", Some(0)),
            ("Duration::from_days(1)", None),
            ("compute()", None),
            ("18446744073709551615 * 2", None),
        ] {
            assert_eq!(value(expression), expected, "{expression}");
        }
    }

    #[test]
    fn constants_are_looked_up() {
        let source = "const HOUR: u64 = 60 * 60;\npub(crate) const DAY: u64 = 24;\n";
        assert_eq!(constant(" DAY", source), Some(24));
        assert_eq!(constant("HOUR", source), Some(3600));
        assert_eq!(constant("5", source), Some(5));
        assert_eq!(constant("YEAR", source), None);
        assert_eq!(constant("", source), None);
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(0, ','), "0");
        assert_eq!(grouped(4_294_967_295, '_'), "4_294_967_295");
    }
}
