//! That a backplane never ends in silence: by a bug it takes the gateway with it, and says so.

use std::sync::{Condvar, Mutex as StdMutex};

use millrace_backplane::{Credentials, Protocol, Server};

use super::*;
use crate::config::GatewayConfig;
use crate::doorbell::Doorbell;
use crate::gateway::Gateway;
use crate::notice::Notice;

/// It only bounds a hang: a busy machine may leave a thread alone for seconds.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Bell(StdMutex<bool>, Condvar);

impl Bell {
    fn wait(&self) {
        let rung = self.0.lock().unwrap();
        let (mut rung, late) = self
            .1
            .wait_timeout_while(rung, PATIENCE, |rung| !*rung)
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
    start(&gateway, &bell);
    (gateway, bell)
}

fn start(gateway: &Arc<Gateway>, bell: &Arc<Bell>) {
    let server = Server {
        host: "127.0.0.1".to_owned(),
        port: 1,
    };
    let config = GatewayConfig {
        io_threads: 1,
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
    start(&gateway, &bell);
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
