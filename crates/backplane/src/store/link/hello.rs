//! What a server says about itself and its cluster. Owns the parsing.

use redis::Value;

use crate::wire::SlotRange;

/// Why a server cannot keep histories, according to its hello.
pub(super) fn unfit(hello: &Value, is_cluster: bool) -> Option<&'static str> {
    let Value::Map(fields) = hello else {
        return None;
    };
    let field = |wanted: &str| {
        fields
            .iter()
            .find_map(|(name, value)| (text(name)? == wanted.as_bytes()).then(|| text(value))?)
    };
    match (field("mode")?, field("role")?) {
        (b"sentinel", _) => Some("it is a Sentinel, which keeps no histories"),
        (b"cluster", _) if is_cluster => None,
        (b"cluster", _) => Some("it is a node of a cluster"),
        _ if is_cluster => Some("it is not a node of a cluster"),
        (_, b"replica" | b"slave") => Some("it is a replica, to which nothing can be written"),
        _ => None,
    }
}

/// One entry of `CLUSTER SLOTS`: the slots and their master.
pub(super) fn slot_range(value: &Value) -> Option<SlotRange> {
    let Value::Array(items) = value else {
        return None;
    };
    let [Value::Int(first), Value::Int(last), Value::Array(node), ..] = &**items else {
        return None;
    };
    let [host, Value::Int(port), ..] = &**node else {
        return None;
    };
    let host = text(host).filter(|host| *host != b"?").unwrap_or_default();
    Some(SlotRange {
        first: u16::try_from(*first).ok()?,
        last: u16::try_from(*last).ok()?,
        host: str::from_utf8(host).ok()?.to_owned(),
        port: u16::try_from(*port).ok()?,
    })
}

fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(text) => Some(text),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_masters_of_the_kind_that_is_wanted_are_used() {
        let word = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let hello = |mode: &str, role: &str| {
            Value::Map(vec![
                (word("server"), word("redis")),
                (word("mode"), word(mode)),
                (word("role"), word(role)),
            ])
        };
        assert_eq!(unfit(&hello("standalone", "master"), false), None);
        assert!(unfit(&hello("standalone", "replica"), false).is_some());
        assert!(unfit(&hello("sentinel", "master"), false).is_some());
        assert!(unfit(&hello("cluster", "master"), false).is_some());
        assert!(unfit(&hello("standalone", "master"), true).is_some());
        for role in ["master", "replica"] {
            assert_eq!(unfit(&hello("cluster", role), true), None);
        }
        assert_eq!(unfit(&Value::Nil, false), None);
    }

    #[test]
    fn slots_have_their_master_first() {
        let word = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let range = |host, port| {
            let node = Value::Array(vec![host, Value::Int(port), word("id")]);
            Value::Array(vec![Value::Int(0), Value::Int(16_383), node])
        };
        let expected = |host: &str| SlotRange {
            first: 0,
            last: 16_383,
            host: host.to_owned(),
            port: 7000,
        };
        assert_eq!(slot_range(&range(word("h"), 7000)), Some(expected("h")));
        for unknown in [word("?"), word(""), Value::Nil] {
            assert_eq!(slot_range(&range(unknown, 7000)), Some(expected("")));
        }
        assert_eq!(slot_range(&range(word("h"), 70_000)), None);
        assert_eq!(slot_range(&Value::Nil), None);
    }
}
