//! Entry points for fuzz targets: a protocol and its node, fed with a server's bytes. Owns the properties that must
//! hold for any bytes; only in tests and with the feature `fuzzing`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_core::Kind;

use crate::config::{BackplaneFull, Bounds, Credentials, Protocol};
use crate::control::Census;
use crate::envelope::Content;
use crate::gauges::Gauges;
use crate::local::{Destination, Local, Trouble};
use crate::node::Node;
use crate::outlet::{Outgoing, Outlet};
use crate::topic::Topic;
use crate::wire::Wire;
use crate::wire::nats::Nats;
use crate::wire::pieces::in_pieces;
use crate::wire::redis::Redis;

/// Feeds these bytes, split alternately into pieces of two sizes, to a node that waits for answers to what it asked
/// and sent. Returns the events, which must be the same however the bytes are split.
///
/// # Panics
///
/// If a property that must always hold does not.
pub fn feed(protocol: Protocol, server: &[u8], steps: [usize; 2]) -> Vec<String> {
    let mut wire = conversation(protocol);
    let outlet = Arc::new(Outlet::new());
    let bounds = Bounds {
        queue_messages: 10,
        queue_bytes: 1000,
        message_bytes: LONGEST,
        full: BackplaneFull::default(),
    };
    outlet.begin(bounds);
    outlet.open();
    let gauges = Arc::new(Gauges::new(Instant::now()));
    let mut node = Node::new(outlet, Arc::clone(&gauges), Box::new(LocalNode), PREFIX);
    let (mut seen, mut out) = (Vec::new(), Vec::new());
    let failure = in_pieces(server, steps, |input, given| {
        let used = wire.read(input, &mut out, &mut |event| {
            seen.push(format!("{event:?}"));
            node.handle(event, Duration::ZERO);
        });
        assert!(
            out.len() <= 2 * given,
            "answers are not longer than the queries"
        );
        assert!(wire.unconfirmed() <= PUBLISHED);
        used
    });
    seen.extend(failure);
    node.flush();
    let stats = gauges.stats(Instant::now());
    assert!(stats.sent + stats.refused <= PUBLISHED + TOPICS);
    seen
}

/// Reads these bytes of a server with JetStream, split alternately into pieces of two sizes, as lines, as an answer and as a
/// record. Returns what was heard, which must be the same however the bytes are split.
///
/// # Panics
///
/// If a property that must always hold does not.
pub fn feed_jetstream(server: &[u8], steps: [usize; 2]) -> Vec<String> {
    crate::store::feed_jetstream(server, steps)
}

/// A connection that has sent its hello, queries and messages.
fn conversation(protocol: Protocol) -> Box<dyn Wire> {
    let nobody = Credentials::default;
    let mut wire: Box<dyn Wire> = match protocol {
        Protocol::Redis => Box::new(Redis::new(PREFIX, nobody(), false, LONGEST)),
        Protocol::RedisCluster => Box::new(Redis::new(PREFIX, nobody(), true, LONGEST)),
        Protocol::Nats => Box::new(Nats::new(PREFIX, nobody(), b"{}", LONGEST)),
    };
    let mut out = Vec::new();
    wire.open(&mut out);
    for topic in [
        Topic::Control,
        Topic::Channel((*b"r").into()),
        Topic::Sharded((*b"r").into()),
        Topic::Pattern((*b"r*").into()),
    ] {
        assert!(wire.subscribe(&topic, &mut out));
    }
    wire.settle(&mut out);
    for number in 1..=PUBLISHED {
        let message = Outgoing {
            is_sharded: false,
            channel: (*b"r").into(),
            content: Content::Message(Kind::Text),
            stamp: crate::envelope::Stamp {
                node: 1,
                stream: 1,
                number,
            },
            body: Bytes::from_static(b"hello"),
        };
        assert!(wire.publish(&message, &mut out));
    }
    wire.settle(&mut out);
    wire
}

/// A node that accepts every message.
struct LocalNode;

impl fmt::Debug for LocalNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalNode")
    }
}

impl Local for LocalNode {
    fn deliver(
        &mut self,
        _: Destination<'_>,
        (kind, payload): (Kind, &[u8]),
        _: Option<(u64, u64)>,
    ) {
        assert!(payload.len() <= LONGEST);
        assert!(kind == Kind::Binary || str::from_utf8(payload).is_ok());
    }
    fn flush(&mut self) {}
    fn topics(&self, _: &mut dyn FnMut(Topic)) {}
    fn census(&self) -> Census {
        Census::default()
    }
    fn subscribers(&self, _: &[u8]) -> u64 {
        1
    }
    fn is_congested(&self) -> bool {
        false
    }
    fn relieved(&self) {}
    fn report(&self, _: Trouble, _: &str) {}
    fn is_ready(&self) {}
}

const PREFIX: &str = "p";

/// The most bytes of one message.
const LONGEST: usize = 200;

/// The numbers of published messages and of subscribed topics.
const PUBLISHED: u64 = 3;
const TOPICS: u64 = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes of servers, and bytes that are almost valid.
    fn server(parts: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            8 => prop::sample::select(parts).prop_map(<[u8]>::to_vec),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
    }

    const REDIS: &[&[u8]] = &[
        b"%1\r\n+proto\r\n:3\r\n",
        b">3\r\n$9\r\nsubscribe\r\n$7\r\np!nodes\r\n:1\r\n",
        b">3\r\n$10\r\nssubscribe\r\n$3\r\np:r\r\n:1\r\n",
        b">3\r\n$12\r\nsunsubscribe\r\n$3\r\np;r\r\n:1\r\n",
        b">3\r\n$7\r\nmessage\r\n$3\r\np:r\r\n",
        b">4\r\n$8\r\npmessage\r\n$4\r\np:r*\r\n$3\r\np:r\r\n",
        b">3\r\n$7\r\nmessage\r\n$7\r\np!nodes\r\n",
        b"$2\r\nhi\r\n",
        b"$34\r\n\xffmillrac\x01\x00\x09\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\r\n",
        b"$35\r\n\xffmillrac\x01\x02\x09\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x02\r\n",
        b"$500\r\n",
        b":1\r\n",
        b"+PONG\r\n",
        b"-ERR no\r\n",
        b"-MOVED 1 a:1\r\n",
        b"*1\r\n",
        b"*4\r\n:0\r\n:5\r\n*2\r\n$1\r\nh\r\n:1\r\n+id\r\n",
    ];

    const NATS: &[&[u8]] = &[
        b"PONG\r\n",
        b"PING\r\n",
        b"+OK\r\n",
        b"INFO {\"max_payload\":100}\r\n",
        b"MSG p.r 1 2\r\nhi\r\n",
        b"MSG p.r 3 _INBOX 2\r\nhi\r\n",
        b"MSG p!nodes 2 35\r\n\xffmillrac\x01\x02\x09\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x02\r\n",
        b"MSG p.r 3 34\r\n\xffmillrac\x01\x00\x09\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\r\n",
        b"MSG p.r 3 500\r\n",
        b"-ERR 'Permissions Violation for Publish to \"p.r\"'\r\n",
        b"-ERR 'Permissions Violation for Subscription to \"p.>\"'\r\n",
        b"-ERR 'Permissions Violation for Subscription to \"p.r\"'\r\n",
        b"-ERR 'Slow Consumer'\r\n",
    ];

    proptest! {
        #[test]
        fn redis_yields_the_same_events_however_it_is_split(
            server in server(REDIS),
            steps in [1_usize..50, 1_usize..50],
            is_cluster: bool,
        ) {
            let protocol = if is_cluster { Protocol::RedisCluster } else { Protocol::Redis };
            let whole = feed(protocol, &server, [server.len(); 2]);
            prop_assert_eq!(&feed(protocol, &server, steps), &whole);
            prop_assert_eq!(feed(protocol, &server, [1, 1]), whole);
        }

        #[test]
        fn nats_yields_the_same_events_however_it_is_split(
            server in server(NATS),
            steps in [1_usize..50, 1_usize..50],
        ) {
            let whole = feed(Protocol::Nats, &server, [server.len(); 2]);
            prop_assert_eq!(&feed(Protocol::Nats, &server, steps), &whole);
            prop_assert_eq!(feed(Protocol::Nats, &server, [1, 1]), whole);
        }
    }
}
