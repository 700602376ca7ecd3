//! Patterns: Redis's glob rules on bytes. Owns how a pattern is parsed and what it matches, with bounded
//! work for every pattern; never knows its subscribers.
//!
//! A part between two `*` has a fixed length, so its leftmost match is always the right one and the
//! search never backtracks.

use crate::limits::{PATTERN_BYTES, PATTERN_STEPS, PATTERNS};

/// A pattern, ready to match.
///
/// `*` matches any bytes, `?` any one byte, `[a-c]` one byte of a set, `[^a]` one byte outside it, and
/// `\` takes the next byte literally. As in Redis, an unfinished set ends with the pattern, and only the
/// empty pattern matches the empty name.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The bytes with which every match begins.
    literal: Box<[u8]>,
    rest: Rest,
}

/// Why a pattern is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// More than [`PATTERN_BYTES`] bytes.
    #[error("a pattern cannot exceed {PATTERN_BYTES} bytes, got {given}")]
    TooLong {
        /// How many bytes were given.
        given: usize,
    },
    /// [`PATTERNS`] patterns have a subscriber already.
    #[error("there cannot be more than {PATTERNS} patterns")]
    TooMany,
}

/// What follows the literal bytes at the beginning.
#[derive(Clone, Debug)]
enum Rest {
    /// Nothing: a name matches only if it equals the literal bytes.
    End,
    /// `*`: every name that begins with the literal bytes matches.
    Open,
    /// A fixed number of bytes, each with its rule.
    Fixed(Box<[One]>),
    /// Parts of fixed length with any bytes between them.
    Parts(Box<Parts>),
}

#[derive(Clone, Debug)]
struct Parts {
    /// The part before the first `*`.
    head: Box<[One]>,
    /// The parts between two `*`. No part is empty.
    middle: Box<[Box<[One]>]>,
    /// The part behind the last `*`.
    tail: Box<[One]>,
    shortest: usize,
}

/// The rule for one byte.
#[derive(Clone, Debug)]
enum One {
    Byte(u8),
    Any,
    Set(Box<[u64; 4]>),
}

enum Token {
    Star,
    One(One),
}

impl Pattern {
    /// Parses a pattern. Every text of up to [`PATTERN_BYTES`] bytes is valid.
    ///
    /// ```
    /// # use millrace_core::Pattern;
    /// let pattern = Pattern::new(b"room:[0-9]*")?;
    /// assert!(pattern.matches(b"room:17") && !pattern.matches(b"room:x"));
    /// # Ok::<(), millrace_core::PatternError>(())
    /// ```
    pub fn new(text: &[u8]) -> Result<Self, PatternError> {
        if text.len() > PATTERN_BYTES {
            return Err(PatternError::TooLong { given: text.len() });
        }
        let mut tokens = tokens(text);
        let literal: Vec<u8> = tokens.iter().map_while(Token::byte).collect();
        tokens.drain(..literal.len());
        Ok(Self {
            literal: literal.into(),
            rest: Rest::of(tokens),
        })
    }

    /// Whether the pattern matches this name.
    pub fn matches(&self, name: &[u8]) -> bool {
        name.strip_prefix(&*self.literal)
            .is_some_and(|rest| self.matches_behind_literal(name, rest))
    }

    /// The bytes with which every match begins.
    pub(crate) fn literal(&self) -> &[u8] {
        &self.literal
    }

    /// Does the same as [`matches`](Self::matches) for a name that is the literal bytes followed by
    /// `rest`.
    pub(crate) fn matches_behind_literal(&self, name: &[u8], rest: &[u8]) -> bool {
        match &self.rest {
            Rest::End => rest.is_empty(),
            Rest::Open => !name.is_empty(),
            Rest::Fixed(ones) => fits(ones, rest),
            Rest::Parts(parts) => parts.matches(rest),
        }
    }
}

impl Rest {
    fn of(tokens: Vec<Token>) -> Self {
        let mut parts = vec![Vec::new()];
        for token in tokens {
            match (token, parts.last_mut()) {
                (Token::One(one), Some(part)) => part.push(one),
                _ => parts.push(Vec::new()),
            }
        }
        let mut parts: Vec<Box<[One]>> = parts.into_iter().map(Into::into).collect();
        let tail = parts.pop().unwrap_or_default();
        if parts.is_empty() {
            return if tail.is_empty() {
                Self::End
            } else {
                Self::Fixed(tail)
            };
        }
        let head = parts.remove(0);
        parts.retain(|part| !part.is_empty());
        let shortest = parts.iter().map(|part| part.len()).sum::<usize>() + head.len() + tail.len();
        if shortest == 0 {
            return Self::Open;
        }
        Self::Parts(Box::new(Parts {
            head,
            middle: parts.into(),
            tail,
            shortest,
        }))
    }
}

impl Parts {
    fn matches(&self, name: &[u8]) -> bool {
        if name.len() < self.shortest {
            return false;
        }
        let (head, name) = name.split_at(self.head.len());
        let (mut name, tail) = name.split_at(name.len() - self.tail.len());
        if !fits(&self.head, head) || !fits(&self.tail, tail) {
            return false;
        }
        let mut steps = PATTERN_STEPS + PATTERN_STEPS_PER_BYTE * name.len();
        self.middle.iter().all(|part| {
            let found = find(part, name, &mut steps);
            found
                .and_then(|start| name.get(start + part.len()..))
                .map(|behind| name = behind)
                .is_some()
        })
    }
}

impl Token {
    fn byte(&self) -> Option<u8> {
        match self {
            Self::One(One::Byte(byte)) => Some(*byte),
            _ => None,
        }
    }
}

impl One {
    fn is(&self, byte: u8) -> bool {
        match self {
            Self::Byte(wanted) => *wanted == byte,
            Self::Any => true,
            Self::Set(set) => contains(set, byte),
        }
    }
}

/// The leftmost place of a part; `None` if it does not occur or the search takes more than `steps`
/// comparisons.
fn find(part: &[One], name: &[u8], steps: &mut usize) -> Option<usize> {
    for (start, window) in name.windows(part.len()).enumerate() {
        let agreeing = part
            .iter()
            .zip(window)
            .take_while(|(one, byte)| one.is(**byte))
            .count();
        if agreeing == part.len() {
            return Some(start);
        }
        *steps = steps.checked_sub(agreeing + 1)?;
    }
    None
}

fn fits(ones: &[One], bytes: &[u8]) -> bool {
    ones.len() == bytes.len() && ones.iter().zip(bytes).all(|(one, byte)| one.is(*byte))
}

fn tokens(mut text: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len());
    while let Some((&first, behind)) = text.split_first() {
        text = behind;
        tokens.push(match first {
            b'*' => Token::Star,
            b'?' => Token::One(One::Any),
            b'[' => Token::One(set(&mut text)),
            b'\\' => {
                let escaped = text.split_off_first().copied();
                Token::One(One::Byte(escaped.unwrap_or(b'\\')))
            }
            byte => Token::One(One::Byte(byte)),
        });
    }
    tokens
}

/// Parses the set that begins behind a `[` and removes it from `text`.
fn set(text: &mut &[u8]) -> One {
    let mut set = Box::new([0; 4]);
    let not = text.first() == Some(&b'^');
    if not {
        text.split_off_first();
    }
    loop {
        match **text {
            [b'\\', escaped, ..] => {
                insert(&mut set, escaped);
                *text = &text[2..];
            }
            [b']', ..] => {
                *text = &text[1..];
                break;
            }
            [] => break,
            [start, b'-', end, ..] => {
                for byte in start.min(end)..=start.max(end) {
                    insert(&mut set, byte);
                }
                *text = &text[3..];
            }
            [byte, ..] => {
                insert(&mut set, byte);
                *text = &text[1..];
            }
        }
    }
    if not {
        set.iter_mut().for_each(|word| *word = !*word);
    }
    One::Set(set)
}

fn insert(set: &mut [u64; 4], byte: u8) {
    set[usize::from(byte >> 6)] |= 1 << (byte & 63);
}

fn contains(set: &[u64; 4], byte: u8) -> bool {
    set[usize::from(byte >> 6)] & (1 << (byte & 63)) != 0
}

/// Comparisons allowed for each byte of the name, in addition to [`PATTERN_STEPS`].
const PATTERN_STEPS_PER_BYTE: usize = 16;

#[cfg(test)]
mod tests;
