//! Messages for subscribers, each with the channel that it was published in.

use super::reply::{Reply, Version};

/// Appends a message for a subscriber of the channel.
pub fn append_message(version: Version, channel: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    append(version, b"message", &[channel, payload], out);
}

/// Appends a message for a subscriber of a pattern that matches the channel.
pub fn append_pattern_message(
    version: Version,
    pattern: &[u8],
    channel: &[u8],
    payload: &[u8],
    out: &mut Vec<u8>,
) {
    append(version, b"pmessage", &[pattern, channel, payload], out);
}

/// Appends a message for a subscriber of a sharded channel.
pub fn append_shard_message(version: Version, channel: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    append(version, b"smessage", &[channel, payload], out);
}

fn append(version: Version, kind: &[u8], parts: &[&[u8]], out: &mut Vec<u8>) {
    let mut reply = Reply::new(version, out);
    reply.push(parts.len() + 1);
    reply.bulk(kind);
    for part in parts {
        reply.bulk(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_arrays_or_pushes() {
        let mut out = Vec::new();
        append_message(Version::Resp2, b"room", b"hi", &mut out);
        assert_eq!(out, b"*3\r\n$7\r\nmessage\r\n$4\r\nroom\r\n$2\r\nhi\r\n");
        out.clear();
        append_pattern_message(Version::Resp3, b"r*", b"room", b"", &mut out);
        assert_eq!(
            out,
            b">4\r\n$8\r\npmessage\r\n$2\r\nr*\r\n$4\r\nroom\r\n$0\r\n\r\n"
        );
        out.clear();
        append_shard_message(Version::Resp3, b"a", b"b", &mut out);
        assert_eq!(out, b">3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$1\r\nb\r\n");
    }
}
