//! What the answers of Redis say. What other programs have written says nothing.

use ahash::AHashSet;
use redis::Value;

use super::super::follow::Page;
use super::super::message;
use super::super::own::Written;
use super::super::register::{Reply, Request};
use super::super::session::Session;

/// What an answer says.
pub(super) fn reply(request: &Request, value: Value) -> Reply {
    match request {
        Request::Beat => match sessions(&value) {
            Some((lives, live)) => Reply::Beat { lives, live },
            None => Reply::Done,
        },
        Request::Mark(session, _) => match value {
            Value::BulkString(known) if Session::parse(&known) == Some(*session) => Reply::Done,
            _ => Reply::Lost,
        },
        Request::Subscribe(_) => Reply::Done,
        Request::Index(..) => index(value).map_or(Reply::Done, Reply::Index),
        Request::Page(..) => members(value).map_or(Reply::Done, |page| Reply::Page(Some(page))),
        Request::Write(..) => Reply::Written(match value {
            Value::Int(1) => Written::Done,
            Value::Int(2) => Written::Emptied,
            _ => Written::Doubtful,
        }),
        Request::Check(..) => Reply::Version(match value {
            Value::BulkString(text) => number(&text),
            _ => None,
        }),
    }
}

/// What a beat returns: whether the session lives, and all that do.
fn sessions(value: &Value) -> Option<(bool, AHashSet<Session>)> {
    let Value::Array(parts) = value else {
        return None;
    };
    let (Value::Int(lives), rest) = parts.split_first()? else {
        return None;
    };
    let session = |part: &Value| match part {
        Value::BulkString(text) => Session::parse(text),
        _ => None,
    };
    Some((*lives == 1, rest.iter().filter_map(session).collect()))
}

/// Who has members.
fn index(value: Value) -> Option<Vec<(Session, Option<u64>)>> {
    let place =
        |(name, version): &(Vec<u8>, Vec<u8>)| Some((Session::parse(name)?, number(version)));
    Some(pairs(value)?.iter().filter_map(place).collect())
}

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// What a hash has, or a part of it.
fn pairs(value: Value) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let parts = match value {
        Value::Map(pairs) => pairs
            .into_iter()
            .flat_map(|(name, value)| [name, value])
            .collect(),
        Value::Array(parts) => parts,
        _ => return None,
    };
    let mut pairs = Vec::with_capacity(parts.len() / 2);
    let mut parts = parts.into_iter();
    while let Some(name) = parts.next() {
        let (Value::BulkString(name), Some(Value::BulkString(value))) = (name, parts.next()) else {
            return None;
        };
        pairs.push((name, value));
    }
    Some(pairs)
}

/// A page of members. What other programs have written is left out.
fn members(value: Value) -> Option<Page> {
    let Value::Array(parts) = value else {
        return None;
    };
    let mut parts = parts.into_iter();
    let (Some(Value::BulkString(cursor)), Some(found)) = (parts.next(), parts.next()) else {
        return None;
    };
    let cursor = String::from_utf8(cursor).ok()?;
    let seat = |(field, value): &(Vec<u8>, Vec<u8>)| message::member(field, value);
    Some(Page {
        seats: pairs(found)?.iter().filter_map(seat).collect(),
        changes: Vec::new(),
        next: (cursor != "0").then(|| cursor.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &[u8]) -> Value {
        Value::BulkString(text.to_vec())
    }

    #[test]
    fn a_page_has_the_members_that_nodes_have_written() {
        let found = vec![
            text(&message::field(7)),
            text(b"\0\0\0\0\0\0\0\0\"Ada\""),
            text(b"foreign"),
            text(b"x"),
        ];
        for (cursor, next) in [(&b"0"[..], None), (b"17", Some("17".into()))] {
            let value = Value::Array(vec![text(cursor), Value::Array(found.clone())]);
            let page = members(value).unwrap();
            assert_eq!((page.seats.len(), page.next), (1, next));
            assert_eq!(page.seats[0].info.as_deref(), Some("\"Ada\""));
        }
        assert_eq!(members(Value::Nil), None);
        assert_eq!(members(Value::Array(vec![text(b"0")])), None);
        let odd = Value::Array(vec![text(b"0"), Value::Array(found[..3].to_vec())]);
        assert_eq!(members(odd), None);
    }

    #[test]
    fn a_beat_says_who_lives() {
        let session = Session { node: 1, number: 2 };
        let name = text(session.to_string().as_bytes());
        let value = Value::Array(vec![Value::Int(1), name, text(b"foreign")]);
        assert_eq!(
            sessions(&value),
            Some((true, [session].into_iter().collect()))
        );
        assert_eq!(sessions(&Value::Array(vec![])), None);
        assert_eq!(sessions(&Value::Int(1)), None);
    }
}
