//! The scenarios, one file each, and their common part: opening many connections at a bounded rate.

pub mod channels;
pub mod churn;
pub mod echo;
pub mod fanout;
pub mod fanout_slow;
pub mod headline;
pub mod http;
pub mod idle;
pub mod splice;
pub mod splice_flow;
pub mod splice_sessions;
pub mod stalled_senders;
pub mod stalled_subscribers;
mod stalling;
pub mod study;
pub mod study_args;
pub mod study_failure;
pub mod study_lane;
pub mod study_request;
pub mod study_session;
pub mod study_times;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::time::Duration;

use crate::failure::Failure;
use crate::io::{Connect, Handler, Io};
use crate::window::Deadline;

/// Opens connections with a bounded number of handshakes at a time, and returns when all are open. If
/// no source is given, groups of ids come from different local addresses, so that the ports do not
/// run out.
pub fn open_all<H: Handler>(
    io: &mut Io,
    handler: &mut H,
    ids: Range<usize>,
    how: Connect,
    deadline: &Deadline,
) -> Result<(), Failure> {
    let before = io.open_connections();
    let wanted = ids.len();
    let mut started = 0;
    loop {
        let opened = io.open_connections() - before;
        if opened >= wanted {
            return Ok(());
        }
        while started < wanted && started - opened < AT_ONCE {
            let id = ids.start + started;
            let mut how = how;
            if how.source.is_none() && id >= PER_SOURCE {
                how.source = from_source(io.target(), id / PER_SOURCE).source;
            }
            io.open(id, how)?;
            started += 1;
        }
        io.turn(handler, Duration::from_millis(100))?;
        deadline.check("opening connections")?;
    }
}

/// Connects from the local address with that number if the server is on loopback, otherwise from any.
pub(crate) fn from_source(target: SocketAddr, number: usize) -> Connect {
    let loopback = matches!(target.ip(), IpAddr::V4(address) if address.is_loopback());
    let low = u8::try_from(1 + number % SOURCES).unwrap_or(1);
    Connect {
        source: loopback.then(|| Ipv4Addr::new(127, 0, 0, low)),
        receive_buffer: None,
    }
}

/// Serves events until a condition holds.
pub fn until<H: Handler>(
    io: &mut Io,
    handler: &mut H,
    deadline: &Deadline,
    doing: &'static str,
    mut done: impl FnMut(&H) -> bool,
) -> Result<(), Failure> {
    while !done(handler) {
        io.turn(handler, Duration::from_millis(50))?;
        deadline.check(doing)?;
    }
    Ok(())
}

/// The most handshakes in progress: well below any server's backlog.
const AT_ONCE: usize = 128;
/// Connections from one local address. There are many more ports, but the kernel searches for a free
/// one linearly: when most of them are taken, a connect costs a hundred microseconds.
const PER_SOURCE: usize = 5_000;
/// The most local addresses used.
const SOURCES: usize = 250;
