//! Closing and deleting concurrently with subscribing and creating: no interleaving leaves anything
//! behind.
#![cfg(loom)]

mod loom_shard;

use loom::sync::{Arc, Mutex};
use loom::thread;
use loom_shard::{Inbox, breaks, open};
use millrace_core::{Core, Counts, Target};

#[test]
fn subscribing_a_socket_that_closes_leaves_nothing_behind() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        let closer = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.close(socket, &mut inbox).is_some()
        });
        let new = core.subscribe(&[Target::Socket(socket)], b"c", 1, &mut inbox.clone());
        assert_eq!(new, [socket]);
        assert!(closer.join().expect("does not panic"));
        assert_eq!(core.counts(), Counts::default());
        assert_eq!(inbox.replay(), 0);
    });
}

#[test]
fn unsubscribing_and_closing_post_one_leave() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        core.subscribe(&[Target::Socket(socket)], b"c", 1, &mut inbox.clone());
        let closer = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.close(socket, &mut inbox).is_some()
        });
        core.subscribe(&[Target::Socket(socket)], b"c", -1, &mut inbox.clone());
        assert!(closer.join().expect("does not panic"));
        assert_eq!(core.counts(), Counts::default());
        assert_eq!(inbox.replay(), 0);
    });
}

#[test]
fn closing_twice_happens_once() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        core.subscribe(&[Target::Socket(socket)], b"c", 1, &mut inbox.clone());
        let closer = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.close(socket, &mut inbox).is_some()
        });
        let here = core.close(socket, &mut inbox.clone()).is_some();
        assert!(here != closer.join().expect("does not panic"));
        assert_eq!(core.counts(), Counts::default());
        assert_eq!(inbox.replay(), 0);
    });
}

#[test]
fn nothing_is_posted_after_close_returned() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        core.subscribe(&[Target::Socket(socket)], b"c", 1, &mut inbox.clone());
        let sender = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || {
                core.publish(b"c", "m", &[], &mut inbox) + core.send(socket, "m", &[], &mut inbox)
            }
        });
        core.close(socket, &mut inbox.clone());
        inbox.returned();
        let posted = sender.join().expect("does not panic");
        assert_eq!(inbox.messages(), (posted, 0), "{:?}", inbox.entries());
        assert_eq!(inbox.replay(), 0);
    });
}

#[test]
fn a_virtual_socket_of_a_closing_one_dies_with_it_or_dangles() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let socket = open(&core);
        let closer = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.close(socket, &mut inbox).is_some()
        });
        let mut post = inbox.clone();
        let alias = core.create_virtual(socket, None);
        core.subscribe(&[Target::Socket(alias)], b"c", 1, &mut post);
        assert!(closer.join().expect("does not panic"));
        assert_eq!(core.route(alias), None);
        // an alias created after the close dangles and can be deleted; one created before is gone
        let dangling = core.socket(alias).is_some();
        assert_eq!(
            core.delete_virtual(alias, Some(socket), &mut post),
            dangling
        );
        assert_eq!(core.counts(), Counts::default());
        assert_eq!(inbox.replay(), 0);
    });
}

#[test]
fn subscribing_above_a_deleted_link_leaves_nothing_behind() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let link = core.create_virtual(open(&core), None);
        let outer = core.create_virtual(link, None);
        let deleter = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.delete_virtual(link, None, &mut inbox)
        });
        let mut post = inbox.clone();
        core.subscribe(&[Target::Socket(outer)], b"c", 1, &mut post);
        assert!(deleter.join().expect("does not panic"));
        let expected = Counts {
            sockets: 1,
            virtual_sockets: 1,
            ..Counts::default()
        };
        assert_eq!(core.counts(), expected);
        assert_eq!(inbox.replay(), 0);
        assert!(core.delete_virtual(outer, Some(link), &mut post));
    });
}

#[test]
fn a_link_in_except_excludes_its_socket_while_the_link_is_deleted() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let inbox = Inbox::new();
        let link = core.create_virtual(open(&core), None);
        let outer = core.create_virtual(link, None);
        core.subscribe(&[Target::Socket(outer)], b"c", 1, &mut inbox.clone());
        let deleter = thread::spawn({
            let (core, mut inbox) = (Arc::clone(&core), inbox.clone());
            move || core.delete_virtual(link, None, &mut inbox)
        });
        assert_eq!(core.publish(b"c", "m", &[link], &mut inbox.clone()), 0);
        assert!(deleter.join().expect("does not panic"));
    });
}

#[test]
fn sockets_opened_at_once_have_their_own_ids() {
    loom::model(|| {
        let core = Arc::new(Core::new());
        let opener = thread::spawn({
            let core = Arc::clone(&core);
            move || open(&core)
        });
        let mut ids = [
            open(&core).get(),
            opener.join().expect("does not panic").get(),
        ];
        ids.sort_unstable();
        assert_eq!(ids, [1, 2]);
    });
}

/// A small copy of the protocol: a socket with its channels, a channel with its members. If `nested`, a
/// subscriber checks that the socket is open and writes both directions while it holds both locks.
fn small_subscribe(nested: bool) {
    struct Socket {
        open: bool,
        subscribed: bool,
    }
    let socket = Arc::new(Mutex::new(Socket {
        open: true,
        subscribed: false,
    }));
    let channel = Arc::new(Mutex::new(0));
    let closer = thread::spawn({
        let (socket, channel) = (Arc::clone(&socket), Arc::clone(&channel));
        move || {
            let mut entry = socket.lock().expect("no thread panics");
            entry.open = false;
            let subscribed = entry.subscribed;
            drop(entry);
            if subscribed {
                *channel.lock().expect("no thread panics") = 0;
            }
        }
    });
    if nested {
        let mut members = channel.lock().expect("no thread panics");
        let mut entry = socket.lock().expect("no thread panics");
        if entry.open {
            entry.subscribed = true;
            *members = 1;
        }
    } else {
        let mut entry = socket.lock().expect("no thread panics");
        let open = entry.open;
        entry.subscribed = open;
        drop(entry);
        if open {
            *channel.lock().expect("no thread panics") = 1;
        }
    }
    closer.join().expect("does not panic");
    assert_eq!(
        *channel.lock().expect("no thread panics"),
        0,
        "the channel still has a member"
    );
}

#[test]
fn the_model_finds_subscribing_without_both_locks_wrong() {
    assert!(!breaks(|| small_subscribe(true)));
    assert!(breaks(|| small_subscribe(false)));
}

/// A small copy of the protocol: the tree of a real socket. If `atomic`, a creator looks for the target
/// and adds to its tree under one lock.
fn small_create(atomic: bool) {
    let tree = Arc::new(Mutex::new(Some(Vec::new())));
    let aliases = Arc::new(Mutex::new(0));
    let closer = thread::spawn({
        let (tree, aliases) = (Arc::clone(&tree), Arc::clone(&aliases));
        move || {
            let children: Vec<u64> = tree
                .lock()
                .expect("no thread panics")
                .take()
                .unwrap_or_default();
            *aliases.lock().expect("no thread panics") -= children.len();
        }
    });
    let mut entry = tree.lock().expect("no thread panics");
    let mut exists = entry.is_some();
    if !atomic {
        drop(entry);
        entry = tree.lock().expect("no thread panics");
    }
    // counted before the closer can find the child
    if exists {
        *aliases.lock().expect("no thread panics") += 1;
    }
    if let Some(children) = entry.as_mut() {
        children.push(2);
        exists = false;
    }
    drop(entry);
    closer.join().expect("does not panic");
    assert!(!exists, "no close can find this alias");
    assert_eq!(*aliases.lock().expect("no thread panics"), 0);
}

#[test]
fn the_model_finds_creating_without_one_lock_wrong() {
    assert!(!breaks(|| small_create(true)));
    assert!(breaks(|| small_create(false)));
}
