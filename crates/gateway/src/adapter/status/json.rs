//! The state as JSON: numbers under the names that they have in the result of `stats()`.

use std::fmt::{self, Write};

use millrace_backplane::Stats as BackplaneStats;

use super::State;
use crate::stats::{HistoryStats, PresenceStats, Stats, WorkerStats};

/// Writes one object on one line, `activeConnections` first.
pub(super) fn text(state: &State) -> String {
    let mut out = String::with_capacity(ROOM);
    // writing to a String cannot fail
    let _always_ok = write(state, &mut out);
    out
}

fn write(all: &State, out: &mut String) -> fmt::Result {
    let stats = &all.stats;
    let traffic = &stats.traffic;
    write!(out, "{{\"activeConnections\":{}", stats.connections)?;
    if let Some(bytes) = all.resident_bytes {
        write!(out, ",\"residentBytes\":{bytes}")?;
    }
    write!(out, ",\"uptimeSeconds\":{:.3}", all.uptime_seconds)?;
    for (name, count) in [
        ("sockets", stats.sockets),
        ("virtualSockets", stats.virtual_sockets),
        ("channels", stats.channels),
        ("patterns", stats.patterns),
        ("subscriptions", stats.subscriptions),
        ("keys", stats.keys),
        ("compressionContextBytes", stats.compression.context_bytes),
        ("outboxBytes", stats.outbox_bytes),
        ("inboundBytes", stats.inbound_bytes),
        ("ioThreads", stats.io_threads),
    ] {
        entry(out, name, wide(count));
    }
    for (name, count) in [
        ("opened", traffic.opened),
        ("closed", traffic.closed),
        ("refused", traffic.refused),
        ("refusedByAddress", traffic.refused_by_address),
        ("refusedByKey", traffic.refused_by_key),
        ("failedHandshakes", traffic.failed_handshakes),
        ("refusedProxyHeaders", traffic.refused_proxy_headers),
        ("requests", traffic.requests),
        ("messagesIn", traffic.messages_in),
        ("messageBytesIn", traffic.message_bytes_in),
        ("bytesIn", traffic.bytes_in),
        ("bytesOut", traffic.bytes_out),
        ("deliveries", stats.deliveries),
        ("deliveriesRefused", stats.deliveries_refused),
        ("droppedByClose", traffic.dropped_by_close),
        ("droppedByOverflow", traffic.dropped_by_overflow),
        ("droppedByEncoding", traffic.dropped_by_encoding),
        ("overflowCloses", traffic.overflow_closes),
        ("inboundCloses", traffic.inbound_closes),
        ("pingTimeouts", traffic.ping_timeouts),
        ("unannotated", stats.unannotated),
        ("unhandledCloses", stats.unhandled_closes),
        ("compressedMessages", stats.compression.messages),
        ("compressionBytesBefore", stats.compression.bytes_before),
        ("compressionBytesAfter", stats.compression.bytes_after),
        ("compressionSkipped", stats.compression.skipped),
        ("errors", stats.errors),
        ("panics", traffic.panics),
    ] {
        entry(out, name, count);
    }
    if let Some(link) = &stats.backplane {
        write_backplane(link, stats, out)?;
    }
    out.push_str(",\"workers\":[");
    for (index, worker) in stats.workers.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_worker(worker, out)?;
    }
    out.push_str("]}\n");
    Ok(())
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Appends one more number, piece by piece: formatting several values at once costs more than everything else here.
fn entry(out: &mut String, name: &str, count: u64) {
    for piece in [",\"", name, "\":"] {
        out.push_str(piece);
    }
    append_decimal(out, count);
}

/// Appends a number. Most are short, and formatting costs several times as much as their digits.
fn append_decimal(out: &mut String, number: u64) {
    if number > 9 {
        append_decimal(out, number / 10);
    }
    let digit = u8::try_from(number % 10).unwrap_or_default();
    out.push(char::from(b'0' + digit));
}

/// Most answers are shorter than this.
const ROOM: usize = 1024;

fn write_backplane(link: &BackplaneStats, stats: &Stats, out: &mut String) -> fmt::Result {
    write!(
        out,
        ",\"backplane\":{{\"state\":\"{}\",\"sinceMs\":{},\"queued\":{},\"queuedBytes\":{}",
        link.state.name(),
        link.since.as_millis(),
        link.queued,
        link.queued_bytes
    )?;
    for (name, count) in [
        ("sent", link.sent),
        ("inFlight", link.in_flight),
        ("dropped", link.dropped),
        ("waits", link.waits),
        ("unconfirmed", link.unconfirmed),
        ("refused", link.refused),
        ("received", link.received),
        ("foreign", link.foreign),
        ("missed", link.missed),
        ("duplicates", link.duplicates),
        ("malformed", link.malformed),
        ("losses", link.losses),
        ("subscriptions", link.subscriptions),
        ("pendingSubscriptions", link.pending_subscriptions),
    ] {
        entry(out, name, count);
    }
    if let Some(histories) = &stats.histories {
        write_histories(histories, out)?;
    }
    if let Some(presence) = &stats.presence {
        write_presence(presence, out)?;
    }
    out.push('}');
    Ok(())
}

fn write_histories(histories: &HistoryStats, out: &mut String) -> fmt::Result {
    write!(
        out,
        ",\"history\":{{\"state\":\"{}\",\"followed\":{},\"waitingBytes\":{}",
        histories.state.name(),
        histories.followed,
        histories.waiting_bytes
    )?;
    for (name, count) in [
        ("stored", histories.stored),
        ("repeated", histories.repeated),
        ("failed", histories.failed),
        ("unknown", histories.unknown),
        ("received", histories.received),
        ("foreign", histories.foreign),
        ("reread", histories.reread),
        ("gaps", histories.gaps),
        ("renewed", histories.renewed),
        ("losses", histories.losses),
    ] {
        entry(out, name, count);
    }
    out.push('}');
    Ok(())
}

fn write_presence(presence: &PresenceStats, out: &mut String) -> fmt::Result {
    let state = presence.state.name();
    write!(
        out,
        ",\"presence\":{{\"state\":\"{state}\",\"followed\":{}",
        presence.followed
    )?;
    for (name, count) in [
        ("sessions", presence.sessions),
        ("rewritten", presence.rewritten),
        ("reread", presence.reread),
        ("losses", presence.losses),
    ] {
        entry(out, name, count);
    }
    out.push('}');
    Ok(())
}

fn write_worker(worker: &WorkerStats, out: &mut String) -> fmt::Result {
    write!(
        out,
        "{{\"id\":{},\"connections\":{},\"events\":{},\"queuedEvents\":{},\"queuedBytes\":{}}}",
        worker.id, worker.connections, worker.events, worker.queued_events, worker.queued_bytes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 9, 10, 909, 1_000_000, u64::MAX] {
            let mut out = String::new();
            append_decimal(&mut out, number);
            assert_eq!(out, number.to_string());
        }
    }

    #[test]
    fn the_state_is_one_object_that_begins_with_the_connections() {
        let worker = WorkerStats {
            id: 3,
            connections: 2,
            ..WorkerStats::default()
        };
        let state = State {
            stats: Stats {
                connections: 2,
                workers: vec![worker.clone(), worker],
                ..Stats::default()
            },
            resident_bytes: Some(4096),
            uptime_seconds: 1.5,
            targets: Vec::new(),
        };
        let text = text(&state);
        assert!(text.starts_with(
            "{\"activeConnections\":2,\"residentBytes\":4096,\"uptimeSeconds\":1.500,"
        ));
        assert!(text.ends_with("\"queuedBytes\":0}]}\n"));
        assert_eq!(text.matches("\"id\":3,\"connections\":2").count(), 2);
    }

    #[test]
    fn what_nodes_share_is_a_part_of_the_backplane() {
        let histories = HistoryStats {
            followed: 2,
            gaps: 3,
            ..HistoryStats::default()
        };
        let state = State {
            stats: Stats {
                backplane: Some(BackplaneStats::default()),
                histories: Some(histories),
                presence: Some(PresenceStats::default()),
                ..Stats::default()
            },
            resident_bytes: None,
            uptime_seconds: 0.0,
            targets: Vec::new(),
        };
        let text = text(&state);
        let begin = ",\"history\":{\"state\":\"connecting\",\"followed\":2,\"waitingBytes\":0,";
        assert!(text.contains(begin), "{text}");
        let end = "\"gaps\":3,\"renewed\":0,\"losses\":0},\"presence\":{\"state\":\"connecting\",\"followed\":0,\
            \"sessions\":0,\"rewritten\":0,\"reread\":0,\"losses\":0}},\"workers\":[]}\n";
        assert!(text.ends_with(end), "{text}");
    }
}
