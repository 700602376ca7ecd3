//! Tests that the backplane never ends silently: a bug in it ends the gateway, with a notice. And that workers wait for
//! a backplane that accepts nothing, but only for a limited time.

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

/// Only bounds a hang: on a busy machine a thread may not run for seconds.
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
        assert!(!late.timed_out(), "the gateway posts no notice");
        *rung = false;
    }
}

impl Doorbell for Bell {
    fn ring(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

/// A gateway whose backplane connects to an address without a server.
fn started() -> (Arc<Gateway>, Arc<Bell>) {
    let (gateway, bell) = (Gateway::new(), Arc::new(Bell::default()));
    start(&gateway, &bell, BackplaneFull::Wait);
    (gateway, bell)
}

fn start(gateway: &Arc<Gateway>, bell: &Arc<Bell>, full: BackplaneFull) {
    let limits = GatewayLimits {
        backplane_queue: 100,
        backplane_full: full,
        // the liveness check rings the workers, too
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
            sentinel: None,
            credentials: Credentials::default(),
            tls: None,
            bounds: Bounds::default(),
            histories: Vec::new(),
        }),
        ..GatewayConfig::default()
    };
    let door: Arc<dyn Doorbell> = Arc::<Bell>::clone(bell);
    gateway.start(config, door).unwrap();
}

/// The gateway's notices up to its end, without those about the missing link.
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
fn a_bug_in_the_backplane_s_task_ends_the_gateway_with_a_notice() {
    let (gateway, bell) = started();
    let backplane = {
        let running = gateway.backplane().running.lock();
        Arc::clone(&running.as_ref().unwrap().backplane)
    };
    // the callback runs on the task
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
fn a_task_that_ends_by_itself_ends_the_gateway_with_a_notice() {
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
fn workers_wait_at_most_a_second_for_a_backplane_that_accepts_nothing() {
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
    assert!(
        !gateway.is_congested(),
        "the backplane still accepts nothing"
    );
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
fn workers_do_not_wait_if_the_application_opts_out() {
    let (gateway, bell) = (Gateway::new(), Arc::new(Bell::default()));
    start(&gateway, &bell, BackplaneFull::Drop);
    send(&gateway, 200);
    assert!(!gateway.is_congested());
    let stats = gateway.backplane().stats().unwrap();
    assert_eq!((stats.waits, stats.queued, stats.dropped), (0, 100, 100));
    gateway.shutdown();
}
