//! The threads of a gateway end with it. The test has a file of its own, because it examines all threads of the
//! process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use millrace_gateway::config::GatewayConfig;
use millrace_gateway::{Doorbell, Gateway, Notice};

const SOON: Duration = Duration::from_secs(60);

struct Ring(Sender<()>);

impl Doorbell for Ring {
    fn ring(&self) {
        // the test may have ended
        let _over = self.0.send(());
    }
}

/// `PF_EXITING` of Linux' `sched.h`: the thread runs no code of the process any more.
const EXITING: u32 = 4;

/// The number of the gateway's threads, found by name. The kernel lists a thread for a moment after it was joined: such
/// threads do not count.
fn threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter_map(|task| fs::read_to_string(task.unwrap().path().join("stat")).ok())
        .filter(|stat| {
            // "id (name) state parent group session terminal foreground flags …", proc_pid_stat(5)
            let (name, rest) = stat.rsplit_once(')').unwrap();
            let flags: u32 = rest.split_whitespace().nth(6).unwrap().parse().unwrap();
            name.contains("(millrace") && flags & EXITING == 0
        })
        .count()
}

#[test]
fn a_stopped_gateway_has_at_most_the_thread_that_reported_the_stop() {
    let gateway = Gateway::new();
    for run in 0..50 {
        let (rings, rung) = channel();
        let config = GatewayConfig {
            io_threads: 16,
            ..GatewayConfig::default()
        };
        gateway.start(config, Arc::new(Ring(rings))).unwrap();
        gateway.shutdown();
        while !gateway.take_notices().contains(&Notice::Stopped) {
            rung.recv_timeout(SOON).unwrap();
        }
        let left = threads();
        assert!(left <= 1, "{left} threads are left of run {run}");
    }
    assert!(gateway.join(SOON));
    assert_eq!(threads(), 0);
}
