//! Counts connections against their limits: those of a gateway, and those of each address. Accepts nothing.

use std::net::IpAddr;
use std::sync::Arc;

use ahash::AHashMap;
use tokio::sync::Notify;

use crate::sync::{AtomicUsize, Mutex, Ordering};

/// Counts the connections of a gateway against their limits.
#[derive(Debug)]
pub(crate) struct Permits {
    taken: AtomicUsize,
    limit: AtomicUsize,
    per_address_limit: AtomicUsize,
    per_address: Mutex<AHashMap<IpAddr, usize>>,
    freed: Notify,
}

/// One counted connection; dropping it makes room.
#[derive(Debug)]
pub(crate) struct Permit {
    permits: Arc<Permits>,
    /// `Some` if connections per address are limited; boxed, because every connection pays for this field.
    address: Option<Box<IpAddr>>,
}

impl Permits {
    pub(crate) fn new() -> Self {
        Self {
            taken: AtomicUsize::new(0),
            limit: AtomicUsize::new(usize::MAX),
            per_address_limit: AtomicUsize::new(0),
            per_address: Mutex::new(AHashMap::new()),
            freed: Notify::new(),
        }
    }

    pub(crate) fn set_limits(&self, connections: u32, per_address: u32) {
        self.limit.store(
            usize::try_from(connections).unwrap_or(usize::MAX),
            Ordering::Relaxed,
        );
        self.per_address_limit.store(
            usize::try_from(per_address).unwrap_or(usize::MAX),
            Ordering::Relaxed,
        );
    }

    /// Open connections, including handshakes.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Waits while every permit is taken.
    pub(crate) async fn room(&self) {
        loop {
            let freed = self.freed.notified();
            if self.taken() < self.limit.load(Ordering::Relaxed) {
                return;
            }
            tracing::warn!(target: "millrace::listener", "every connection is taken, accepting waits");
            freed.await;
        }
    }

    /// Takes a permit, if one is free, for a connection that was not accepted on its own.
    pub(crate) fn take_one_more(
        self: &Arc<Self>,
        address: Option<IpAddr>,
    ) -> Option<(Permit, bool)> {
        let full = self.taken() >= self.limit.load(Ordering::Relaxed);
        (!full).then(|| self.take(address))
    }

    /// Takes a permit. The flag says whether this address has too many connections.
    pub(crate) fn take(self: &Arc<Self>, address: Option<IpAddr>) -> (Permit, bool) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        let mut permit = Permit {
            permits: Arc::clone(self),
            address: None,
        };
        let over_limit = address.is_some_and(|address| permit.count_for(address));
        (permit, over_limit)
    }
}

impl Permit {
    /// A permit without a count, for a connection that is counted elsewhere.
    pub(crate) fn uncounted() -> Self {
        Arc::new(Permits::new()).take(None).0
    }

    /// Counts the connection for this address and no longer for the one before. The flag says whether the address has
    /// too many.
    pub(crate) fn count_for(&mut self, address: IpAddr) -> bool {
        let permits = Arc::clone(&self.permits);
        let limit = permits.per_address_limit.load(Ordering::Relaxed);
        if limit == 0 {
            return false;
        }
        let mut per_address = permits.per_address.lock();
        self.uncount(&mut per_address);
        let count = per_address.entry(address).or_default();
        *count += 1;
        let over_limit = *count > limit;
        drop(per_address);
        self.address = Some(Box::new(address));
        over_limit
    }

    /// Stops counting the connection for an address.
    pub(crate) fn forget_address(&mut self) {
        self.uncount(&mut self.permits.per_address.lock());
        self.address = None;
    }

    fn uncount(&self, per_address: &mut AHashMap<IpAddr, usize>) {
        if let Some(address) = &self.address
            && let Some(count) = per_address.get_mut(&**address)
        {
            *count -= 1;
            if *count == 0 {
                per_address.remove(&**address);
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let permits = &self.permits;
        if self.address.is_some() {
            self.uncount(&mut permits.per_address.lock());
        }
        let before = permits.taken.fetch_sub(1, Ordering::Relaxed);
        if before >= permits.limit.load(Ordering::Relaxed) {
            permits.freed.notify_waiters();
        }
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
            assert!(permits.per_address.lock().is_empty());
        });
    }
}
