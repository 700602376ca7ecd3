//! The counters of a store: its task writes them, and any thread may read them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// See the module.
        #[derive(Debug, Default)]
        pub(super) struct Counters {
            pub(super) is_connected: AtomicBool,
            pub(super) followed: AtomicU64,
            $($(#[$doc])* pub(super) $name: AtomicU64,)*
        }

        /// The state of a store at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct StoreStats {
            /// Whether the store can be reached.
            pub is_connected: bool,
            /// The bytes of the publications and reads that are not answered yet.
            pub waiting_bytes: usize,
            /// The channels that are followed.
            pub followed: u64,
            $($(#[$doc])* pub $name: u64,)*
        }

        impl StoreStats {
            /// Adds what another store has counted.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }
        }

        impl Counters {
            pub(super) fn read(&self) -> StoreStats {
                StoreStats {
                    is_connected: self.is_connected.load(Ordering::Relaxed),
                    waiting_bytes: 0,
                    followed: self.followed.load(Ordering::Relaxed),
                    $($name: self.$name.load(Ordering::Relaxed),)*
                }
            }
        }
    };
}

counters! {
    /// The publications that the store has accepted, without repeated ones.
    appended,
    /// The publications that an idempotency key has dropped.
    repeated,
    /// The publications that failed.
    failed,
    /// How often a followed channel was filled.
    filled,
    /// The messages of followed channels that were passed on.
    received,
    /// How often a followed channel was read again because a message was not the next one.
    reread,
    /// How often an epoch was ended because the store had other messages under known numbers.
    renewed,
    /// What other programs published or wrote under the names of followed channels.
    foreign,
    /// How often the link was lost.
    losses,
}
