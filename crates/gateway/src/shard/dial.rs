//! Outgoing connections of one shard. A connection that an application dials is established, with TLS if requested, and
//! then handled as if it had been accepted; the application is told if that fails. A connection that a session dials
//! gets the session that it brings.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use super::Shard;
use super::tasks::spawn;
use crate::listener::{Dialling, ListenerState, Peer};
use crate::net::connect;
use crate::net::stream::Stream;
use crate::notice::{DialError, Notice};
use crate::permits::Permit;
use crate::socket::links::{Attempt, Dial, Reached};

/// Starts a dial on this shard's event loop; stopping its listener ends it.
pub(super) fn dial(shard: &Rc<Shard>, dialling: Dialling) {
    let id = dialling.state.id;
    let task = spawn(Box::pin(run(Rc::clone(shard), dialling)));
    shard.keep_acceptors(id, vec![task]);
}

impl Shard {
    /// Starts the dials that sessions have asked for.
    pub(super) fn begin_dials(self: &Rc<Self>) {
        for (dial, attempt, listener) in self.dials.take() {
            if attempt.is_unwanted() {
                continue;
            }
            let making = make(Rc::clone(self), dial, Rc::clone(&attempt), listener);
            attempt.set_task(spawn(Box::pin(making)));
        }
    }
}

async fn make(shard: Rc<Shard>, dial: Dial, attempt: Rc<Attempt>, listener: Arc<ListenerState>) {
    let _guard = shard.guard_connection();
    let Some(Reached {
        stream,
        early,
        session,
        counts,
    }) = dial.reach.await
    else {
        return;
    };
    if listener.is_stopping() || attempt.is_unwanted() {
        return;
    }
    attempt.made();
    // the clock may be old, because no turn may have run for long
    shard.tick();
    let permit = if counts {
        // outgoing connections are counted, but do not wait for a free permit
        shard.hub().permits().take(None).0
    } else {
        Permit::uncounted()
    };
    let connection = shard.open_without_worker(&listener, (None, permit), |_| session);
    shard.connected(&connection, stream, &early);
}

async fn run(shard: Rc<Shard>, dialling: Dialling) {
    let _guard = shard.guard_connection();
    let outcome = reach(&dialling).await;
    let listener = dialling.state;
    shard.forget_acceptors(listener.id);
    let (stream, address) = match outcome {
        Ok(reached) => reached,
        Err(error) => {
            let dial = listener.id;
            let notices = &listener.owner.notices;
            return notices.post(Notice::DialFailed { dial, error });
        }
    };
    // outgoing connections are counted, but do not wait for a free permit
    let (permit, _full) = shard.hub().permits().take(None);
    let peer = Peer {
        address: address.map(|address| address.ip().to_canonical()),
        port: address.map_or(0, |address| address.port()),
        listener,
        local: None,
        permit: Some(permit),
        over_limit: false,
        certificate: None,
    };
    shard.adopt(stream, peer);
}

async fn reach(
    dialling: &Dialling,
) -> Result<(Stream, Option<std::net::SocketAddr>), Arc<DialError>> {
    let connect::Reached { stream, address } =
        connect::connect(&dialling.target)
            .await
            .map_err(|unreached| {
                Arc::new(DialError {
                    address: unreached.address,
                    code: unreached.error.raw_os_error(),
                    timed_out: unreached.error.kind() == io::ErrorKind::TimedOut,
                    is_tls: false,
                    message: unreached.error.to_string(),
                })
            })?;
    let Some(tls) = &dialling.tls else {
        return Ok((stream, address));
    };
    match tls.connect(stream).await {
        Ok(stream) => Ok((stream, address)),
        Err(error) => Err(Arc::new(DialError {
            address,
            code: error.raw_os_error(),
            timed_out: false,
            is_tls: true,
            message: error.to_string(),
        })),
    }
}
