//! Opening handshakes of sessions of every protocol: no connection opens before the worker has decided, and a connection
//! that does not open leaves nothing behind and causes no further event.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use millrace_core::{ShardSet, SocketId, Target};

use crate::event::{Acceptance, Rejection, Transport};
use crate::shard::open::{Candidate, Opened, Refusal, Shown};
use crate::shard::stage::{CLOSE, EVERY, OPEN, Speaks, Stage};

/// A connection that asks to be opened; it leaves when this is dropped.
type Asking<'a> = Pin<Box<dyn Future<Output = Result<(Opened, Box<Acceptance>), Refusal>> + 'a>>;

fn judged() -> impl Iterator<Item = Speaks> {
    EVERY.into_iter().filter(|speaks| speaks.is_judged())
}

/// Runs a test in a runtime whose time passes.
fn in_time(test: impl FnOnce()) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime
        .enable_time()
        .build()
        .unwrap()
        .block_on(async { test() });
}

/// Opens a connection for which the worker is asked.
fn ask(stage: &Stage, speaks: Speaks) -> (Asking<'_>, SocketId) {
    let candidate = Candidate {
        worker: std::sync::Arc::clone(&stage.worker),
        listener: &stage.listener,
        transport: Transport::WebSocket,
        address: None,
        port: 0,
        certificate: None,
        permit: stage.hub.permits().take(None).0,
    };
    let show = || Shown {
        target: Cow::Borrowed("/"),
        headers: Vec::new(),
    };
    let session = move |id| stage.session(speaks, id);
    let mut asking: Asking<'_> = Box::pin(stage.shard.open(candidate, session, show));
    assert!(look(&mut asking).is_pending(), "{speaks:?}");
    assert_eq!(stage.told(), [OPEN], "{speaks:?}");
    let connections = stage.shard.connections.borrow();
    let connection = connections.iter().next().unwrap();
    (asking, connection.socket)
}

fn look(asking: &mut Asking<'_>) -> Poll<Result<(Opened, Box<Acceptance>), Refusal>> {
    asking
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
}

/// Gives the worker's answer.
fn answer(stage: &Stage, socket: SocketId, accepts: bool) {
    let mut dirty = ShardSet::default();
    if accepts {
        let acceptance = Acceptance::default();
        stage.worker.accept_open(socket, acceptance, &mut dirty);
    } else {
        let rejection = Rejection {
            status: 401,
            headers: Vec::new(),
            body: "log in first".into(),
        };
        stage.worker.refuse_open(socket, rejection, &mut dirty);
    }
    stage.hub.wake(&mut dirty);
    stage.run();
}

#[test]
fn who_is_refused_is_told_why_and_leaves_nothing() {
    for speaks in judged() {
        in_time(|| {
            let stage = Stage::new(|_| {});
            let (mut asking, socket) = ask(&stage, speaks);
            // messages that are sent to it meanwhile have no recipient
            let mut dirty = ShardSet::default();
            let kind = millrace_core::Kind::Text;
            let to = [Target::Socket(socket)];
            stage.hub.send(&to, kind, b"secret", &[], &mut dirty);
            stage.hub.wake(&mut dirty);
            stage.run();
            assert!(look(&mut asking).is_pending(), "{speaks:?}");
            answer(&stage, socket, false);
            let Poll::Ready(Err(Refusal::Rejected(why))) = look(&mut asking) else {
                panic!("{speaks:?} came in");
            };
            assert_eq!((why.status, &why.body[..]), (401, &b"log in first"[..]));
            drop(asking);
            assert!(stage.shard.connections.borrow().is_empty(), "{speaks:?}");
            assert_eq!(stage.assert_nothing_left(), [], "{speaks:?}");
        });
    }
}

#[test]
fn who_leaves_before_the_answer_is_closed_only_if_it_was_accepted() {
    for speaks in judged() {
        for accepts in [false, true] {
            in_time(|| {
                let stage = Stage::new(|_| {});
                let (asking, socket) = ask(&stage, speaks);
                drop(asking);
                stage.run();
                answer(&stage, socket, accepts);
                let told: &[u32] = if accepts { &[CLOSE] } else { &[] };
                assert_eq!(stage.told(), told, "{speaks:?}");
                assert_eq!(stage.assert_nothing_left(), [], "{speaks:?}");
            });
        }
    }
}

#[test]
fn who_is_accepted_and_never_comes_is_closed() {
    for speaks in judged() {
        in_time(|| {
            let stage = Stage::new(|_| {});
            let (mut asking, socket) = ask(&stage, speaks);
            answer(&stage, socket, true);
            let Poll::Ready(Ok((opened, _))) = look(&mut asking) else {
                panic!("{speaks:?} did not come in");
            };
            // the 101 could not be written
            drop(opened);
            stage.run();
            assert_eq!(stage.told(), [CLOSE], "{speaks:?}");
            assert_eq!(stage.assert_nothing_left(), [], "{speaks:?}");
        });
    }
}
