//! What the scripts answer. Owns the parsing; what is of another form is refused as a whole, and messages that other
//! programs wrote are left out.

use bytes::Bytes;
use millrace_core::{Epoch, Position};
use redis::Value;

use super::feed::Appended;
use super::publication::{self, Id, Published, Told};

/// A part of a channel's kept messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) epoch: Epoch,
    /// The offset of the newest message, kept or not.
    pub(super) newest: u64,
    /// Its id.
    pub(super) last: Id,
    /// Where the next page begins; `None`: this is the last one.
    pub(super) next: Option<u64>,
    pub(super) messages: Vec<Published>,
    /// The entries that were left out.
    pub(super) foreign: u64,
}

/// Parses what `read.lua` returns.
pub(super) fn page(reply: Value, own: u64) -> Option<Page> {
    let Value::Array(parts) = reply else {
        return None;
    };
    let mut parts = parts.into_iter();
    let mut text = || match parts.next() {
        Some(Value::BulkString(text)) => Some(text),
        _ => None,
    };
    let epoch = Epoch::parse(&text()?)?;
    let newest = number(&text()?)?;
    let last = match &*text()? {
        b"" => Id::default(),
        id => Id::parse(id)?,
    };
    let next = match &*text()? {
        b"" => None,
        cursor => Some(number(cursor)?),
    };
    let (mut messages, mut foreign) = (Vec::new(), 0);
    for part in parts {
        let told = match part {
            Value::BulkString(bytes) => publication::parse(&Bytes::from(bytes), own),
            _ => None,
        };
        match told {
            Some(Told::Published(message)) => messages.push(message),
            _ => foreign += 1,
        }
    }
    Some(Page {
        epoch,
        newest,
        last,
        next,
        messages,
        foreign,
    })
}

/// Parses what `publish.lua` returns.
pub(super) fn appended(reply: &Value) -> Option<Appended> {
    let Value::Array(parts) = reply else {
        return None;
    };
    let [
        Value::BulkString(epoch),
        Value::BulkString(offset),
        Value::Int(is_repeated),
    ] = &**parts
    else {
        return None;
    };
    let position = Position {
        epoch: Epoch::parse(epoch)?,
        offset: number(offset)?,
    };
    Some(Appended {
        position,
        is_repeated: *is_repeated != 0,
    })
}

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &[u8]) -> Value {
        Value::BulkString(text.to_vec())
    }

    const EPOCH: &[u8] = b"00000000000000ff";

    #[test]
    fn a_page_has_its_head_and_what_nodes_have_written() {
        let head = [text(EPOCH), text(b"12"), text(&[1; 16]), text(b"9")];
        let parts = [&head[..], &[text(b"foreign"), Value::Nil]].concat();
        let found = page(Value::Array(parts), 1).unwrap();
        let last = Id {
            node: 0x0101_0101_0101_0101,
            number: 0x0101_0101_0101_0101,
        };
        let expected = Page {
            epoch: Epoch::new(255),
            newest: 12,
            last,
            next: Some(9),
            messages: vec![],
            foreign: 2,
        };
        assert_eq!(found, expected);
        for end in 0..head.len() {
            assert_eq!(page(Value::Array(head[..end].to_vec()), 1), None);
        }
        let mut empty = head.clone();
        empty[2] = text(b"");
        empty[3] = text(b"");
        let found = page(Value::Array(empty.to_vec()), 1).unwrap();
        assert_eq!((found.last, found.next), (Id::default(), None));
        for (place, wrong) in [(0, b"00"), (1, b"-1"), (2, b"00"), (3, b"xx")] {
            let mut parts = head.to_vec();
            parts[place] = text(wrong);
            assert_eq!(page(Value::Array(parts), 1), None, "{place}");
        }
        assert_eq!(page(Value::Nil, 1), None);
    }

    #[test]
    fn an_answer_has_a_position() {
        let answer = |repeated| Value::Array(vec![text(EPOCH), text(b"3"), Value::Int(repeated)]);
        let position = Position {
            epoch: Epoch::new(255),
            offset: 3,
        };
        for is_repeated in [false, true] {
            let expected = Appended {
                position,
                is_repeated,
            };
            assert_eq!(appended(&answer(i64::from(is_repeated))), Some(expected));
        }
        assert_eq!(appended(&Value::Nil), None);
        let short = Value::Array(vec![text(EPOCH), text(b"3")]);
        assert_eq!(appended(&short), None);
    }
}
