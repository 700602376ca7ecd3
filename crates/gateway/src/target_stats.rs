//! Counters of the servers that sessions are relayed to, by host. Limits how many hosts are counted separately; knows
//! no protocol.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::sync::{AtomicU64, Mutex, Ordering};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct TargetStats(Mutex<BTreeMap<Box<str>, Arc<HostStats>>>);

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters of one host, written by any thread.
        #[derive(Default)]
        pub(crate) struct HostStats {
            $($(#[$doc])* $name: AtomicU64,)*
        }

        /// The counts of one host.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub(crate) struct HostCounts {
            /// The host, or [`OTHERS`].
            pub(crate) host: Box<str>,
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl HostStats {
            fn counts(&self, host: &str) -> HostCounts {
                HostCounts {
                    host: host.into(),
                    $($name: self.$name.load(Ordering::Relaxed),)*
                }
            }
        }
    };
}

counters! {
    /// Targets that were reached.
    opened,
    /// Targets that were reached and are gone again.
    closed,
    /// Targets that were not reached.
    failed,
    /// Messages to targets.
    messages_to,
    /// Bytes of messages to targets.
    bytes_to,
    /// Messages from targets.
    messages_from,
    /// Bytes of messages from targets.
    bytes_from,
    /// Messages that were dropped because their target did not read.
    dropped,
}

impl HostStats {
    pub(crate) fn open(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn close(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fail(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the messages of one read together, because threads share these counters.
    pub(crate) fn sent(&self, messages: u64, bytes: u64) {
        self.messages_to.fetch_add(messages, Ordering::Relaxed);
        self.bytes_to.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts the messages of one read from a target.
    pub(crate) fn received(&self, messages: u64, bytes: u64) {
        if messages > 0 {
            self.messages_from.fetch_add(messages, Ordering::Relaxed);
            self.bytes_from.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl TargetStats {
    /// The counters of a host. All hosts beyond the first [`MOST_HOSTS`] share one set.
    pub(crate) fn of(&self, host: &str) -> Arc<HostStats> {
        let mut hosts = self.0.lock();
        if let Some(known) = hosts.get(host) {
            return Arc::clone(known);
        }
        let name = if hosts.len() < MOST_HOSTS {
            host
        } else {
            OTHERS
        };
        Arc::clone(hosts.entry(name.into()).or_default())
    }

    /// All hosts, by name.
    pub(crate) fn counts(&self) -> Vec<HostCounts> {
        let hosts = self.0.lock();
        let all = hosts.iter().map(|(host, stats)| stats.counts(host));
        all.collect()
    }
}

impl fmt::Debug for HostStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.counts(""), f)
    }
}

/// The most hosts that are counted separately: clients may name any number of them.
const MOST_HOSTS: usize = 200;

/// The name of the set for all other hosts.
const OTHERS: &str = "other";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_beyond_the_limit_are_counted_together() {
        let stats = TargetStats::default();
        for number in 0..MOST_HOSTS + 10 {
            stats.of(&format!("host-{number:03}")).open();
        }
        stats.of("host-000").received(1, 7);
        stats.of("host-209").fail();
        let counts = stats.counts();
        assert_eq!(counts.len(), MOST_HOSTS + 1);
        let first = HostCounts {
            host: "host-000".into(),
            opened: 1,
            messages_from: 1,
            bytes_from: 7,
            ..HostCounts::default()
        };
        assert_eq!(counts.first(), Some(&first));
        let others = HostCounts {
            host: OTHERS.into(),
            opened: 10,
            failed: 1,
            ..HostCounts::default()
        };
        assert_eq!(counts.last(), Some(&others));
    }
}
