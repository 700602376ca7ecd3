//! The counters of the servers that sessions are relayed to, by host.

use std::fmt;

use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::Metrics;
use crate::target_stats::HostCounts;

/// Writes the metrics of all targets, if there are any.
pub(super) fn encode(targets: &[HostCounts], out: &mut Metrics<'_>) -> fmt::Result {
    type Of = fn(&HostCounts) -> u64;
    if targets.is_empty() {
        return Ok(());
    }
    let counters: [(&str, &str, Of); 7] = [
        ("opened", "Targets of sessions that were reached", |of| {
            of.opened
        }),
        (
            "failed",
            "Targets of sessions that were not reached",
            |of| of.failed,
        ),
        ("sent_messages", "Messages relayed to targets", |of| {
            of.messages_to
        }),
        ("sent_bytes", "Bytes of messages relayed to targets", |of| {
            of.bytes_to
        }),
        ("received_messages", "Messages relayed from targets", |of| {
            of.messages_from
        }),
        (
            "received_bytes",
            "Bytes of messages relayed from targets",
            |of| of.bytes_from,
        ),
        (
            "dropped_messages",
            "Messages to targets that did not read",
            |of| of.dropped,
        ),
    ];
    for (name, help, count) in counters {
        let all = targets.iter().map(|of| (&*of.host, count(of)));
        out.counts(
            &format!("target_{name}"),
            help,
            "host",
            &all.collect::<Vec<_>>(),
        )?;
    }
    let open = targets.iter().map(|of| {
        let open = of.opened.saturating_sub(of.closed);
        (&*of.host, i64::try_from(open).unwrap_or(i64::MAX))
    });
    out.gauges("targets", "Targets of sessions now", "host", open)
}

impl Metrics<'_> {
    fn gauges<'v>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        mut values: impl Iterator<Item = (&'v str, i64)>,
    ) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        values.try_for_each(|(kind, value)| {
            ConstGauge::new(value).encode(metric.encode_family(&[(label, kind)])?)
        })
    }
}
