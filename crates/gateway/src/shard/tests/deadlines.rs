//! Tests deadlines of connections: those far ahead are met, and they are removed with their connection.

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

/// Connections that open and close for a whole day leave no more in the wheel than those of one revolution.
#[test]
fn closed_connections_leave_nothing_in_the_wheel() {
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
fn an_idle_timeout_beyond_a_revolution_is_met_exactly() {
    const IDLE_MS: u64 = 3 * REVOLUTION_MS + 1_234;
    // the times of a connection are kept in 32 bits
    const WRAP_MS: u64 = 1 << 32;
    let starts = [0, WRAP_MS - IDLE_MS, WRAP_MS - IDLE_MS / 2, WRAP_MS - 1];
    for (speaks, start) in EVERY
        .into_iter()
        .flat_map(|speaks| starts.map(|at| (speaks, at)))
    {
        let stage = stage(|listener| {
            listener.limits.ping_interval = Duration::ZERO;
            listener.limits.idle_timeout = Duration::from_millis(IDLE_MS);
            // otherwise Sockety peers would have to send something before that
            let set = listener.set_limit("silenceTimeoutMs", 0);
            set.expect("a limit of a protocol");
        });
        stage.shard.set_clock(start);
        let actor = stage.open(speaks);
        actor.read_all();
        stage.pass(IDLE_MS - TICK_MS);
        assert!(actor.is_open(), "{speaks:?} at {start}: closed too early");
        stage.pass(2 * TICK_MS);
        assert!(!actor.is_open(), "{speaks:?} at {start}: closed too late");
        stage.assert_nothing_left();
    }
}
