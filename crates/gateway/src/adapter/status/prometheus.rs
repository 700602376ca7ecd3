//! The state as metrics, in the text format of `OpenMetrics` 1.0. Names follow its conventions: base units, counters end
//! in `_total`, one label per kind of thing. Over 400 lines because every metric has its help in the same place.

mod histories;
mod presence;
mod targets;

use std::fmt;

use millrace_backplane::State as LinkState;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text as openmetrics};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::State;
use crate::stats::{Times, WorkerStats};

/// Writes all metrics.
pub(super) fn text(state: State) -> String {
    let mut registry = Registry::with_prefix("millrace");
    registry.register_collector(Box::new(state));
    let mut out = String::new();
    // writing to a String cannot fail
    let _always_ok = openmetrics::encode(&mut out, &registry);
    out
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("State").finish_non_exhaustive()
    }
}

impl Collector for State {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Metrics(encoder);
        self.gauges(&mut out)?;
        self.counters(&mut out)?;
        self.backplane(&mut out)?;
        if let Some(stats) = &self.stats.histories {
            histories::encode(stats, &mut out)?;
        }
        if let Some(stats) = &self.stats.presence {
            presence::encode(stats, &mut out)?;
        }
        targets::encode(&self.targets, &mut out)?;
        out.workers(&self.stats.workers)
    }
}

impl State {
    fn gauges(&self, out: &mut Metrics<'_>) -> fmt::Result {
        let stats = &self.stats;
        let connections = "Connections open now, handshakes included";
        for (name, help, value) in [
            ("connections", connections, stats.connections),
            ("sockets", "Real sockets open now", stats.sockets),
            ("virtual_sockets", "Virtual sockets", stats.virtual_sockets),
            ("channels", "Channels with a subscription", stats.channels),
            ("patterns", "Patterns with a subscription", stats.patterns),
            ("subscriptions", "Subscriptions", stats.subscriptions),
            ("keys", "Keys in the key/value store", stats.keys),
            ("io_threads", "Running I/O threads", stats.io_threads),
        ] {
            out.gauge(name, help, None, whole(value))?;
        }
        let (bytes, queued) = (Some(&Unit::Bytes), whole(stats.outbox_bytes));
        out.gauge("outboxes", "Bytes held by outboxes", bytes, queued)?;
        let what = "Bytes of messages that are being received";
        out.gauge("inbound", what, bytes, whole(stats.inbound_bytes))?;
        let what = "Bytes of earlier messages that connections keep for context takeover";
        let contexts = whole(stats.compression.context_bytes);
        out.gauge("compression_contexts", what, bytes, contexts)?;
        if let Some(resident) = self.resident_bytes {
            let what = "Resident memory of the process";
            out.gauge("resident_memory", what, bytes, whole(resident))?;
        }
        let what = "Time since the gateway was made";
        out.gauge("uptime", what, Some(&Unit::Seconds), self.uptime_seconds)
    }

    fn counters(&self, out: &mut Metrics<'_>) -> fmt::Result {
        let (stats, traffic) = (&self.stats, &self.stats.traffic);
        for (name, help, label, values) in [
            (
                "handshakes",
                "Handshakes, by how they ended",
                "result",
                &[("accepted", traffic.opened), ("refused", traffic.refused)][..],
            ),
            (
                "limited_connections",
                "Connections refused by a limit of their address or of their key",
                "limit",
                &[
                    ("address", traffic.refused_by_address),
                    ("key", traffic.refused_by_key),
                ],
            ),
            (
                "network_bytes",
                "Bytes read and written",
                "direction",
                &[("in", traffic.bytes_in), ("out", traffic.bytes_out)],
            ),
            (
                "dropped",
                "Deliveries that did not arrive, by reason",
                "reason",
                &[
                    ("refused", stats.deliveries_refused),
                    ("close", traffic.dropped_by_close),
                    ("overflow", traffic.dropped_by_overflow),
                    ("encoding", traffic.dropped_by_encoding),
                ],
            ),
        ] {
            out.counts(name, help, label, values)?;
        }
        self.events(out)
    }

    /// Writes the metrics of the link to other nodes.
    fn backplane(&self, out: &mut Metrics<'_>) -> fmt::Result {
        let Some(link) = &self.stats.backplane else {
            return Ok(());
        };
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        let is_up = i64::from(link.state == LinkState::Ready);
        for (name, help, value) in [
            (
                "backplane_up",
                "Whether there is a link to other nodes",
                is_up,
            ),
            (
                "backplane_queued",
                "Messages that wait for the backplane",
                whole(link.queued),
            ),
            (
                "backplane_subscriptions",
                "Channels and patterns that the backplane sends",
                number(link.subscriptions),
            ),
        ] {
            out.gauge(name, help, None, value)?;
        }
        let (help, fates) = (
            "Messages to other nodes, by result",
            [
                ("sent", link.sent),
                ("dropped", link.dropped),
                ("unconfirmed", link.unconfirmed),
                ("refused", link.refused),
            ],
        );
        out.counts("backplane_published", help, "result", &fates)?;
        let (help, fates) = (
            "Messages from other nodes and other publishers, by result",
            [
                ("delivered", link.received),
                ("missed", link.missed),
                ("duplicate", link.duplicates),
                ("malformed", link.malformed),
            ],
        );
        out.counts("backplane_messages", help, "result", &fates)?;
        let help =
            "Times that workers and Redis clients waited because much waited for the backplane";
        out.count("backplane_waits", help, link.waits)?;
        let help = "Times the link to other nodes was lost";
        out.count("backplane_losses", help, link.losses)
    }

    fn events(&self, out: &mut Metrics<'_>) -> fmt::Result {
        let (stats, traffic) = (&self.stats, &self.stats.traffic);
        for (name, help, value) in [
            (
                "failed_tls_handshakes",
                "TLS handshakes that failed",
                traffic.failed_handshakes,
            ),
            (
                "refused_proxy_headers",
                "Connections closed over the header of the PROXY protocol",
                traffic.refused_proxy_headers,
            ),
            ("closed", "Sockets that closed", traffic.closed),
            (
                "requests",
                "HTTP requests answered, handshakes and refusals included",
                traffic.requests,
            ),
            (
                "messages_received",
                "Messages received",
                traffic.messages_in,
            ),
            (
                "message_bytes_received",
                "Bytes of messages received",
                traffic.message_bytes_in,
            ),
            ("deliveries", "Deliveries posted", stats.deliveries),
            (
                "overflow_closes",
                "Sockets closed over a full outbox",
                traffic.overflow_closes,
            ),
            (
                "inbound_closes",
                "Sockets closed because too much was being received",
                traffic.inbound_closes,
            ),
            (
                "ping_timeouts",
                "Peers that did not answer a ping",
                traffic.ping_timeouts,
            ),
            (
                "unannotated",
                "Texts that could not take user data",
                stats.unannotated,
            ),
            (
                "unhandled_closes",
                "Closes that no worker was left for",
                stats.unhandled_closes,
            ),
            ("errors", "Errors reported to the application", stats.errors),
            (
                "panics",
                "Connections ended by a bug in Millrace",
                traffic.panics,
            ),
        ] {
            out.count(name, help, value)?;
        }
        self.compression(out)
    }

    fn compression(&self, out: &mut Metrics<'_>) -> fmt::Result {
        let compression = self.stats.compression;
        out.counts(
            "compression_bytes",
            "Bytes of compressed messages, before and after",
            "stage",
            &[
                ("before", compression.bytes_before),
                ("after", compression.bytes_after),
            ],
        )?;
        out.count(
            "compressed_messages",
            "Messages that were compressed, once for all recipients of a frame",
            compression.messages,
        )?;
        out.count(
            "compression_skipped",
            "Messages sent uncompressed because too much waited for compression",
            compression.skipped,
        )
    }
}

struct Metrics<'a>(DescriptorEncoder<'a>);

impl Metrics<'_> {
    fn gauge<N>(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: N) -> fmt::Result
    where
        ConstGauge<N>: EncodeMetric,
    {
        let metric = self
            .0
            .encode_descriptor(name, help, unit, MetricType::Gauge)?;
        ConstGauge::new(value).encode(metric)
    }

    fn count(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(metric)
    }

    fn counts(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &[(&str, u64)],
    ) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        values.iter().try_for_each(|(kind, value)| {
            ConstCounter::new(*value).encode(metric.encode_family(&[(label, *kind)])?)
        })
    }

    fn workers(&mut self, workers: &[WorkerStats]) -> fmt::Result {
        let whole = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let connections = "Connections pinned to a worker";
        self.each("worker_connections", connections, workers, |worker| {
            worker.connections
        })?;
        self.each(
            "worker_queued_events",
            "Events waiting for a worker",
            workers,
            |worker| whole(worker.queued_events),
        )?;
        self.each(
            "worker_queued_bytes",
            "Bytes of these events",
            workers,
            |worker| whole(worker.queued_bytes),
        )?;
        self.events(workers)?;
        let handlers = "How long a worker's handlers took, sampled";
        self.times("handler_duration", handlers, workers, |worker| {
            &worker.handler_times
        })?;
        let delays = "How long a worker left its doorbell unanswered";
        self.times("event_loop_delay", delays, workers, |worker| {
            &worker.loop_delays
        })
    }

    fn each(
        &mut self,
        name: &str,
        help: &str,
        workers: &[WorkerStats],
        value: impl Fn(&WorkerStats) -> u64,
    ) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        workers.iter().try_for_each(|worker| {
            let value = i64::try_from(value(worker)).unwrap_or(i64::MAX);
            ConstGauge::new(value).encode(metric.encode_family(&[(WORKER, worker.id)])?)
        })
    }

    fn events(&mut self, workers: &[WorkerStats]) -> fmt::Result {
        let help = "Events told to a worker";
        let mut metric =
            self.0
                .encode_descriptor("worker_events", help, None, MetricType::Counter)?;
        workers.iter().try_for_each(|worker| {
            ConstCounter::new(worker.events).encode(metric.encode_family(&[(WORKER, worker.id)])?)
        })
    }

    fn times(
        &mut self,
        name: &str,
        help: &str,
        workers: &[WorkerStats],
        times: impl Fn(&WorkerStats) -> &Times,
    ) -> fmt::Result {
        let mut metric =
            self.0
                .encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        workers.iter().try_for_each(|worker| {
            let times = times(worker);
            let sum = seconds(times.sum_micros);
            let count = times.buckets.iter().sum();
            let labels = [(WORKER, worker.id)];
            let mut family = metric.encode_family(&labels)?;
            family.encode_histogram::<[(&str, u32); 1]>(sum, count, &buckets(times), None)
        })
    }
}

/// Joins two buckets of a histogram into one: 1 µs, 4 µs, 16 µs … each counts the times between its bound and the one
/// before.
fn buckets(times: &Times) -> Vec<(f64, u64)> {
    let last = times.buckets.len().saturating_sub(1);
    let mut buckets = Vec::new();
    let mut count = 0;
    for (power, in_bucket) in (0_u32..).zip(&times.buckets) {
        count += in_bucket;
        let is_last = usize::try_from(power) == Ok(last);
        if is_last || power % 2 == 0 {
            let bound = if is_last {
                f64::INFINITY
            } else {
                seconds(1 << power)
            };
            buckets.push((bound, std::mem::take(&mut count)));
        }
    }
    buckets
}

fn seconds(micros: u64) -> f64 {
    std::time::Duration::from_micros(micros).as_secs_f64()
}

fn whole(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The label of metrics of one worker.
const WORKER: &str = "worker";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_keep_every_count() {
        let times = Times {
            buckets: (1..=24).collect(),
            sum_micros: 0,
        };
        let buckets = buckets(&times);
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 300);
        assert_eq!(buckets[0], (0.000_001, 1));
        assert_eq!(buckets[1], (0.000_004, 2 + 3));
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, 24)));
    }
}
