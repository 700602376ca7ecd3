//! The one static of the process: the gateways by id, and what looks after lost rings. It exists because every JavaScript thread loads
//! the same image; threads find a gateway by an id they were handed, never by being the only one.

use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, LazyLock, Weak};

use millrace_gateway::Gateway;
use parking_lot::Mutex;

use crate::ring_again::RingAgain;

/// See the module.
pub(crate) static ADDON: LazyLock<Addon> = LazyLock::new(Addon::new);

/// All gateways of the process.
#[derive(Debug)]
pub(crate) struct Addon {
    default: Arc<Gateway>,
    others: Mutex<Others>,
    ring_again: RingAgain,
}

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
            ring_again: RingAgain::default(),
        }
    }

    /// Looks after lost rings, in a runtime that has such.
    pub(crate) fn ring_again(&self) -> &RingAgain {
        &self.ring_again
    }

    /// A new gateway and its id. It lives as long as an environment is bound to it.
    pub(crate) fn create(&self) -> (u32, Arc<Gateway>) {
        let gateway = Gateway::new();
        let mut others = self.others.lock();
        others.gateways.retain(|_, known| known.strong_count() > 0);
        others.newest += 1;
        let id = others.newest;
        others.gateways.insert(id, Arc::downgrade(&gateway));
        (id, gateway)
    }

    /// The gateway with this id.
    pub(crate) fn find(&self, id: u32) -> Option<Arc<Gateway>> {
        if id == DEFAULT {
            return Some(Arc::clone(&self.default));
        }
        self.others.lock().gateways.get(&id).and_then(Weak::upgrade)
    }
}

/// Tells this image's gateways from those of another copy of the addon in the same process: the place
/// of its static, which no two loaded images share.
pub(crate) fn identity() -> String {
    format!("{:x}", ptr::from_ref(&ADDON).addr())
}

/// The gateway that the module functions belong to.
const DEFAULT: u32 = 1;
