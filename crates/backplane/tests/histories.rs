//! Two nodes and a server whose connections are cut, even within a message, and that goes down. Whatever happens, no
//! message is delivered twice or out of order, and every message is counted as sent, dropped or missed.

mod broker;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_backplane::{
    Backplane, BackplaneFull, Bounds, Census, Config, Credentials, Destination, Local, Outlet,
    Protocol, Server, State, Stats, Topic, Trouble,
};
use millrace_core::Kind;
use proptest::prelude::*;
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::sleep;

use broker::Broker;

const CHANNELS: [&[u8]; 3] = [b"a", b"b", b"c"];
const NODES: usize = 2;
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
enum Step {
    Publish {
        node: usize,
        channel: usize,
        count: usize,
    },
    /// All connections are cut now.
    Cut,
    /// All connections are cut when so many more bytes have been written.
    CutAfter(usize),
    /// The server accepts no connections for a while.
    Away,
    /// Both nodes run undisturbed.
    Rest,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..NODES, 0..CHANNELS.len(), 1_usize..60)
            .prop_map(|(node, channel, count)| Step::Publish { node, channel, count }),
        4 => Just(Step::Rest),
        2 => Just(Step::Cut),
        2 => (1_usize..4000).prop_map(Step::CutAfter),
        1 => Just(Step::Away),
    ]
}

/// The messages delivered, by channel, in order.
type Delivered = Arc<Mutex<[Vec<u64>; CHANNELS.len()]>>;

/// A node that is subscribed to every channel.
struct LocalNode(Delivered);

impl Local for LocalNode {
    fn deliver(
        &mut self,
        destination: Destination<'_>,
        (kind, payload): (Kind, &[u8]),
        _: Option<(u64, u64)>,
    ) {
        assert_eq!(kind, Kind::Text);
        let Destination::Channel(name) = destination else {
            panic!("{destination:?}")
        };
        let channel = CHANNELS.iter().position(|known| *known == name);
        let number = str::from_utf8(payload).map(str::parse);
        self.0.lock().expect("no thread panicked")[channel.expect("it is subscribed to")]
            .push(number.expect("a text").expect("a number"));
    }
    fn flush(&mut self) {}
    fn topics(&self, each: &mut dyn FnMut(Topic)) {
        for name in CHANNELS {
            each(Topic::Channel(name.into()));
        }
    }
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

struct Node {
    backplane: Backplane,
    task: JoinHandle<()>,
    delivered: Delivered,
    /// The number of messages published, by channel.
    published: [u64; CHANNELS.len()],
}

impl Node {
    fn start(port: u16) -> Self {
        let server = Server {
            host: "127.0.0.1".to_owned(),
            port,
        };
        let config = Config {
            protocol: Protocol::Redis,
            servers: vec![server],
            prefix: "app".to_owned(),
            sentinel: None,
            credentials: Credentials::default(),
            tls: None,
            bounds: Bounds {
                queue_messages: 50,
                queue_bytes: 100_000,
                message_bytes: 1000,
                full: BackplaneFull::default(),
            },
            histories: Vec::new(),
        };
        let outlet = Arc::new(Outlet::new());
        let (backplane, task) =
            Backplane::new(config, &outlet).expect("the configuration has no TLS");
        outlet.open();
        let delivered = Delivered::default();
        let here = Box::new(LocalNode(Arc::clone(&delivered)));
        Self {
            backplane,
            task: tokio::task::spawn_local(task.run(here)),
            delivered,
            published: [0; CHANNELS.len()],
        }
    }

    fn publish(&mut self, channel: usize) {
        self.published[channel] += 1;
        let body = Bytes::from(self.published[channel].to_string());
        let outlet = self.backplane.outlet();
        outlet.publish(false, CHANNELS[channel], Kind::Text, body);
        outlet.ring();
    }

    fn stats(&self) -> Stats {
        self.backplane.stats()
    }

    fn last(&self, channel: usize) -> u64 {
        let delivered = self.delivered.lock().expect("no thread panicked");
        delivered[channel].last().copied().unwrap_or_default()
    }
}

/// Both nodes publish in every channel repeatedly until the last messages have arrived.
async fn catch_up(nodes: &mut [Node; NODES]) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        for node in &mut *nodes {
            (0..CHANNELS.len()).for_each(|channel| node.publish(channel));
        }
        let has_all = |nodes: &[Node; NODES]| {
            let [one, two] = nodes;
            (0..CHANNELS.len()).all(|channel| {
                one.last(channel) == two.published[channel]
                    && two.last(channel) == one.published[channel]
            })
        };
        for _ in 0..40 {
            if has_all(nodes) {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
        assert!(Instant::now() < deadline, "both nodes to hear each other");
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}

async fn follow(history: &[Step]) {
    let broker = Rc::new(RefCell::new(Broker::default()));
    let port = Broker::open(&broker, 0).await;
    let mut nodes = [Node::start(port), Node::start(port)];
    // losses before the first message of a channel cannot be detected
    until("both nodes to be subscribed", || {
        let mut stats = nodes.iter().map(Node::stats);
        stats.all(|stats| stats.subscriptions == 4 && stats.pending_subscriptions == 0)
    })
    .await;
    catch_up(&mut nodes).await;
    for step in history {
        match step {
            Step::Publish {
                node,
                channel,
                count,
            } => (0..*count).for_each(|_| nodes[*node].publish(*channel)),
            Step::Rest => sleep(Duration::from_millis(2)).await,
            Step::Cut => broker.borrow_mut().cut(),
            Step::CutAfter(bytes) => broker.borrow_mut().cut_after(*bytes),
            Step::Away => {
                broker.borrow_mut().close();
                sleep(Duration::from_millis(70)).await;
                Broker::open(&broker, port).await;
            }
        }
    }
    broker.borrow_mut().cut_never();
    catch_up(&mut nodes).await;
    until("everything to be counted", || {
        let mut stats = nodes.iter().map(Node::stats);
        stats.all(|stats| stats.queued == 0 && stats.in_flight == 0)
    })
    .await;
    for (own, node) in nodes.iter().enumerate() {
        let stats = node.stats();
        assert_eq!(stats.state, State::Ready);
        let published: u64 = node.published.iter().sum();
        let became = stats.sent + stats.unconfirmed + stats.dropped + stats.refused;
        assert_eq!(became, published, "{stats:?}");
        let others: u64 = nodes[1 - own].published.iter().sum();
        assert_eq!(stats.received + stats.missed, others, "{stats:?}");
        let none = (stats.duplicates, stats.malformed, stats.foreign);
        assert_eq!(none, (0, 0, 0));
        let delivered = node.delivered.lock().expect("no thread panicked").clone();
        for numbers in &delivered {
            assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        }
        let count: usize = delivered.iter().map(Vec::len).sum();
        assert_eq!(u64::try_from(count), Ok(stats.received));
    }
    for node in nodes {
        node.backplane.end(Instant::now());
        node.task.await.expect("it ends");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_is_accounted_for_whatever_happens(history in prop::collection::vec(step(), 1..30)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(LocalSet::new().run_until(follow(&history)));
    }
}
