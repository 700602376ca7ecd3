//! Tests writes of a session to other connections: when they are sent, and which buffers they use.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::task::{Context, Waker};

use crate::contract::{
    CloseReason, Context as Around, Encodings, Goodbye, Link, Liveness, Session, Taken, Traits,
    Wake,
};
use crate::fault::Fault;
use crate::net::pipe::{Ends, Pipe};
use crate::net::stream::Stream;
use crate::shard::stage::Stage;
use crate::socket::connection::Shared;

/// A session that writes the same number of bytes to each of the other connections.
#[derive(Debug)]
struct Relay {
    size: usize,
    links: Rc<RefCell<Vec<Link>>>,
}

impl Session for Relay {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Kernel,
            goodbye: Goodbye::None,
            feeds_worker: false,
            half_close: false,
            encoding: Encodings::LEAD,
        }
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Around<'_>) -> Result<Taken, CloseReason> {
        let own = cx.link();
        let links = self.links.borrow();
        let others = links.iter().filter(|link| **link != own);
        for (link, piece) in others.zip(bytes.chunks(self.size)) {
            assert!(cx.write_to(*link, |out| out.extend_from_slice(piece)));
        }
        Ok(Taken {
            bytes: bytes.len(),
            unfinished: false,
        })
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Around<'_>) -> Result<(), CloseReason> {
        if matches!(why, Wake::Opened) {
            self.links.borrow_mut().push(cx.link());
        }
        Ok(())
    }
}

/// The connection that writes, and its targets with their peers.
struct Linked {
    stage: Stage,
    writer: Shared,
    from: Rc<RefCell<Ends>>,
    targets: Vec<Rc<RefCell<Ends>>>,
}

impl Linked {
    fn new(size: usize, targets: usize) -> Self {
        let stage = Stage::new(|_| {});
        let links = Rc::<RefCell<Vec<Link>>>::default();
        let open = || {
            let permit = stage.hub.permits().take(None).0;
            let session = Relay {
                size,
                links: Rc::clone(&links),
            };
            let connection =
                stage
                    .shard
                    .open_without_worker(&stage.listener, (None, permit), |_| Box::new(session));
            let peer = Rc::<RefCell<Ends>>::default();
            peer.borrow_mut().room = usize::MAX;
            let stream = Stream::carried(Pipe(Rc::clone(&peer)));
            assert!(stage.shard.begin(&connection, stream, Box::default()));
            // nothing is written before the task has run once
            let mut cx = Context::from_waker(Waker::noop());
            assert!(stage.shard.drive(&connection, &mut cx).is_pending());
            (connection, peer)
        };
        let (writer, from) = open();
        let targets = (0..targets).map(|_| open().1).collect();
        Self {
            stage,
            writer,
            from,
            targets,
        }
    }

    /// Lets the writer's peer send; returns how many bytes each target got before the turn ends.
    fn relay(&self, bytes: &[u8]) -> Vec<usize> {
        self.from.borrow_mut().feed(bytes);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(self.stage.shard.drive(&self.writer, &mut cx).is_pending());
        self.stage.shard.pass_on(&mut cx);
        self.got()
    }

    fn got(&self) -> Vec<usize> {
        let taken = |peer: &Rc<RefCell<Ends>>| std::mem::take(&mut peer.borrow_mut().from_gateway);
        self.targets.iter().map(|peer| taken(peer).len()).collect()
    }
}

#[test]
fn few_bytes_are_sent_when_the_turn_ends() {
    let linked = Linked::new(100, 5);
    for _ in 0..3 {
        assert_eq!(linked.relay(&[7; 500]), [0; 5]);
    }
    linked.stage.run();
    assert_eq!(linked.got(), [300; 5]);
}

#[test]
fn many_bytes_are_sent_before_others_are_read() {
    let linked = Linked::new(4000, 16);
    let mut bytes = 0;
    for round in 1.. {
        let got = linked.relay(&vec![7; 64_000]);
        bytes += 64_000;
        if got[0] > 0 {
            assert_eq!(got, [4000 * round; 16]);
            break;
        }
        assert!(bytes < 512 * 1024, "{bytes} bytes wait");
    }
    assert_eq!(linked.relay(&[7; 1600]), [0; 16], "the count starts again");
    linked.stage.run();
    assert_eq!(linked.got()[0], 1600);
}

#[test]
fn large_buffers_are_used_again() {
    let linked = Linked::new(50_000, 12);
    let shard = &linked.stage.shard;
    assert_eq!(shard.relay_buffer().capacity(), 0);
    for _ in 0..4 {
        linked.relay(&vec![7; 64_000]);
    }
    linked.stage.run();
    let kept: Vec<_> = std::iter::repeat_with(|| shard.relay_buffer())
        .take_while(|buffer| buffer.capacity() > 4096)
        .take(100)
        .collect();
    assert!((1..=16).contains(&kept.len()), "{}", kept.len());
    assert!(kept.iter().all(Vec::is_empty));
}

/// No single connection is at fault, and the others would wait for ever for their output.
#[test]
fn a_bug_while_much_leaves_ends_the_shard() {
    let linked = Linked::new(60_000, 16);
    let shard = &linked.stage.shard;
    linked.stage.hub.faults().ask(Fault::Relays);
    let relayed = std::panic::catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..8 {
            assert!(!shard.has_failed());
            linked.relay(&vec![7; 64_000]);
        }
    }));
    assert!(relayed.is_err());
    assert!(shard.has_failed());
}
