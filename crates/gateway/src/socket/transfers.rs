//! The transfers of one thread. Owns their ids and their owners; takes no steps itself.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ahash::AHashMap;
use millrace_core::{ShardIndex, SocketId};

use crate::event::{Step, TransferId};

/// See the module.
pub(crate) struct Transfers {
    shard: ShardIndex,
    /// The number of transfers so far.
    opened: Cell<u64>,
    owners: RefCell<AHashMap<TransferId, Owner>>,
}

/// The owner of a transfer, who gets its steps.
#[derive(Clone)]
pub(crate) enum Owner {
    /// A part of the shard that waits for the steps.
    Waiting(Rc<dyn TakesSteps>),
    /// A connection, whose session is woken.
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

    /// Opens a transfer for the owner that `make` returns, which gets the id. The owner has to [close](Self::close) it.
    pub(crate) fn open<T>(&self, make: impl FnOnce(TransferId) -> (Owner, T)) -> T {
        let count = self.opened.get() + 1;
        self.opened.set(count);
        let id = TransferId::on(self.shard, count);
        let (owner, given) = make(id);
        self.owners.borrow_mut().insert(id, owner);
        given
    }

    /// Ends a transfer: later steps are ignored.
    pub(crate) fn close(&self, id: TransferId) {
        self.owners.borrow_mut().remove(&id);
    }

    /// The owner of a transfer; `None`: it has ended.
    pub(crate) fn owner(&self, id: TransferId) -> Option<Owner> {
        self.owners.borrow().get(&id).cloned()
    }

    /// The number of open transfers.
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
    fn a_step_goes_to_the_owner_of_the_transfer_until_it_is_closed() {
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
            _ => panic!("the transfer is open"),
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
