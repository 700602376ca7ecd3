//! The ids by which answers name their questions.

use std::borrow::Cow;

use super::SHORT_BYTES;
use crate::json::{Value, append_string};

/// An id, as the side that asks has chosen it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id<'a> {
    /// A whole number up to 2⁵³ - 1, so that every reader of JSON gets it exactly.
    Number(u64),
    /// At most [`SHORT_BYTES`] bytes of text.
    Text(Cow<'a, str>),
}

impl<'a> Id<'a> {
    /// `None`: the value is no id.
    pub(super) fn read(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Number(_) => whole(value).map(Self::Number),
            Value::String(text) => {
                let text = text.decode_paired()?;
                (text.len() <= SHORT_BYTES).then_some(Self::Text(text))
            }
            _ => None,
        }
    }

    /// The same id with memory of its own.
    pub fn into_owned(self) -> Id<'static> {
        match self {
            Self::Number(number) => Id::Number(number),
            Self::Text(text) => Id::Text(text.into_owned().into()),
        }
    }

    pub(super) fn append(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Self::Text(text) => append_string(text, out),
        }
    }
}

/// A whole number that every reader of JSON gets exactly; `-0`, fractions and exponents are none.
pub(super) fn whole(value: Value<'_>) -> Option<u64> {
    let Value::Number(digits) = value else {
        return None;
    };
    digits.parse().ok().filter(|number| *number <= MOST_EXACT)
}

/// The greatest number up to which a double has every whole number.
const MOST_EXACT: u64 = (1 << 53) - 1;
