//! Counts connections against their limits: those of a gateway, of each address and of each key, and how fast they come.
//! Accepts nothing.

mod bucket;
mod network;
mod tally;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::limits::GatewayLimits;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};
pub(crate) use bucket::Bucket;
pub(crate) use network::Network;
use tally::Tally;

/// Counts the connections of a gateway against their limits.
#[derive(Debug)]
pub(crate) struct Permits {
    /// The place of all permits that count for no address and no key.
    nowhere: Arc<Place>,
}

/// One counted connection; dropping it makes room. A single pointer, because every connection pays for this.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Place>);

/// What a permit counts for.
#[derive(Debug)]
struct Place {
    counts: Arc<Counts>,
    /// `Some` if connections per address are limited.
    address: Option<Network>,
    /// `Some` if it has a key, and keys have limits.
    key: Option<Arc<str>>,
}

/// The key of a connection has as many connections as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyIsFull;

#[derive(Debug)]
struct Counts {
    epoch: Instant,
    taken: AtomicUsize,
    limit: AtomicUsize,
    freed: Notify,
    arrivals: Bucket,
    /// The second in which it was last logged that accepting waits for the rate.
    told_at: AtomicU64,
    limits_addresses: AtomicBool,
    addresses: Mutex<Tally<Network>>,
    limits_keys: AtomicBool,
    keys: Mutex<Tally<Arc<str>>>,
}

impl Permits {
    /// The rates of messages use the clock of `epoch`, as the shards do.
    pub(crate) fn new(epoch: Instant) -> Self {
        let counts = Counts {
            epoch,
            taken: AtomicUsize::new(0),
            limit: AtomicUsize::new(usize::MAX),
            freed: Notify::new(),
            arrivals: Bucket::new(0),
            told_at: AtomicU64::new(0),
            limits_addresses: AtomicBool::new(false),
            addresses: Mutex::new(Tally::default()),
            limits_keys: AtomicBool::new(false),
            keys: Mutex::new(Tally::default()),
        };
        Self {
            nowhere: Arc::new(Place {
                counts: Arc::new(counts),
                address: None,
                key: None,
            }),
        }
    }

    pub(crate) fn set_limits(&self, limits: &GatewayLimits) {
        let counts = &self.nowhere.counts;
        let number = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        counts
            .limit
            .store(number(limits.connections), Ordering::Relaxed);
        counts.arrivals.set(limits.connections_per_second);
        let (most, rate) = (
            limits.connections_per_address,
            limits.connections_per_second_per_address,
        );
        counts.addresses.lock().set(number(most), rate);
        let limited = most > 0 || rate > 0;
        counts.limits_addresses.store(limited, Ordering::Relaxed);
        let (most, rate) = (
            limits.connections_per_key,
            limits.messages_per_second_per_key,
        );
        counts.keys.lock().set(number(most), rate);
        let limited = most > 0 || rate > 0;
        counts.limits_keys.store(limited, Ordering::Relaxed);
    }

    /// Open connections, including handshakes.
    pub(crate) fn taken(&self) -> usize {
        self.nowhere.counts.taken.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        self.taken() >= self.nowhere.counts.limit.load(Ordering::Relaxed)
    }

    /// Waits while every permit is taken, and while connections come too fast.
    pub(crate) async fn room(&self) {
        loop {
            let freed = self.nowhere.counts.freed.notified();
            if !self.is_full() {
                break;
            }
            tracing::warn!(target: "millrace::listener", "every connection is taken, accepting waits");
            freed.await;
        }
        let counts = &self.nowhere.counts;
        while counts.arrivals.limits() {
            let now = counts.now();
            let wait = counts.arrivals.wait(now);
            if wait == 0 {
                return;
            }
            let second = now / 1000 + 1;
            if counts.told_at.swap(second, Ordering::Relaxed) != second {
                tracing::warn!(target: "millrace::listener", "connections come faster than connectionsPerSecond, accepting waits");
            }
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
    }

    /// Takes a permit for a connection that was accepted. The flag says whether this address has too many connections,
    /// or makes them too fast.
    pub(crate) fn accepted(&self, address: Option<IpAddr>) -> (Permit, bool) {
        let counts = &self.nowhere.counts;
        if counts.arrivals.limits() {
            counts.arrivals.spend(counts.now());
        }
        self.take(address)
    }

    /// Takes a permit for a connection that another server has accepted, so that it cannot wait. The first flag is that of
    /// [`take`](Self::take); the second one says whether there are too many connections in all, or they come too fast.
    pub(crate) fn adopted(&self, address: Option<IpAddr>) -> (Permit, bool, bool) {
        let counts = &self.nowhere.counts;
        let is_over =
            self.is_full() || counts.arrivals.limits() && !counts.arrivals.take(counts.now());
        let (permit, over_limit) = self.take(address);
        (permit, over_limit, is_over)
    }

    /// Takes a permit, if one is free, for a connection that was not accepted on its own.
    pub(crate) fn take_one_more(&self, address: Option<IpAddr>) -> Option<(Permit, bool)> {
        (!self.is_full()).then(|| self.take(address))
    }

    /// Takes a permit. The flag says whether this address has too many connections, or makes them too fast.
    pub(crate) fn take(&self, address: Option<IpAddr>) -> (Permit, bool) {
        self.nowhere.counts.taken.fetch_add(1, Ordering::Relaxed);
        let mut permit = Permit(Arc::clone(&self.nowhere));
        let over_limit = address.is_some_and(|address| permit.count_for(address));
        (permit, over_limit)
    }
}

impl Permit {
    /// A permit without a count, for a connection that is counted elsewhere.
    pub(crate) fn uncounted() -> Self {
        Permits::new(Instant::now()).take(None).0
    }

    /// Counts the connection for this address and no longer for the one before. The flag says whether the address has
    /// too many, or makes them too fast.
    pub(crate) fn count_for(&mut self, address: IpAddr) -> bool {
        self.count(address, true)
    }

    /// Counts a connection for this address again, which has not made a new one.
    pub(crate) fn count_again_for(&mut self, address: IpAddr) {
        // the connection was admitted before, so exceeding the limit concerns only the next one
        let _over_limit = self.count(address, false);
    }

    fn count(&mut self, address: IpAddr, arrives: bool) -> bool {
        let counts = Arc::clone(&self.0.counts);
        if !counts.limits_addresses.load(Ordering::Relaxed) {
            return false;
        }
        let (address, now) = (Network::of(address), counts.now());
        let mut addresses = counts.addresses.lock();
        if let Some(before) = &self.0.address {
            addresses.leave(before, now);
        }
        let over_limit = addresses.enter(address, arrives, now);
        drop(addresses);
        self.move_to(Some(address), self.0.key.clone());
        over_limit
    }

    /// Stops counting the connection for an address.
    pub(crate) fn forget_address(&mut self) {
        let counts = Arc::clone(&self.0.counts);
        if let Some(address) = &self.0.address {
            counts.addresses.lock().leave(address, counts.now());
            self.move_to(None, self.0.key.clone());
        }
    }

    /// Counts the connection for this key, once, unless the key has too many. `Ok`: the bucket of messages that the
    /// connections of the key share, if their rate is limited.
    pub(crate) fn count_for_key(&mut self, key: &str) -> Result<Option<Arc<Bucket>>, KeyIsFull> {
        let counts = Arc::clone(&self.0.counts);
        if !counts.limits_keys.load(Ordering::Relaxed) || self.0.key.is_some() {
            return Ok(None);
        }
        let key: Arc<str> = key.into();
        let entered = counts
            .keys
            .lock()
            .enter_within(Arc::clone(&key), counts.now());
        let bucket = entered.map_err(|_full| KeyIsFull)?;
        self.move_to(self.0.address, Some(key));
        Ok(bucket)
    }

    fn move_to(&mut self, address: Option<Network>, key: Option<Arc<str>>) {
        let counts = Arc::clone(&self.0.counts);
        self.0 = Arc::new(Place {
            counts,
            address,
            key,
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Place {
            counts,
            address,
            key,
        } = &*self.0;
        if let Some(address) = address {
            counts.addresses.lock().leave(address, counts.now());
        }
        if let Some(key) = key {
            counts.keys.lock().leave(key, counts.now());
        }
        let before = counts.taken.fetch_sub(1, Ordering::Relaxed);
        if before >= counts.limit.load(Ordering::Relaxed) {
            counts.freed.notify_waiters();
        }
    }
}

impl Counts {
    /// Milliseconds since the epoch.
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(all(test, not(millrace_loom)))]
mod tests;

/// Run with `RUSTFLAGS="--cfg millrace_loom"`. Tasks that wait for room are woken by tokio's `Notify`, which loom does
/// not check.
#[cfg(all(test, millrace_loom))]
mod loom_tests {
    use super::*;

    #[test]
    fn permits_of_an_address_are_counted_once_and_freed() {
        loom::model(|| {
            let permits = Arc::new(Permits::new(Instant::now()));
            let mut limits = GatewayLimits::default();
            limits.connections_per_address = 1;
            permits.set_limits(&limits);
            let address = IpAddr::from([127, 0, 0, 1]);
            let come = |permits: Arc<Permits>| move || permits.take(Some(address));
            let other = loom::thread::spawn(come(Arc::clone(&permits)));
            let (own, over) = come(Arc::clone(&permits))();
            let (others, others_over) = other.join().unwrap();
            assert!(over != others_over, "one of the two exceeds the limit");
            drop((own, others));
            assert_eq!(permits.taken(), 0);
            assert!(permits.nowhere.counts.addresses.lock().counts().is_empty());
        });
    }
}
