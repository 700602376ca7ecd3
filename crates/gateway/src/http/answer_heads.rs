//! The latest heads of a worker's answers, because most answers have one of a few. Owns no answer.

use super::{AnswerHead, HeadError};

/// See the module.
#[derive(Debug, Default)]
pub struct AnswerHeads {
    /// Each head has one place, which it shares with others.
    known: [Option<Known>; PLACES],
}

/// A head, and what it was read from.
#[derive(Debug)]
struct Known {
    status: u32,
    text: String,
    parts: usize,
    head: AnswerHead,
}

impl AnswerHeads {
    /// Does the same as [`AnswerHead::parse`] without keeping a length.
    pub fn read(&mut self, status: u32, text: &str, parts: usize) -> Result<AnswerHead, HeadError> {
        let place = text
            .len()
            .wrapping_add(usize::try_from(status).unwrap_or_default())
            % PLACES;
        let Some(known) = self.known.get_mut(place) else {
            return AnswerHead::parse(status, text, parts, false);
        };
        if let Some(known) = known
            && known.status == status
            && known.parts == parts
            && known.text == text
        {
            // it comes again, so it is worth preparing
            known.head.prepare();
            return Ok(known.head.clone());
        }
        let head = AnswerHead::parse(status, text, parts, false)?;
        if text.len() <= LONGEST {
            let mut kept = known.take().map(|known| known.text).unwrap_or_default();
            kept.clear();
            kept.push_str(text);
            *known = Some(Known {
                status,
                text: kept,
                parts,
                head: head.clone(),
            });
        }
        Ok(head)
    }
}

/// The number of heads that are kept, and the longest text of one.
const PLACES: usize = 8;
const LONGEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(head: &AnswerHead) -> (String, bool) {
        let mut out = Vec::new();
        let is_dated = head.append_lines(&mut out);
        (String::from_utf8(out).unwrap(), is_dated)
    }

    #[test]
    fn a_head_is_written_the_same_whether_it_is_known_or_not() {
        let mut heads = AnswerHeads::default();
        let all = [
            (200, "content-type\0text/plain\0x\0a", 4),
            (404, "content-type\0text/plain\0x\0a", 4),
            // of the same length and status, so in the same place
            (200, "content-type\0text/plain\0x\0b", 4),
            (200, "date\0today", 2),
            (200, ":reason\0Fine\0connection\0close", 4),
            (200, "", 0),
        ];
        for _ in 0..3 {
            for (status, text, parts) in all {
                let parsed = AnswerHead::parse(status, text, parts, false).unwrap();
                for _ in 0..3 {
                    let head = heads.read(status, text, parts).unwrap();
                    assert_eq!(lines(&head), lines(&parsed), "{text:?}");
                    assert_eq!(head.closes(), parsed.closes(), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn another_number_of_parts_is_another_head() {
        let mut heads = AnswerHeads::default();
        assert!(heads.read(200, "a\0b", 2).is_ok());
        assert!(heads.read(200, "a\0b", 4).is_err());
        assert!(heads.read(200, "a\0b", 2).is_ok());
    }

    #[test]
    fn an_invalid_head_and_a_long_one_are_not_kept() {
        let mut heads = AnswerHeads::default();
        assert!(heads.read(200, "a b\0c", 2).is_err());
        assert!(heads.read(99, "", 0).is_err());
        let long = format!("x\0{}", "a".repeat(LONGEST));
        assert!(heads.read(200, &long, 2).is_ok());
        assert!(heads.known.iter().all(Option::is_none));
    }
}
