//! Counts connections against their limits: those of a gateway, and those of each address. Accepts nothing.

use std::net::IpAddr;
use std::sync::Arc;

use ahash::AHashMap;
use tokio::sync::Notify;

use crate::sync::{AtomicUsize, Mutex, Ordering};

/// Counts the connections of a gateway against their limits.
#[derive(Debug)]
pub(crate) struct Permits {
    /// The place of all permits that count for no address.
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
    address: Option<IpAddr>,
}

#[derive(Debug)]
struct Counts {
    taken: AtomicUsize,
    limit: AtomicUsize,
    per_address_limit: AtomicUsize,
    per_address: Mutex<AHashMap<IpAddr, usize>>,
    freed: Notify,
}

impl Permits {
    pub(crate) fn new() -> Self {
        let counts = Counts {
            taken: AtomicUsize::new(0),
            limit: AtomicUsize::new(usize::MAX),
            per_address_limit: AtomicUsize::new(0),
            per_address: Mutex::new(AHashMap::new()),
            freed: Notify::new(),
        };
        Self {
            nowhere: Arc::new(Place {
                counts: Arc::new(counts),
                address: None,
            }),
        }
    }

    pub(crate) fn set_limits(&self, connections: u32, per_address: u32) {
        let counts = &self.nowhere.counts;
        counts.limit.store(
            usize::try_from(connections).unwrap_or(usize::MAX),
            Ordering::Relaxed,
        );
        counts.per_address_limit.store(
            usize::try_from(per_address).unwrap_or(usize::MAX),
            Ordering::Relaxed,
        );
    }

    /// Open connections, including handshakes.
    pub(crate) fn taken(&self) -> usize {
        self.nowhere.counts.taken.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        self.taken() >= self.nowhere.counts.limit.load(Ordering::Relaxed)
    }

    /// Whether a permit is free.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_full()
    }

    /// Waits while every permit is taken.
    pub(crate) async fn room(&self) {
        loop {
            let freed = self.nowhere.counts.freed.notified();
            if !self.is_full() {
                return;
            }
            tracing::warn!(target: "millrace::listener", "every connection is taken, accepting waits");
            freed.await;
        }
    }

    /// Takes a permit, if one is free, for a connection that was not accepted on its own.
    pub(crate) fn take_one_more(&self, address: Option<IpAddr>) -> Option<(Permit, bool)> {
        (!self.is_full()).then(|| self.take(address))
    }

    /// Takes a permit. The flag says whether this address has too many connections.
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
        Permits::new().take(None).0
    }

    /// Counts the connection for this address and no longer for the one before. The flag says whether the address has
    /// too many.
    pub(crate) fn count_for(&mut self, address: IpAddr) -> bool {
        let counts = Arc::clone(&self.0.counts);
        let limit = counts.per_address_limit.load(Ordering::Relaxed);
        if limit == 0 {
            return false;
        }
        let mut per_address = counts.per_address.lock();
        self.0.uncount(&mut per_address);
        let count = per_address.entry(address).or_default();
        *count += 1;
        let over_limit = *count > limit;
        drop(per_address);
        self.0 = Arc::new(Place {
            counts,
            address: Some(address),
        });
        over_limit
    }

    /// Stops counting the connection for an address.
    pub(crate) fn forget_address(&mut self) {
        if self.0.address.is_none() {
            return;
        }
        let counts = Arc::clone(&self.0.counts);
        self.0.uncount(&mut counts.per_address.lock());
        self.0 = Arc::new(Place {
            counts,
            address: None,
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let counts = &self.0.counts;
        if self.0.address.is_some() {
            self.0.uncount(&mut counts.per_address.lock());
        }
        let before = counts.taken.fetch_sub(1, Ordering::Relaxed);
        if before >= counts.limit.load(Ordering::Relaxed) {
            counts.freed.notify_waiters();
        }
    }
}

impl Place {
    fn uncount(&self, per_address: &mut AHashMap<IpAddr, usize>) {
        if let Some(address) = &self.address
            && let Some(count) = per_address.get_mut(address)
        {
            *count -= 1;
            if *count == 0 {
                per_address.remove(address);
            }
        }
    }
}

#[cfg(all(test, not(millrace_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_permit_is_one_pointer() {
        assert_eq!(size_of::<Permit>(), size_of::<usize>());
        assert_eq!(size_of::<Option<Permit>>(), size_of::<usize>());
    }

    #[test]
    fn a_permit_counts_for_one_address_at_a_time() {
        let permits = Permits::new();
        permits.set_limits(2, 1);
        let (one, other) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let counted = || permits.nowhere.counts.per_address.lock().clone();

        let (mut first, over) = permits.take(Some(one));
        assert!(
            !over
                && permits
                    .take_one_more(Some(one))
                    .is_some_and(|(_, over)| over)
        );
        assert!(!first.count_for(other));
        assert_eq!(counted(), AHashMap::from([(other, 1)]));
        first.forget_address();
        assert!(counted().is_empty());
        assert_eq!(permits.taken(), 1);

        let (second, _) = permits.take(Some(one));
        assert!(permits.take_one_more(None).is_none(), "both are taken");
        drop((first, second));
        assert_eq!(permits.taken(), 0);
        assert!(counted().is_empty());
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`. Tasks that wait for room are woken by tokio's `Notify`, which loom does
/// not check.
#[cfg(all(test, millrace_loom))]
mod loom_tests {
    use super::*;

    #[test]
    fn permits_of_an_address_are_counted_once_and_freed() {
        loom::model(|| {
            let permits = Arc::new(Permits::new());
            permits.set_limits(10, 1);
            let address = IpAddr::from([127, 0, 0, 1]);
            let come = |permits: Arc<Permits>| move || permits.take(Some(address));
            let other = loom::thread::spawn(come(Arc::clone(&permits)));
            let (own, over) = come(Arc::clone(&permits))();
            let (others, others_over) = other.join().unwrap();
            assert!(over != others_over, "one of the two exceeds the limit");
            drop((own, others));
            assert_eq!(permits.taken(), 0);
            assert!(permits.nowhere.counts.per_address.lock().is_empty());
        });
    }
}
