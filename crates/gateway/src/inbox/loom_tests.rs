//! Every interleaving of posting, waking and taking.

use super::*;
use loom::thread;
use std::sync::Arc;
use std::task::Wake;

/// Counts wake-ups that the shard still owes a turn.
struct Owed(AtomicUsize);

impl Wake for Owed {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn shard() -> ShardIndex {
    ShardIndex::new(0).expect("there is a shard 0")
}

fn post_and_wake(inboxes: &Inboxes) {
    let mut dirty = ShardSet::default();
    inboxes.post(shard(), Command::End);
    dirty.insert(shard());
    inboxes.wake(&mut dirty);
}

#[test]
fn mail_never_waits_without_a_wake_up() {
    loom::model(|| {
        let inboxes = Arc::new(Inboxes::new());
        inboxes.open(1, usize::MAX);
        let owed = Arc::new(Owed(AtomicUsize::new(0)));
        inboxes.set_waker(shard(), Waker::from(Arc::clone(&owed)));
        let poster = {
            let inboxes = Arc::clone(&inboxes);
            thread::spawn(move || post_and_wake(&inboxes))
        };
        post_and_wake(&inboxes);
        let mut seen = 0;
        let turn = || {
            let mut mail = Mail::default();
            inboxes.take(shard(), &mut mail);
            mail.commands.len()
        };
        if owed.0.swap(0, Ordering::SeqCst) > 0 {
            seen += turn();
        }
        poster.join().expect("the poster ends");
        if owed.0.swap(0, Ordering::SeqCst) > 0 {
            seen += turn();
        }
        assert_eq!(seen, 2, "mail waits and nobody was woken");
    });
}

/// A full inbox stops the workers; what empties it lets them go on.
#[test]
fn congestion_ends_with_the_inbox_that_caused_it() {
    loom::model(|| {
        let inboxes = Arc::new(Inboxes::new());
        inboxes.open(1, 1024);
        let poster = {
            let inboxes = Arc::clone(&inboxes);
            thread::spawn(move || inboxes.deliver(shard(), 1000, 1, |_| Command::End))
        };
        let mut mail = Mail::default();
        inboxes.take(shard(), &mut mail);
        inboxes.processed(shard(), &mut mail);
        assert!(poster.join().expect("the poster ends"));
        inboxes.take(shard(), &mut mail);
        inboxes.processed(shard(), &mut mail);
        assert!(!inboxes.congested(), "workers would wait for ever");
    });
}
