//! The one static of the process: the gateways by id, shared gateways by name, the thread that repeats lost rings, and
//! the slots and counters of objects made for JavaScript threads, including low-level sockets. It exists because every
//! JavaScript thread loads the same image. A thread finds a gateway by an id that it was given or by a name, and never
//! assumes that there is only one.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, Weak};

use millrace_gateway::Gateway;
use parking_lot::Mutex;

use crate::log_relay::Relay;
use crate::ring_again::RingAgain;
use crate::slot::Slots;

/// See the module.
pub(crate) static ADDON: LazyLock<Addon> = LazyLock::new(Addon::new);

/// All gateways of the process.
#[derive(Debug)]
pub(crate) struct Addon {
    default: Arc<Gateway>,
    others: Mutex<Others>,
    shared: Mutex<HashMap<String, Arc<Shared>>>,
    ring_again: RingAgain,
    slots: Slots,
    untouched: OnceLock<Vec<u8>>,
    counts: Counts,
    #[cfg(unix)]
    sockets: millrace_sockets::Table,
    /// The last number given to an object that JavaScript functions work on.
    newest: AtomicUsize,
}

/// A gateway that several threads of the process share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) id: u32,
    pub(crate) log: Arc<Relay>,
}

/// The current numbers of objects in all threads.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// JavaScript threads that have loaded the addon and have not ended.
    pub(crate) environments: AtomicUsize,
    /// Bindings of a gateway to one of these threads.
    pub(crate) gateways: AtomicUsize,
    /// Workers of these threads.
    pub(crate) workers: AtomicUsize,
}

/// Counts an object for as long as it exists.
#[derive(Debug)]
pub(crate) struct Counted(&'static AtomicUsize);

impl Counted {
    pub(crate) fn new(count: &'static AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The size of the untouched memory: more than is ever weighed at once.
const UNTOUCHED_BYTES: usize = 16 << 20;

#[derive(Debug, Default)]
struct Others {
    gateways: HashMap<u32, Weak<Gateway>>,
    newest: u32,
}

impl Addon {
    fn new() -> Self {
        let others = Others {
            gateways: HashMap::new(),
            newest: DEFAULT,
        };
        Self {
            default: Gateway::new(),
            others: Mutex::new(others),
            shared: Mutex::default(),
            ring_again: RingAgain::default(),
            slots: Slots::default(),
            untouched: OnceLock::new(),
            counts: Counts::default(),
            #[cfg(unix)]
            sockets: millrace_sockets::Table::default(),
            newest: AtomicUsize::new(0),
        }
    }

    /// The thread that repeats lost rings, for a runtime that loses them.
    pub(crate) fn ring_again(&self) -> &RingAgain {
        &self.ring_again
    }

    /// The slots for callbacks that may come late.
    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Zeros that are never written, so that they take address space but no memory.
    pub(crate) fn untouched(&self) -> &[u8] {
        self.untouched.get_or_init(|| vec![0; UNTOUCHED_BYTES])
    }

    /// The counters of objects made for JavaScript threads.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The low-level sockets of all threads.
    #[cfg(unix)]
    pub(crate) fn sockets(&self) -> &millrace_sockets::Table {
        &self.sockets
    }

    /// Returns a number that no other object in this process has or had.
    pub(crate) fn new_number(&self) -> usize {
        self.newest.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Makes a new gateway and its id. The gateway lives as long as an environment is bound to it.
    pub(crate) fn create(&self) -> (u32, Arc<Gateway>) {
        let gateway = Gateway::new();
        let mut others = self.others.lock();
        others.gateways.retain(|_, known| known.strong_count() > 0);
        others.newest += 1;
        let id = others.newest;
        others.gateways.insert(id, Arc::downgrade(&gateway));
        (id, gateway)
    }

    /// Returns the shared gateway with this name and makes it if it does not exist. No other gateway has its id.
    pub(crate) fn shared(&self, name: &str) -> Arc<Shared> {
        let mut shared = self.shared.lock();
        if let Some(known) = shared.get(name) {
            return Arc::clone(known);
        }
        let id = {
            let mut others = self.others.lock();
            others.newest += 1;
            others.newest
        };
        let made = Arc::new(Shared {
            gateway: Gateway::shared(),
            id,
            log: Arc::default(),
        });
        shared.insert(name.to_owned(), Arc::clone(&made));
        made
    }

    /// The gateway with this id.
    pub(crate) fn find(&self, id: u32) -> Option<Arc<Gateway>> {
        if id == DEFAULT {
            return Some(Arc::clone(&self.default));
        }
        self.others.lock().gateways.get(&id).and_then(Weak::upgrade)
    }
}

/// Distinguishes this image's gateways from those of another copy of the addon in the same process: the address of its
/// static, which differs for every loaded image.
pub(crate) fn identity() -> String {
    format!("{:x}", ptr::from_ref(&ADDON).addr())
}

/// The gateway that the module functions belong to.
const DEFAULT: u32 = 1;
