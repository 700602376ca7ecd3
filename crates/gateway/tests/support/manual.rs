//! A worker that does nothing by itself: the test takes its events and answers them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millrace_gateway::{
    Acceptance, Gateway, Handlers, Kind, Rejection, ShardSet, SocketId, Target, Worker,
};

use super::{Bell, Event, SOON, decode};

/// See the module.
pub(crate) struct Manual {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) worker: Arc<Worker>,
    pub(crate) bell: Arc<Bell>,
}

/// Registers a worker and activates it.
pub(crate) fn manual(gateway: &Arc<Gateway>, handlers: Handlers) -> Manual {
    let bell = Arc::new(Bell::default());
    let worker = gateway.add_worker(handlers, Bell::door(&bell));
    worker.activate();
    Manual {
        gateway: Arc::clone(gateway),
        worker,
        bell,
    }
}

/// Whether the event only reports the opening of a Sockety connection.
fn is_beginning(event: &Event) -> bool {
    matches!(
        event,
        Event::Told {
            number: 11 | 12,
            ..
        }
    )
}

impl Manual {
    /// Takes the events that wait now.
    pub(crate) fn take(&self) -> Vec<Event> {
        self.worker.begin_drain();
        let mut events = Vec::new();
        while let Some(batch) = self.worker.take() {
            let unclaimed = |event: &Event| {
                matches!(event, Event::Close { socket, .. }
                    if !self.worker.claim_close(SocketId::new(*socket).unwrap()))
            };
            let decoded = decode(&batch.bytes, &batch.sidecars).into_iter();
            events.extend(decoded.filter(|event| !unclaimed(event) && !is_beginning(event)));
            self.worker.finish(batch);
        }
        events
    }

    /// Takes events until there are `count`. Checks repeatedly instead of waiting for the bell, because the bell does
    /// not ring for events without a handler.
    pub(crate) fn expect(&self, count: usize) -> Vec<Event> {
        let mut events = Vec::new();
        let there = eventually(|| {
            events.extend(self.take());
            events.len() >= count
        });
        assert!(there, "events were {events:?}");
        events
    }

    /// Waits for one OPEN event and no other.
    pub(crate) fn opened(&self) -> SocketId {
        let events = self.expect(1);
        let [Event::Open { socket, .. }] = events[..] else {
            panic!("events were {events:?}")
        };
        SocketId::new(socket).unwrap()
    }

    pub(crate) fn accept(&self, socket: SocketId) {
        let mut dirty = ShardSet::default();
        self.worker
            .accept_open(socket, Acceptance::default(), &mut dirty);
        self.gateway.wake(&mut dirty);
    }

    pub(crate) fn refuse(&self, socket: SocketId) {
        let mut dirty = ShardSet::default();
        let rejection = Rejection {
            status: 403,
            headers: Vec::new(),
            body: "Connection rejected".into(),
        };
        self.worker.refuse_open(socket, rejection, &mut dirty);
        self.gateway.wake(&mut dirty);
    }
}

/// Sends texts to one socket, all of them before its shard is woken.
pub(crate) fn send_all<'a>(
    gateway: &Gateway,
    socket: SocketId,
    texts: impl IntoIterator<Item = &'a str>,
) {
    let mut dirty = ShardSet::default();
    for text in texts {
        let target = [Target::Socket(socket)];
        gateway.send(&target, Kind::Text, text.as_bytes(), &[], &mut dirty);
    }
    gateway.wake(&mut dirty);
}

/// Waits for a condition that another thread causes; false if that takes too long.
pub(crate) fn eventually(condition: impl FnMut() -> bool) -> bool {
    eventually_within(SOON, condition)
}

/// The same with another timeout.
pub(crate) fn eventually_within(timeout: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + timeout;
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
