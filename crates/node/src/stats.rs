//! The result of `stats()`. Owns the names of the counters in JavaScript; counts nothing.

use std::ffi::CStr;
use std::time::Duration;

use millrace_gateway::{
    BackplaneStats, CompressionStats, HistoryStats, PresenceStats, Times, WorkerStats,
};

use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::Outcome;
use crate::js::{Js, Value};
use crate::numbers::{from_u64, from_usize};

/// `stats()`
pub(crate) fn stats<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    let js = call.js;
    let stats = call.own.with(|gateway| gateway.stats())?;
    let traffic = stats.traffic;
    let object = js.object()?;
    put(
        js,
        object,
        &[
            (c"connections", from_usize(stats.connections)),
            (c"sockets", from_usize(stats.sockets)),
            (c"virtualSockets", from_usize(stats.virtual_sockets)),
            (c"channels", from_usize(stats.channels)),
            (c"patterns", from_usize(stats.patterns)),
            (c"subscriptions", from_usize(stats.subscriptions)),
            (c"keys", from_usize(stats.keys)),
            (c"opened", from_u64(traffic.opened)),
            (c"closed", from_u64(traffic.closed)),
            (c"refused", from_u64(traffic.refused)),
            (c"refusedByAddress", from_u64(traffic.refused_by_address)),
            (c"refusedByKey", from_u64(traffic.refused_by_key)),
            (c"failedHandshakes", from_u64(traffic.failed_handshakes)),
            (
                c"refusedProxyHeaders",
                from_u64(traffic.refused_proxy_headers),
            ),
            (c"messagesIn", from_u64(traffic.messages_in)),
            (c"messageBytesIn", from_u64(traffic.message_bytes_in)),
            (c"bytesIn", from_u64(traffic.bytes_in)),
            (c"bytesOut", from_u64(traffic.bytes_out)),
            (c"deliveries", from_u64(stats.deliveries)),
            (c"deliveriesRefused", from_u64(stats.deliveries_refused)),
            (c"droppedByClose", from_u64(traffic.dropped_by_close)),
            (c"droppedByOverflow", from_u64(traffic.dropped_by_overflow)),
            (c"droppedByEncoding", from_u64(traffic.dropped_by_encoding)),
            (c"overflowCloses", from_u64(traffic.overflow_closes)),
            (c"inboundCloses", from_u64(traffic.inbound_closes)),
            (c"pingTimeouts", from_u64(traffic.ping_timeouts)),
            (c"unannotated", from_u64(stats.unannotated)),
            (c"unhandledCloses", from_u64(stats.unhandled_closes)),
            (c"outboxBytes", from_usize(stats.outbox_bytes)),
            (c"inboundBytes", from_usize(stats.inbound_bytes)),
            (c"ioThreads", from_usize(stats.io_threads)),
            (c"requests", from_u64(traffic.requests)),
            (c"errors", from_u64(stats.errors)),
            (c"panics", from_u64(traffic.panics)),
        ],
    )?;
    put_compression(js, object, stats.compression)?;
    js.set(object, c"handlerTimes", times(js, &stats.handler_times)?)?;
    if let Some(own) = &stats.backplane {
        let link = backplane(js, own)?;
        if let Some(histories) = stats.histories {
            js.set(link, c"history", shared_history(js, histories)?)?;
        }
        if let Some(presence) = stats.presence {
            js.set(link, c"presence", shared_presence(js, presence)?)?;
        }
        js.set(object, c"backplane", link)?;
    }
    js.set(object, c"workers", workers(js, &stats.workers)?)?;
    Ok(Some(object))
}

fn workers<'s>(js: Js<'s>, workers: &[WorkerStats]) -> Outcome<Value<'s>> {
    let list = js.array(workers.len())?;
    for (index, worker) in (0_u32..).zip(workers) {
        let entry = js.object()?;
        put(
            js,
            entry,
            &[
                (c"id", f64::from(worker.id)),
                (c"connections", from_u64(worker.connections)),
                (c"events", from_u64(worker.events)),
                (c"queuedEvents", from_usize(worker.queued_events)),
                (c"queuedBytes", from_usize(worker.queued_bytes)),
            ],
        )?;
        js.set(entry, c"handlerTimes", times(js, &worker.handler_times)?)?;
        js.set(entry, c"loopDelays", times(js, &worker.loop_delays)?)?;
        js.set_element(list, index, entry)?;
    }
    Ok(list)
}

fn backplane<'s>(js: Js<'s>, stats: &BackplaneStats) -> Outcome<Value<'s>> {
    link_of(
        js,
        stats.state.name(),
        &[
            (c"sinceMs", from_u64(millis(stats.since))),
            (c"sent", from_u64(stats.sent)),
            (c"queued", from_usize(stats.queued)),
            (c"queuedBytes", from_usize(stats.queued_bytes)),
            (c"inFlight", from_u64(stats.in_flight)),
            (c"dropped", from_u64(stats.dropped)),
            (c"waits", from_u64(stats.waits)),
            (c"unconfirmed", from_u64(stats.unconfirmed)),
            (c"refused", from_u64(stats.refused)),
            (c"received", from_u64(stats.received)),
            (c"foreign", from_u64(stats.foreign)),
            (c"missed", from_u64(stats.missed)),
            (c"duplicates", from_u64(stats.duplicates)),
            (c"malformed", from_u64(stats.malformed)),
            (c"losses", from_u64(stats.losses)),
            (c"subscriptions", from_u64(stats.subscriptions)),
            (
                c"pendingSubscriptions",
                from_u64(stats.pending_subscriptions),
            ),
        ],
    )
}

fn shared_history(js: Js<'_>, stats: HistoryStats) -> Outcome<Value<'_>> {
    link_of(
        js,
        stats.state.name(),
        &[
            (c"followed", from_usize(stats.followed)),
            (c"waitingBytes", from_usize(stats.waiting_bytes)),
            (c"stored", from_u64(stats.stored)),
            (c"repeated", from_u64(stats.repeated)),
            (c"failed", from_u64(stats.failed)),
            (c"unknown", from_u64(stats.unknown)),
            (c"received", from_u64(stats.received)),
            (c"foreign", from_u64(stats.foreign)),
            (c"reread", from_u64(stats.reread)),
            (c"gaps", from_u64(stats.gaps)),
            (c"renewed", from_u64(stats.renewed)),
            (c"losses", from_u64(stats.losses)),
        ],
    )
}

fn shared_presence(js: Js<'_>, stats: PresenceStats) -> Outcome<Value<'_>> {
    link_of(
        js,
        stats.state.name(),
        &[
            (c"followed", from_usize(stats.followed)),
            (c"sessions", from_u64(stats.sessions)),
            (c"rewritten", from_u64(stats.rewritten)),
            (c"reread", from_u64(stats.reread)),
            (c"losses", from_u64(stats.losses)),
        ],
    )
}

/// A link to a server: its state and its counters.
fn link_of<'s>(js: Js<'s>, state: &str, counters: &[(&CStr, f64)]) -> Outcome<Value<'s>> {
    let object = js.object()?;
    js.set(object, c"state", js.string(state)?)?;
    put(js, object, counters)?;
    Ok(object)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn put_compression(js: Js<'_>, object: Value<'_>, compression: CompressionStats) -> Outcome<()> {
    put(
        js,
        object,
        &[
            (c"compressedMessages", from_u64(compression.messages)),
            (
                c"compressionBytesBefore",
                from_u64(compression.bytes_before),
            ),
            (c"compressionBytesAfter", from_u64(compression.bytes_after)),
            (c"compressionSkipped", from_u64(compression.skipped)),
            (
                c"compressionContextBytes",
                from_usize(compression.context_bytes),
            ),
        ],
    )
}

/// `countError()`: counts an error that JavaScript reported to the application.
pub(crate) fn count_error<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    call.own.with(|gateway| gateway.count_error())?;
    Ok(None)
}

/// The counts of each bucket.
fn times<'s>(js: Js<'s>, times: &Times) -> Outcome<Value<'s>> {
    let list = js.array(times.buckets.len())?;
    for (index, count) in (0_u32..).zip(&times.buckets) {
        js.set_element(list, index, js.number(from_u64(*count))?)?;
    }
    Ok(list)
}

fn put(js: Js<'_>, object: Value<'_>, counts: &[(&CStr, f64)]) -> Outcome<()> {
    for (name, count) in counts {
        js.set(object, name, js.number(*count)?)?;
    }
    Ok(())
}
