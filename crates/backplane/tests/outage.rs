//! Messages that were queued during an outage: their node waits for the nodes that were present before, but not for
//! ever.

#[expect(dead_code, reason = "these tests need only a part of it")]
mod broker;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_backplane::{
    Backplane, BackplaneFull, Bounds, Census, ClusterInfo, Config, Credentials, Destination, Local,
    Outlet, Protocol, Server, State, Stats, Topic, Trouble,
};
use millrace_core::Kind;
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::sleep;

use broker::Broker;

const ROOM: &[u8] = b"room";
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a sender waits at most for nodes that were present before.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The messages delivered, in order.
type Delivered = Arc<Mutex<Vec<Vec<u8>>>>;

/// A node that is subscribed to one channel.
struct LocalNode(Delivered);

impl Local for LocalNode {
    fn deliver(&mut self, _: Destination<'_>, (_, payload): (Kind, &[u8]), _: Option<(u64, u64)>) {
        self.0
            .lock()
            .expect("no thread panicked")
            .push(payload.to_vec());
    }
    fn flush(&mut self) {}
    fn topics(&self, each: &mut dyn FnMut(Topic)) {
        each(Topic::Channel(ROOM.into()));
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
}

impl Node {
    fn start(port: u16) -> Self {
        let config = Config {
            protocol: Protocol::Redis,
            servers: vec![Server {
                host: "127.0.0.1".to_owned(),
                port,
            }],
            prefix: "app".to_owned(),
            sentinel: None,
            credentials: Credentials::default(),
            tls: None,
            bounds: Bounds {
                queue_messages: 1000,
                queue_bytes: 1_000_000,
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
        }
    }

    fn publish(&self, text: String) {
        let outlet = self.backplane.outlet();
        outlet.publish(false, ROOM, Kind::Text, Bytes::from(text));
        outlet.ring();
    }

    fn stats(&self) -> Stats {
        self.backplane.stats()
    }

    fn delivered(&self) -> Vec<Vec<u8>> {
        self.delivered.lock().expect("no thread panicked").clone()
    }

    /// The number of nodes that it knows.
    async fn known(&self) -> usize {
        let (told, info) = tokio::sync::oneshot::channel();
        let reply = move |info: ClusterInfo| {
            let _nobody_waits = told.send(info.nodes.len());
        };
        self.backplane.ask(Vec::new(), Box::new(reply));
        info.await.expect("it answers")
    }

    /// Ends the node, after its goodbye if there is a link.
    async fn end(self) {
        self.backplane
            .end(Instant::now() + Duration::from_millis(500));
        self.task.await.expect("it ends");
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// A server with a port for each of two nodes that know each other.
struct Pair {
    broker: Rc<RefCell<Broker>>,
    ports: [u16; 2],
    nodes: [Node; 2],
}

impl Pair {
    async fn start() -> Self {
        let broker = Rc::new(RefCell::new(Broker::default()));
        let ports = [
            Broker::open(&broker, 0).await,
            Broker::open(&broker, 0).await,
        ];
        let nodes = ports.map(Node::start);
        until("both nodes to be subscribed", || {
            let mut stats = nodes.iter().map(Node::stats);
            stats.all(|stats| stats.subscriptions == 2 && stats.pending_subscriptions == 0)
        })
        .await;
        let deadline = Instant::now() + TIMEOUT;
        for node in &nodes {
            while node.known().await < 2 {
                assert!(Instant::now() < deadline, "both nodes to know each other");
            }
        }
        Self {
            broker,
            ports,
            nodes,
        }
    }

    /// Takes the server down and queues so many messages on the first node.
    async fn go_away(&self, messages: usize) {
        self.broker.borrow_mut().close();
        // a node whose connection is refused knows that the server is down, and not only the link
        until("both nodes to lose the link", || {
            let mut stats = self.nodes.iter().map(Node::stats);
            stats.all(|stats| stats.state == State::Lost)
        })
        .await;
        for number in 0..messages {
            self.nodes[0].publish(number.to_string());
        }
    }

    /// Accepts one of the nodes again.
    async fn admit(&self, node: usize) -> Instant {
        Broker::open(&self.broker, self.ports[node]).await;
        until("the link to be back", || {
            self.nodes[node].stats().state == State::Ready
        })
        .await;
        Instant::now()
    }

    /// Waits until the server has all subscriptions of a node, which hears what other nodes say from then on.
    async fn is_subscribed(&self, node: usize) {
        until("the node to be subscribed", || {
            let stats = self.nodes[node].stats();
            stats.subscriptions == 2 && stats.pending_subscriptions == 0
        })
        .await;
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(LocalSet::new().run_until(test));
}

#[test]
fn queued_messages_wait_for_the_nodes_that_were_present_before() {
    run(async {
        let pair = Pair::start().await;
        pair.go_away(50).await;
        let back = pair.admit(0).await;
        // longer than a node that has lost the server may need to try again
        until("the other one to be late", || {
            back.elapsed() > Duration::from_millis(900)
        })
        .await;
        assert_eq!(pair.nodes[0].stats().sent, 0, "the node still waits");
        pair.admit(1).await;
        until("the node to send", || pair.nodes[0].stats().sent == 50).await;
        until("all messages to arrive", || {
            pair.nodes[1].delivered().len() == 50
        })
        .await;
        assert!(back.elapsed() < LONGEST_WAIT, "{:?}", back.elapsed());
        assert_eq!(pair.nodes[1].stats().missed, 0);
        for node in pair.nodes {
            node.end().await;
        }
    });
}

/// Applies the subscriptions that the server has postponed.
fn subscribe(broker: &mut Broker) {
    for (id, name) in broker.postponed.take().into_iter().flatten() {
        broker.apply(id, &[b"SUBSCRIBE".to_vec(), name]);
    }
}

/// On a busy machine there may be a long time between the link and the last subscription.
#[test]
fn a_node_whose_link_is_back_in_time_is_awaited_until_it_is_subscribed() {
    run(async {
        let pair = Pair::start().await;
        pair.go_away(50).await;
        let back = pair.admit(0).await;
        pair.is_subscribed(0).await;
        // it knows by then that the server is down, and tries again long before the wait for it is over
        until("the other one to be late", || {
            back.elapsed() > Duration::from_millis(400)
        })
        .await;
        pair.broker.borrow_mut().postponed = Some(Vec::new());
        pair.admit(1).await;
        let longer = LONGEST_WAIT + Duration::from_millis(200);
        let mut held = Duration::ZERO;
        until("the wait for other nodes to be over", || {
            let at = back.elapsed();
            let has_sent = pair.nodes[0].stats().sent > 0;
            if !has_sent {
                held = at;
            }
            has_sent || held > longer
        })
        .await;
        assert!(held > longer, "the node still waits: {held:?}");
        subscribe(&mut pair.broker.borrow_mut());
        until("the node to send", || pair.nodes[0].stats().sent == 50).await;
        until("all messages to arrive", || {
            pair.nodes[1].delivered().len() == 50
        })
        .await;
        assert_eq!(pair.nodes[1].stats().missed, 0);
        // a node that has a link but never subscribes is not awaited for ever either
        pair.go_away(50).await;
        let away = Instant::now();
        pair.admit(0).await;
        pair.is_subscribed(0).await;
        pair.broker.borrow_mut().postponed = Some(Vec::new());
        pair.admit(1).await;
        until("the node to send", || pair.nodes[0].stats().sent == 100).await;
        let waited = away.elapsed();
        assert!(waited > LONGEST_WAIT, "{waited:?}");
        for node in pair.nodes {
            node.end().await;
        }
    });
}

#[test]
fn queued_messages_do_not_wait_for_ever() {
    run(async {
        let pair = Pair::start().await;
        pair.go_away(50).await;
        let back = pair.admit(0).await;
        until("the node to send", || pair.nodes[0].stats().sent == 50).await;
        let waited = back.elapsed();
        assert!(
            waited + Duration::from_millis(100) > LONGEST_WAIT,
            "{waited:?}"
        );
        // a node that did not return is not awaited again
        pair.go_away(50).await;
        let back = pair.admit(0).await;
        until("the node to send again", || {
            pair.nodes[0].stats().sent == 100
        })
        .await;
        assert!(back.elapsed() < LONGEST_WAIT, "{:?}", back.elapsed());
        for node in pair.nodes {
            node.end().await;
        }
    });
}

#[test]
fn a_node_that_has_left_is_not_awaited() {
    run(async {
        let pair = Pair::start().await;
        let Pair {
            broker,
            ports,
            nodes: [node, leaver],
        } = pair;
        leaver.end().await;
        let deadline = Instant::now() + TIMEOUT;
        while node.known().await > 1 {
            assert!(
                Instant::now() < deadline,
                "the other node's goodbye to be received"
            );
        }
        broker.borrow_mut().close();
        until("the node to lose the link", || {
            node.stats().state == State::Lost
        })
        .await;
        node.publish("hello".to_owned());
        Broker::open(&broker, ports[0]).await;
        until("the link to be back", || node.stats().state == State::Ready).await;
        let back = Instant::now();
        until("the node to send", || node.stats().sent == 1).await;
        assert!(back.elapsed() < LONGEST_WAIT, "{:?}", back.elapsed());
        node.end().await;
    });
}
