//! That a backplane never ends in silence: by a bug it takes the gateway with it, and says so. And that workers wait for
//! one that takes nothing, but not for ever.

use std::sync::{Condvar, Mutex as StdMutex};

use millrace_backplane::{Credentials, Protocol, Server};
use millrace_core::{Kind, ShardSet, Target};

use super::*;
use crate::config::GatewayConfig;
use crate::doorbell::Doorbell;
use crate::event::Handlers;
use crate::gateway::Gateway;
use crate::limits::BackplaneFull;
use crate::notice::Notice;

/// It only bounds a hang: a busy machine may leave a thread alone for seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Bell(StdMutex<bool>, Condvar);

impl Bell {
    fn wait(&self) {
        let rung = self.0.lock().unwrap();
        let (mut rung, late) = self
            .1
            .wait_timeout_while(rung, TIMEOUT, |rung| !*rung)
            .unwrap();
        assert!(!late.timed_out(), "the gateway to have something to tell");
        *rung = false;
    }
}

impl Doorbell for Bell {
    fn ring(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

/// A gateway whose backplane looks for a server that is nowhere.
fn started() -> (Arc<Gateway>, Arc<Bell>) {
    let (gateway, bell) = (Gateway::new(), Arc::new(Bell::default()));
    start(&gateway, &bell, BackplaneFull::Wait);
    (gateway, bell)
}

fn start(gateway: &Arc<Gateway>, bell: &Arc<Bell>, full: BackplaneFull) {
    let limits = GatewayLimits {
        backplane_queue: 100,
        backplane_full: full,
        // who looks whether workers live rings them, too
        worker_timeout: Duration::ZERO,
        ..GatewayLimits::default()
    };
    let server = Server {
        host: "127.0.0.1".to_owned(),
        port: 1,
    };
    let config = GatewayConfig {
        io_threads: 1,
        limits,
        backplane: Some(Config {
            protocol: Protocol::Redis,
            servers: vec![server],
            prefix: "app".to_owned(),
            credentials: Credentials::default(),
            tls: None,
            bounds: Bounds::default(),
        }),
        ..GatewayConfig::default()
    };
    let door: Arc<dyn Doorbell> = Arc::<Bell>::clone(bell);
    gateway.start(config, door).unwrap();
}

/// What the gateway tells up to its end, but for the link that is not there.
fn last_words(gateway: &Gateway, bell: &Bell) -> Vec<Notice> {
    let mut told = Vec::new();
    while !told.contains(&Notice::Stopped) {
        bell.wait();
        told.extend(gateway.take_notices());
    }
    told.retain(|notice| !matches!(notice, Notice::Error { message, .. } if message.contains("it is tried again")));
    told
}

#[test]
fn a_bug_in_the_backplane_s_task_ends_the_gateway_and_is_told() {
    let (gateway, bell) = started();
    let backplane = {
        let running = gateway.backplane().running.lock();
        Arc::clone(&running.as_ref().unwrap().backplane)
    };
    // whoever asks is answered on the task
    backplane.ask(Vec::new(), Box::new(|_| panic!("a bug, for a test")));
    let told = last_words(&gateway, &bell);
    let [Notice::Error { code, message }, Notice::Stopped] = &*told else {
        panic!("{told:?}");
    };
    assert_eq!(*code, "ERR_MILLRACE_SHARD_FAILED");
    assert!(message.contains("backplane"), "{message}");
    assert!(!gateway.is_running());
    assert!(!backplane.outlet().is_open());
    assert!(gateway.backplane().stats().is_none());
    // a gateway that has ended may be started again
    start(&gateway, &bell, BackplaneFull::Wait);
    gateway.shutdown();
    assert_eq!(last_words(&gateway, &bell), [Notice::Stopped]);
}

#[test]
fn a_task_that_ends_by_itself_ends_the_gateway_and_is_told() {
    let (gateway, bell) = started();
    gateway.backplane().end();
    let told = last_words(&gateway, &bell);
    assert!(
        matches!(
            &*told,
            [
                Notice::Error {
                    code: "ERR_MILLRACE_SHARD_FAILED",
                    ..
                },
                Notice::Stopped
            ]
        ),
        "{told:?}"
    );
    assert!(!gateway.is_running());
}

fn send(gateway: &Gateway, count: usize) {
    let mut dirty = ShardSet::default();
    for _ in 0..count {
        gateway.send(
            &[Target::Channel(b"room")],
            Kind::Text,
            b"hello",
            &[],
            &mut dirty,
        );
    }
}

#[test]
fn workers_wait_a_second_at_most_for_a_backplane_that_takes_nothing() {
    let (gateway, _notices) = started();
    let bell = Arc::new(Bell::default());
    let door: Arc<dyn Doorbell> = Arc::<Bell>::clone(&bell);
    let worker = gateway.add_worker(Handlers::NONE, door);
    worker.activate();
    send(&gateway, 25);
    assert!(!gateway.is_congested());
    let since = Instant::now();
    send(&gateway, 1);
    assert!(gateway.is_congested());
    assert!(worker.take().is_none());
    bell.wait();
    let waited = since.elapsed();
    assert!(waited >= millrace_backplane::LONGEST_WAIT, "{waited:?}");
    worker.begin_drain();
    assert!(!gateway.is_congested());
    send(&gateway, 100);
    assert!(!gateway.is_congested(), "it still takes nothing");
    let stats = gateway.backplane().stats().unwrap();
    assert_eq!((stats.waits, stats.queued, stats.dropped), (1, 100, 26));
    gateway.shutdown();
}

#[test]
fn workers_that_wait_go_on_when_the_backplane_ends() {
    let (gateway, notices) = started();
    let bell = Arc::new(Bell::default());
    let door: Arc<dyn Doorbell> = Arc::<Bell>::clone(&bell);
    let worker = gateway.add_worker(Handlers::NONE, door);
    worker.activate();
    send(&gateway, 26);
    assert!(worker.take().is_none());
    gateway.shutdown();
    bell.wait();
    last_words(&gateway, &notices);
    assert!(!gateway.is_congested());
}

#[test]
fn nobody_waits_where_the_application_does_not_want_it() {
    let (gateway, bell) = (Gateway::new(), Arc::new(Bell::default()));
    start(&gateway, &bell, BackplaneFull::Drop);
    send(&gateway, 200);
    assert!(!gateway.is_congested());
    let stats = gateway.backplane().stats().unwrap();
    assert_eq!((stats.waits, stats.queued, stats.dropped), (0, 100, 100));
    gateway.shutdown();
}
