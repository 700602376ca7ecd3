//! Commands about the server: `INFO` and `TIME`.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use super::call::{Call, Flow};

/// The version of Redis whose commands these are: clients choose by it what they use.
pub(super) const REDIS_VERSION: &str = "7.0.0";

pub(super) fn time(call: &mut Call<'_, '_>) -> Flow {
    // a clock before 1970 was never set
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let parts = [now.as_secs().to_string(), now.subsec_micros().to_string()];
    call.reply(|reply| {
        reply.array(2);
        for part in &parts {
            reply.bulk(part.as_bytes());
        }
    })
}

pub(super) fn info(call: &mut Call<'_, '_>) -> Flow {
    let wanted: Vec<String> = call
        .arguments(1)
        .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
        .collect();
    let all = wanted.is_empty()
        || wanted
            .iter()
            .any(|name| matches!(name.as_str(), "all" | "default" | "everything"));
    let mut text = String::new();
    for (name, lines) in sections(call) {
        if !all && !wanted.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        // writing to a string cannot fail
        let _written = write!(text, "# {name}\r\n");
        for (key, value) in lines {
            let _written = write!(text, "{key}:{value}\r\n");
        }
    }
    call.reply(|reply| reply.verbatim(b"txt", &text))
}

type Lines = Vec<(&'static str, String)>;

/// The sections of `INFO` under the names that Redis uses.
fn sections(call: &Call<'_, '_>) -> [(&'static str, Lines); 8] {
    let hub = call.hub();
    hub.expire_keys();
    let stats = hub.stats();
    let core = hub.core();
    let number = |number: usize| number.to_string();
    let seconds = call.now() / 1000;
    let keys = if stats.keys == 0 {
        Lines::new()
    } else {
        let (keys, expiring) = (stats.keys, core.expiring_count());
        let keys = format!("keys={keys},expires={expiring},avg_ttl=0");
        vec![("db0", keys)]
    };
    [
        (
            "Server",
            vec![
                ("redis_version", REDIS_VERSION.to_owned()),
                ("redis_mode", "standalone".to_owned()),
                ("os", std::env::consts::OS.to_owned()),
                ("arch_bits", usize::BITS.to_string()),
                ("process_id", std::process::id().to_string()),
                ("uptime_in_seconds", seconds.to_string()),
                ("uptime_in_days", (seconds / 86_400).to_string()),
                ("millrace_version", env!("CARGO_PKG_VERSION").to_owned()),
                ("io_threads_active", number(stats.io_threads)),
            ],
        ),
        (
            "Clients",
            vec![
                (
                    "connected_clients",
                    number(call.session.terms.common.clients.count()),
                ),
                ("millrace_connections", number(stats.connections)),
            ],
        ),
        ("Memory", memory(stats.outbox_bytes)),
        ("Persistence", vec![("loading", "0".to_owned())]),
        (
            "Stats",
            vec![
                (
                    "total_connections_received",
                    stats.traffic.opened.to_string(),
                ),
                ("total_net_input_bytes", stats.traffic.bytes_in.to_string()),
                (
                    "total_net_output_bytes",
                    stats.traffic.bytes_out.to_string(),
                ),
                ("millrace_deliveries", stats.deliveries.to_string()),
                ("pubsub_channels", number(stats.channels)),
                ("pubsub_patterns", number(core.pattern_count())),
            ],
        ),
        (
            "Replication",
            vec![
                ("role", "master".to_owned()),
                ("connected_slaves", "0".to_owned()),
            ],
        ),
        ("Cluster", vec![("cluster_enabled", "0".to_owned())]),
        ("Keyspace", keys),
    ]
}

fn memory(outboxes: usize) -> Lines {
    let mut lines = vec![("millrace_outbox_bytes", outboxes.to_string())];
    if let Some(memory) = memory_stats::memory_stats() {
        lines.push(("used_memory_rss", memory.physical_mem.to_string()));
    }
    lines.push(("maxmemory_policy", "noeviction".to_owned()));
    lines
}
