//! Virtual sockets whose target was unknown when they were created. Owns a bounded list of them, so that
//! each can be shown and deleted. They never resolve: an id that was unknown once cannot appear later.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::annotation::Annotation;
use crate::hash::SocketMap;
use crate::id::SocketId;
use crate::limits::DANGLING_IDS;

/// The most recent [`DANGLING_IDS`] dangling virtual sockets.
#[derive(Default)]
pub(crate) struct DanglingTable {
    entries: SocketMap<Dangling>,
    /// Ids by age, oldest first.
    by_age: BTreeMap<u64, SocketId>,
    born: u64,
}

/// One dangling virtual socket.
pub(crate) struct Dangling {
    pub(crate) target: SocketId,
    pub(crate) annotation: Option<Arc<Annotation>>,
    age: u64,
}

impl DanglingTable {
    /// Adds an id, and removes the oldest one if there are then more than the bound.
    pub(crate) fn insert(
        &mut self,
        id: SocketId,
        target: SocketId,
        annotation: Option<Arc<Annotation>>,
    ) {
        let age = self.born;
        self.born += 1;
        self.entries.insert(
            id,
            Dangling {
                target,
                annotation,
                age,
            },
        );
        self.by_age.insert(age, id);
        if self.entries.len() > DANGLING_IDS
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }

    /// Removes an id if it is in the table and, where `expected` is given, its target is that socket.
    pub(crate) fn delete(&mut self, id: SocketId, expected: Option<SocketId>) -> bool {
        let Some(entry) = self.entries.get(&id) else {
            return false;
        };
        if expected.is_some_and(|expected| expected != entry.target) {
            return false;
        }
        self.by_age.remove(&entry.age);
        self.entries.remove(&id);
        true
    }

    pub(crate) fn get(&self, id: SocketId) -> Option<&Dangling> {
        self.entries.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SocketId, &Dangling)> {
        self.entries.iter().map(|(id, entry)| (*id, entry))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(id: u64) -> SocketId {
        SocketId::new(id).unwrap()
    }

    #[test]
    fn an_id_is_deleted_once_and_only_with_its_target() {
        let mut table = DanglingTable::default();
        table.insert(id(5), id(99), None);
        assert!(!table.delete(id(5), Some(id(98))));
        assert!(table.delete(id(5), Some(id(99))));
        assert!(!table.delete(id(5), None));
        assert_eq!((table.len(), table.by_age.len()), (0, 0));
    }

    #[test]
    fn over_the_bound_the_oldest_is_removed() {
        let mut table = DanglingTable::default();
        let bound = u64::try_from(DANGLING_IDS).unwrap();
        for n in 1..=bound {
            table.insert(id(n), id(1 << 40), None);
        }
        assert!(table.delete(id(2), None));
        table.insert(id(bound + 1), id(1 << 40), None);
        assert!(
            table.get(id(1)).is_some(),
            "the deleted one does not count against the bound"
        );
        table.insert(id(bound + 2), id(1 << 40), None);
        assert!(table.get(id(1)).is_none());
        assert!(table.get(id(3)).is_some());
        assert_eq!(
            (table.len(), table.by_age.len()),
            (DANGLING_IDS, DANGLING_IDS)
        );
    }
}
