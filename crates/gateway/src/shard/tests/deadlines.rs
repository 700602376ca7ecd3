//! Deadlines of connections: those that lie far ahead are kept, and go with their connection.

use std::sync::Arc;
use std::time::Duration;

use crate::config::ListenerConfig;
use crate::listener::ListenerState;
use crate::shard::stage::{EVERY, Stage};
use crate::socket::wheel::{REVOLUTION_MS, TICK_MS};

fn stage(change: impl FnOnce(&mut ListenerConfig)) -> Stage {
    let mut config = ListenerConfig::default();
    change(&mut config);
    let mut stage = Stage::new(|_| {});
    stage.listener = Arc::new(ListenerState::new(1, config, None, || {}));
    stage
}

/// Who comes and leaves for a whole day costs no more than who did within a revolution of the wheel.
#[test]
fn nothing_is_left_in_the_wheel_of_connections_that_came_and_left() {
    for speaks in EVERY {
        let stage = stage(|listener| {
            listener.limits.ping_interval = Duration::ZERO;
            listener.limits.idle_timeout = Duration::from_secs(24 * 60 * 60);
        });
        for _ in 0..100 {
            let actor = stage.open(speaks);
            stage.pass(TICK_MS);
            actor.peer.borrow_mut().vanish();
            stage.run();
            stage.told();
        }
        stage.pass(REVOLUTION_MS + TICK_MS);
        assert!(stage.shard.wheel.borrow().is_empty(), "{speaks:?}");
        stage.assert_nothing_left();
    }
}

#[test]
fn an_idle_timeout_beyond_a_revolution_is_kept_to_its_time() {
    const IDLE_MS: u64 = 3 * REVOLUTION_MS + 1_234;
    for speaks in EVERY {
        let stage = stage(|listener| {
            listener.limits.ping_interval = Duration::ZERO;
            listener.limits.idle_timeout = Duration::from_millis(IDLE_MS);
            // of Sockety, whose peers would have to say something before that
            let set = listener.set_limit("silenceTimeoutMs", 0);
            set.expect("a limit of a protocol");
        });
        let actor = stage.open(speaks);
        actor.read_all();
        stage.pass(IDLE_MS - TICK_MS);
        assert!(actor.is_open(), "{speaks:?}: too early");
        stage.pass(2 * TICK_MS);
        assert!(!actor.is_open(), "{speaks:?}: too late");
        stage.assert_nothing_left();
    }
}
