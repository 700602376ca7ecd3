//! The form of the questions to a worker's handlers, and of their answers, as `js/src/v1/v1-worker.ts` has it. Pure.

use millrace_core::Kind;
use millrace_protocol::v1::Code;

/// What a handler has answered.
pub(super) enum Verdict<'a> {
    Yes,
    /// The result of a call, or what is published instead.
    Data(Kind, &'a [u8]),
    /// The code and the reason of an error.
    No(&'a str, Option<&'a str>),
}

impl<'a> Verdict<'a> {
    /// `fields`: the verdict, the bytes of the code in the payload, and whether the rest of it is a reason.
    pub(super) fn read(fields: &[u8], payload: &'a [u8]) -> Self {
        let code = |code: Code, reason| Self::No(code.text(), Some(reason));
        match *fields {
            [YES, ..] => Self::Yes,
            [SAYS_TEXT, ..] => Self::Data(Kind::Text, payload),
            [SAYS_BYTES, ..] => Self::Data(Kind::Binary, payload),
            [DENIED, ..] => code(Code::Denied, "the handler does not allow it"),
            [LATE, ..] => code(Code::Timeout, "the handler took too long"),
            [ERROR, length, has_reason, ..] => {
                let parts = payload.split_at_checked(length.into());
                let texts = parts.and_then(|(code, reason)| {
                    Some((str::from_utf8(code).ok()?, str::from_utf8(reason).ok()?))
                });
                match texts {
                    Some((code, reason)) => Self::No(code, (has_reason > 0).then_some(reason)),
                    None => code(Code::Failed, FAILED),
                }
            }
            _ => code(Code::Failed, FAILED),
        }
    }
}

/// The fields of a question: its number, flags, and the length of a name; an offset; then the name, and an epoch.
pub(super) fn fields(
    (number, flags): (u32, u32),
    name: &[u8],
    since: Option<(&str, u64)>,
) -> Vec<u8> {
    let (epoch, offset) = since.unwrap_or_default();
    let mut flags = flags | if since.is_some() { SINCE } else { 0 };
    if str::from_utf8(name).is_ok() {
        flags |= NAME_IS_TEXT;
    }
    // headers are short
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
    let mut fields = Vec::with_capacity(20 + name.len() + epoch.len());
    for word in [number, flags, length] {
        fields.extend_from_slice(&word.to_le_bytes());
    }
    fields.extend_from_slice(&offset.to_le_bytes());
    fields.extend_from_slice(name);
    fields.extend_from_slice(epoch.as_bytes());
    fields
}

/// The flags of questions.
pub(super) const TEXT: u32 = 1;
const NAME_IS_TEXT: u32 = 2;
const SINCE: u32 = 4;
pub(super) const INFO: u32 = 8;

/// The verdicts by number; any other is a failure.
const YES: u8 = 1;
const SAYS_TEXT: u8 = 2;
const SAYS_BYTES: u8 = 3;
const DENIED: u8 = 4;
const LATE: u8 = 5;
const ERROR: u8 = 6;

const FAILED: &str = "the handler failed";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[u8], payload: &[u8]) -> String {
        match Verdict::read(fields, payload) {
            Verdict::Yes => "yes".to_owned(),
            Verdict::Data(kind, data) => format!("{kind:?} {}", data.escape_ascii()),
            Verdict::No(code, reason) => format!("{code} {reason:?}"),
        }
    }

    #[test]
    fn anything_that_is_no_verdict_is_a_failure() {
        let failed = format!("failed {:?}", Some(FAILED));
        assert_eq!(read(&[YES], b""), "yes");
        assert_eq!(read(&[SAYS_TEXT, 0, 0, 0], b"a"), "Text a");
        assert_eq!(read(&[SAYS_BYTES, 0, 0, 0], b"\xff"), "Binary \\xff");
        assert_eq!(read(&[ERROR, 3, 0, 0], b"own"), "own None");
        assert_eq!(read(&[ERROR, 3, 1, 0], b"ownwhy"), "own Some(\"why\")");
        for (fields, payload) in [
            (&[][..], &b""[..]),
            (&[0], b""),
            (&[99], b""),
            (&[ERROR, 4, 0], b"own"),
            (&[ERROR, 1, 0], b"\xff"),
            (&[ERROR], b"own"),
        ] {
            assert_eq!(read(fields, payload), failed, "{fields:?}");
        }
    }

    #[test]
    fn a_question_says_whether_its_name_is_text() {
        let asked = fields((7, TEXT), b"room", Some(("ep", 1 << 33)));
        let head = [7_u32, TEXT | NAME_IS_TEXT | SINCE, 4].map(u32::to_le_bytes);
        let expected = [head.as_flattened(), &(1_u64 << 33).to_le_bytes(), b"roomep"];
        assert_eq!(asked, expected.concat());
        let asked = fields((7, 0), b"\xff", None);
        assert_eq!(asked.get(4..8), Some(&[0; 4][..]));
    }
}
