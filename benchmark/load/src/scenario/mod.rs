//! The scenarios, one file each, and what they share: opening many connections at a bounded pace.

pub mod churn;
pub mod echo;
pub mod fanout;
pub mod headline;
pub mod idle;
pub mod stalled_senders;
pub mod stalled_subscribers;
mod stalling;

use std::ops::Range;
use std::time::Duration;

use crate::failure::Failure;
use crate::io::{Connect, Handler, Io};
use crate::window::Deadline;

/// Opens connections, so many handshakes at a time, and returns when all are open.
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
            io.open(ids.start + started, how)?;
            started += 1;
        }
        io.turn(handler, Duration::from_millis(100))?;
        deadline.check("opening connections")?;
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

/// Handshakes under way at a time: well below any server's backlog.
const AT_ONCE: usize = 128;
