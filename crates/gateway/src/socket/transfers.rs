//! The transfers that lie on one thread. Owns their ids, and knows whom a step is for; takes none itself.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ahash::AHashMap;
use millrace_core::{ShardIndex, SocketId};

use crate::event::{Step, TransferId};

/// See the module.
pub(crate) struct Transfers {
    shard: ShardIndex,
    /// How many there have been.
    opened: Cell<u64>,
    owners: RefCell<AHashMap<TransferId, Owner>>,
}

/// Whom the steps of a transfer are for.
#[derive(Clone)]
pub(crate) enum Owner {
    /// What a part of the shard waits with.
    Waiting(Rc<dyn TakesSteps>),
    /// A connection: its session is woken.
    Connection { slot: u32, socket: SocketId },
}

/// Takes the steps of one transfer.
pub(crate) trait TakesSteps {
    fn step(&self, step: Step);
}

impl Transfers {
    pub(super) fn new(shard: ShardIndex) -> Self {
        Self {
            shard,
            opened: Cell::new(0),
            owners: RefCell::default(),
        }
    }

    /// Opens one: whom its steps are for, who may want to know its id. To be [closed](Self::close).
    pub(crate) fn open<T>(&self, make: impl FnOnce(TransferId) -> (Owner, T)) -> T {
        let count = self.opened.get() + 1;
        self.opened.set(count);
        let id = TransferId::on(self.shard, count);
        let (owner, given) = make(id);
        self.owners.borrow_mut().insert(id, owner);
        given
    }

    /// Nobody takes its steps any more.
    pub(crate) fn close(&self, id: TransferId) {
        self.owners.borrow_mut().remove(&id);
    }

    /// Whom a step is for; `None`: it came too late.
    pub(crate) fn owner(&self, id: TransferId) -> Option<Owner> {
        self.owners.borrow().get(&id).cloned()
    }

    /// How many there are.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn count(&self) -> usize {
        self.owners.borrow().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Steps(Cell<u32>);

    impl TakesSteps for Steps {
        fn step(&self, step: Step) {
            if let Step::Pull(bytes) = step {
                self.0.set(self.0.get() + bytes);
            }
        }
    }

    #[test]
    fn a_step_is_for_whoever_opened_the_transfer_until_it_is_closed() {
        let transfers = Transfers::new(ShardIndex::new(3).unwrap());
        let open = || {
            let steps = Rc::new(Steps::default());
            let owner = Rc::clone(&steps);
            transfers.open(|id| (Owner::Waiting(owner), (id, steps)))
        };
        let (one, other) = (open(), open());
        assert_ne!(one.0, other.0);
        assert_eq!(one.0.shard(), ShardIndex::new(3));
        let step = |id, bytes| match transfers.owner(id) {
            Some(Owner::Waiting(owner)) => owner.step(Step::Pull(bytes)),
            _ => panic!("it is open"),
        };
        step(one.0, 1);
        step(other.0, 4);
        step(one.0, 2);
        assert_eq!((one.1.0.get(), other.1.0.get()), (3, 4));
        transfers.close(one.0);
        assert!(transfers.owner(one.0).is_none());
        step(other.0, 8);
        assert_eq!(other.1.0.get(), 12);
    }
}
