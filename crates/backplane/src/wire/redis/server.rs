//! What a Redis server reports about itself and its cluster. Owns the parsing.

use crate::wire::SlotRange;
use crate::wire::reply::Value;

/// Why a server cannot connect nodes, according to its hello.
pub(super) fn unfit(hello: &Value<'_>) -> Option<&'static str> {
    let Value::List(fields) = hello else {
        return None;
    };
    let field = |name: &[u8]| {
        let mut pairs = fields.chunks_exact(2);
        pairs.find_map(|pair| match pair {
            [Value::Text(known), Value::Text(value)] if *known == name => Some(*value),
            _ => None,
        })
    };
    match (field(b"mode")?, field(b"role")?) {
        (b"sentinel", _) => Some("it is a Sentinel, which does not forward messages"),
        (b"standalone", b"replica" | b"slave") => {
            Some("it is a replica: messages published there do not reach its master")
        }
        _ => None,
    }
}

/// Whether an error says that the slot belongs to another node of the cluster, or to none.
pub(super) fn is_moved(text: &[u8]) -> bool {
    [&b"MOVED "[..], b"ASK ", b"CLUSTERDOWN", b"TRYAGAIN"]
        .iter()
        .any(|front| text.starts_with(front))
}

/// Parses one entry of `CLUSTER SLOTS`: the slots and their master.
pub(super) fn slot_range(value: &Value<'_>) -> Option<SlotRange> {
    let Value::List(items) = value else {
        return None;
    };
    let [
        Value::Integer(first),
        Value::Integer(last),
        Value::List(node),
        ..,
    ] = &**items
    else {
        return None;
    };
    let [host, Value::Integer(port), ..] = &**node else {
        return None;
    };
    let host = match host {
        Value::Text(b"?") => "",
        Value::Text(host) => str::from_utf8(host).ok()?,
        _ => "",
    };
    Some(SlotRange {
        first: u16::try_from(*first).ok()?,
        last: u16::try_from(*last).ok()?,
        host: host.to_owned(),
        port: u16::try_from(*port).ok()?,
    })
}
