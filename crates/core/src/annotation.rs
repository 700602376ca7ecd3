//! What a virtual socket adds to the messages sent through it. Owns both annotation forms and how each
//! one marks a payload; never decides which annotation of a chain applies.

use crate::kind::Kind;
use crate::limits::PREFIX_BYTES;
use crate::object;

/// How a virtual socket marks the messages that are sent through it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Annotation {
    /// 1 to [`PREFIX_BYTES`] bytes that precede every payload. Made by [`Annotation::prefix`].
    Prefix(Box<[u8]>),
    /// A number. A binary payload gets it as four big-endian bytes in front; a text payload that is a
    /// JSON object gets it as the property `_vsud`.
    UserData(i32),
}

impl Annotation {
    /// Makes the annotation that puts these bytes in front of a payload; `None` if `prefix` is empty.
    pub fn prefix(prefix: &[u8]) -> Result<Option<Self>, AnnotationError> {
        match prefix.len() {
            0 => Ok(None),
            1..=PREFIX_BYTES => Ok(Some(Self::Prefix(prefix.into()))),
            given => Err(AnnotationError::PrefixTooLong { given }),
        }
    }

    /// Returns the payload as the owner of the virtual socket receives it. A text payload must be UTF-8
    /// and stays UTF-8: what a prefix makes invalid is replaced by U+FFFD.
    ///
    /// Returns [`NotAnObject`] for user data and a text that is not a JSON object. The caller then
    /// sends the payload unchanged.
    pub fn apply(&self, kind: Kind, payload: &[u8]) -> Result<Vec<u8>, NotAnObject> {
        match (self, kind) {
            (Self::Prefix(prefix), Kind::Binary) => Ok([prefix, payload].concat()),
            (Self::Prefix(prefix), Kind::Text) => Ok(valid_text([prefix, payload].concat())),
            (Self::UserData(number), Kind::Binary) => Ok([&number.to_be_bytes(), payload].concat()),
            (Self::UserData(number), Kind::Text) => {
                with_user_data(*number, payload).ok_or(NotAnObject)
            }
        }
    }
}

/// Why a virtual socket cannot have an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnnotationError {
    /// More than [`PREFIX_BYTES`] bytes.
    #[error("user prefix cannot exceed {PREFIX_BYTES} bytes, got {given}")]
    PrefixTooLong {
        /// How many bytes were given.
        given: usize,
    },
}

/// The text is not a JSON object, so user data cannot be added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is not a JSON object")]
pub struct NotAnObject;

fn valid_text(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => text.into_bytes(),
        Err(invalid) => String::from_utf8_lossy(invalid.as_bytes())
            .into_owned()
            .into_bytes(),
    }
}

/// Returns the object with `_vsud` as its first property. Properties of that name that the sender wrote
/// are removed, because a parser would use the last one.
fn with_user_data(number: i32, text: &[u8]) -> Option<Vec<u8>> {
    let object = object::parse(text, USER_DATA_KEY)?;
    let property = format!("\"{USER_DATA_KEY}\":{number}");
    let mut marked = Vec::with_capacity(text.len() + property.len() + 1);
    marked.extend_from_slice(&text[..object.inside.start]);
    marked.extend_from_slice(property.as_bytes());
    if object.members > object.named.len() {
        marked.push(b',');
    }
    let mut copied = object.inside.start;
    for stray in &object.named {
        // each is removed with the comma before it or, if it is the first, with the comma after it
        if stray.start > copied {
            marked.extend_from_slice(&text[copied..stray.start - 1]);
            copied = stray.end;
        } else {
            copied = stray.end + usize::from(stray.end < object.inside.end);
        }
    }
    marked.extend_from_slice(&text[copied..]);
    Some(marked)
}

const USER_DATA_KEY: &str = "_vsud";

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(prefix: &[u8]) -> Annotation {
        Annotation::prefix(prefix).unwrap().unwrap()
    }

    fn text(annotation: &Annotation, text: &str) -> Result<String, NotAnObject> {
        let marked = annotation.apply(Kind::Text, text.as_bytes())?;
        Ok(String::from_utf8(marked).expect("text stays UTF-8"))
    }

    #[test]
    fn a_prefix_has_1_to_15_bytes() {
        assert_eq!(Annotation::prefix(b""), Ok(None));
        assert_eq!(
            Annotation::prefix(&[7; 15]),
            Ok(Some(Annotation::Prefix([7; 15].into())))
        );
        let error = Annotation::prefix(&[7; 16]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "user prefix cannot exceed 15 bytes, got 16"
        );
    }

    #[test]
    fn a_prefix_goes_in_front() {
        assert_eq!(
            prefix(b"\xff\0").apply(Kind::Binary, b"ab"),
            Ok(b"\xff\0ab".to_vec())
        );
        assert_eq!(
            prefix(b"\xff\0").apply(Kind::Binary, b""),
            Ok(b"\xff\0".to_vec())
        );
        assert_eq!(
            text(&prefix(b"room:"), "{\"a\":1}").as_deref(),
            Ok("room:{\"a\":1}")
        );
        assert_eq!(
            text(&prefix("\u{e9}".as_bytes()), "\u{e8}").as_deref(),
            Ok("\u{e9}\u{e8}")
        );
    }

    #[test]
    fn invalid_utf8_behind_a_prefix_becomes_the_replacement_character() {
        assert_eq!(text(&prefix(b"\xffa"), "b").as_deref(), Ok("\u{fffd}ab"));
        assert_eq!(
            text(&prefix(b"a\xc3"), "b").as_deref(),
            Ok("a\u{fffd}b"),
            "the payload begins inside a character"
        );
        assert_eq!(text(&prefix(b"\xc3"), "").as_deref(), Ok("\u{fffd}"));
    }

    #[test]
    fn user_data_is_four_bytes_before_binary_data() {
        let apply = |number, data: &[u8]| Annotation::UserData(number).apply(Kind::Binary, data);
        assert_eq!(apply(258, b"x"), Ok(vec![0, 0, 1, 2, b'x']));
        assert_eq!(apply(-1, b""), Ok(vec![255; 4]));
        assert_eq!(apply(0, b"{}"), Ok(vec![0, 0, 0, 0, b'{', b'}']));
    }

    #[test]
    fn user_data_is_the_first_property_of_an_object() {
        for (number, given, marked) in [
            (
                12345,
                r#"{"your":"original","data":true}"#,
                r#"{"_vsud":12345,"your":"original","data":true}"#,
            ),
            (12345, "{}", r#"{"_vsud":12345}"#),
            (0, r#"{"a":1}"#, r#"{"_vsud":0,"a":1}"#),
            (i32::MIN, "{}", r#"{"_vsud":-2147483648}"#),
            (
                5,
                " \t\r\n{ \"a\" : 1 } \n",
                " \t\r\n{\"_vsud\":5, \"a\" : 1 } \n",
            ),
            (5, "{ }", "{\"_vsud\":5 }"),
            (5, r#"{"a":{"_vsud":1}}"#, r#"{"_vsud":5,"a":{"_vsud":1}}"#),
            (5, r#"{"a":"_vsud"}"#, r#"{"_vsud":5,"a":"_vsud"}"#),
            (5, "{\"\u{e9}\":\"}\"}", "{\"_vsud\":5,\"\u{e9}\":\"}\"}"),
        ] {
            assert_eq!(
                text(&Annotation::UserData(number), given).as_deref(),
                Ok(marked)
            );
        }
    }

    #[test]
    fn a_senders_own_vsud_property_is_removed() {
        for (given, marked) in [
            (r#"{"_vsud":1}"#, r#"{"_vsud":5}"#),
            (r#"{"_vsud":1,"a":2}"#, r#"{"_vsud":5,"a":2}"#),
            (r#"{"a":2,"_vsud":1}"#, r#"{"_vsud":5,"a":2}"#),
            (
                r#"{"a":2, "_vsud" : [1,2] , "b":3}"#,
                r#"{"_vsud":5,"a":2, "b":3}"#,
            ),
            (
                r#"{"_vsud":1,"_vsud":2,"a":3,"_vsud":4,"_vsud":5}"#,
                r#"{"_vsud":5,"a":3}"#,
            ),
            (r#"{"\u005fvsu\u0064":1,"a":2}"#, r#"{"_vsud":5,"a":2}"#),
            (r#"{ "_vsud":1 }"#, r#"{"_vsud":5}"#),
        ] {
            assert_eq!(text(&Annotation::UserData(5), given).as_deref(), Ok(marked));
        }
    }

    #[test]
    fn user_data_cannot_be_added_to_a_text_that_is_not_an_object() {
        for given in [
            "", " ", "plain", "[1]", "[{}]", "\"{}\"", "1", "null", "{", "}", "{1:2}", "{}{}",
            "x{}", "{}x",
        ] {
            assert_eq!(
                text(&Annotation::UserData(1), given),
                Err(NotAnObject),
                "{given}"
            );
        }
    }
}
