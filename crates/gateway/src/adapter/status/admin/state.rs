//! What the admin page shows beside channels: the counters of `stats`, and in addition workers, slow readers, and what
//! all histories keep.

use std::fmt::{self, Write};

use millrace_core::SocketState;

use super::super::{State, json};
use super::limits::FixedAdminLimits;
use crate::contract::{Hub, Worker};

/// Writes one object.
pub(super) fn text(hub: &Hub, taps: usize) -> String {
    let mut out = String::from("{\"stats\":");
    out.push_str(json::text(&State::of(hub)).trim_end());
    // writing to a String cannot fail
    let _always_ok = write_rest(hub, taps, &mut out);
    out.push_str("}\n");
    out
}

fn write_rest(hub: &Hub, taps: usize, out: &mut String) -> fmt::Result {
    let version = env!("CARGO_PKG_VERSION");
    write!(out, ",\"version\":\"{version}\",\"taps\":{taps}")?;
    let (bytes, idle) = hub.core().history_size();
    write!(
        out,
        ",\"history\":{{\"bytes\":{bytes},\"idleChannels\":{idle}}}"
    )?;
    let ended = hub.workers().ended();
    write!(out, ",\"workersEnded\":{ended},\"workers\":[")?;
    for (index, worker) in hub.active_workers().iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_worker(worker, out)?;
    }
    out.push(']');
    write_slow_readers(hub, out)
}

fn write_worker(worker: &Worker, out: &mut String) -> fmt::Result {
    let queue = worker.queue();
    let (queued_events, queued_bytes) = queue.backlog();
    write!(out, "{{\"id\":{}", worker.id())?;
    for (name, count) in [
        ("connections", queue.connections()),
        ("events", queue.events()),
        ("batches", queue.batches()),
        ("queuedEvents", wide(queued_events)),
        ("queuedBytes", wide(queued_bytes)),
        ("heldEvents", worker.held_events()),
        ("requests", wide(worker.requests())),
    ] {
        write!(out, ",\"{name}\":{count}")?;
    }
    for (name, times) in [
        ("handlerTimes", worker.handler_times()),
        ("loopDelays", worker.loop_delays()),
    ] {
        // an array of numbers is written in Rust as in JSON
        write!(out, ",\"{name}\":{:?}", times.buckets)?;
    }
    out.push('}');
    Ok(())
}

fn write_slow_readers(hub: &Hub, out: &mut String) -> fmt::Result {
    let most = FixedAdminLimits::default().slow_readers_listed;
    let (largest, count) = hub.backlogs().largest(most);
    write!(out, ",\"slowReaders\":{{\"count\":{count},\"largest\":[")?;
    for (index, (socket, bytes)) in largest.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write!(out, "{{\"socket\":{socket},\"bytes\":{bytes}")?;
        if let Some(SocketState::Real {
            address, worker, ..
        }) = hub.core().socket(*socket)
        {
            if let Some(address) = address {
                write!(out, ",\"address\":\"{address}\"")?;
            }
            write!(out, ",\"worker\":{worker}")?;
        }
        out.push('}');
    }
    out.push_str("]}");
    Ok(())
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
