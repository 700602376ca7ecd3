//! Wakes a session from any thread. At most one wake-up of a connection is in progress: it carries no data, so that a
//! second one would add nothing.

use std::sync::{Arc, Weak};
use std::task::Wake;

use millrace_core::{ShardIndex, ShardSet, SocketId};

use crate::hub::Hub;
use crate::inbox::{Command, Inboxes};
use crate::sync::{AtomicBool, Ordering};

/// What the wakers of one connection share.
#[derive(Debug)]
pub(crate) struct SessionWaker {
    hub: Weak<Hub>,
    shard: ShardIndex,
    slot: u32,
    socket: SocketId,
    under_way: UnderWay,
}

/// Whether a wake-up is on its way through the inbox.
#[derive(Debug)]
struct UnderWay(AtomicBool);

impl SessionWaker {
    pub(super) fn new(hub: &Arc<Hub>, shard: ShardIndex, (slot, socket): (u32, SocketId)) -> Self {
        Self {
            hub: Arc::downgrade(hub),
            shard,
            slot,
            socket,
            under_way: UnderWay::new(),
        }
    }

    /// The wake-up has arrived: the session checks now, and later changes need another wake-up.
    pub(super) fn arrived(&self) {
        self.under_way.end();
    }
}

impl Wake for SessionWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // a waker that outlives the gateway does nothing
        if let Some(hub) = self.hub.upgrade() {
            let (slot, socket) = (self.slot, self.socket);
            let command = Command::Wake { slot, socket };
            self.under_way.post(hub.inboxes(), self.shard, command);
        }
    }
}

impl UnderWay {
    fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    fn post(&self, inboxes: &Inboxes, shard: ShardIndex, command: Command) {
        if self.0.swap(true, Ordering::AcqRel) {
            return;
        }
        inboxes.post(shard, command);
        let mut dirty = ShardSet::default();
        dirty.insert(shard);
        inboxes.wake(&mut dirty);
    }

    /// A swap instead of a store: everything that was done before the wake-ups that this one stands for is visible from
    /// now on.
    fn end(&self) {
        self.0.swap(false, Ordering::AcqRel);
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: checks every interleaving of waking and checking.
#[cfg(all(test, millrace_loom))]
mod loom_tests {
    use super::*;
    use crate::inbox::Mail;
    use crate::sync::AtomicUsize;
    use loom::thread;

    #[test]
    fn changes_before_a_wake_up_are_seen_and_at_most_one_is_in_progress() {
        loom::model(|| {
            let shard = ShardIndex::new(0).expect("there is a shard 0");
            let inboxes = Arc::new(Inboxes::new());
            inboxes.open(1, usize::MAX);
            let under_way = Arc::new(UnderWay::new());
            let done: Arc<[AtomicUsize; 2]> = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let threads = [0, 1].map(|index| {
                let (inboxes, under_way) = (Arc::clone(&inboxes), Arc::clone(&under_way));
                let done = Arc::clone(&done);
                thread::spawn(move || {
                    done[index].store(1, Ordering::Relaxed);
                    under_way.post(&inboxes, shard, Command::End);
                })
            });
            let mut seen = [0; 2];
            let mut turn = || {
                let mut mail = Mail::default();
                inboxes.take(shard, &mut mail);
                assert!(mail.commands.len() <= 1, "one is enough");
                if !mail.commands.is_empty() {
                    under_way.end();
                    seen = [0, 1].map(|index| done[index].load(Ordering::Relaxed));
                }
            };
            turn();
            for thread in threads {
                thread.join().expect("the thread ends");
            }
            turn();
            assert_eq!(
                seen,
                [1, 1],
                "a change was made, and the session does not check"
            );
        });
    }
}
