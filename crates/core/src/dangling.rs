//! Virtual sockets whose target was unknown at birth. Owns a bounded memory of them, so that each can be
//! seen and deleted; they never resolve, since an id that was unknown once cannot appear later.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::annotation::Annotation;
use crate::hash::SocketMap;
use crate::id::SocketId;
use crate::limits::DANGLING_IDS;

/// The most recent [`DANGLING_IDS`] of them.
#[derive(Default)]
pub(crate) struct DanglingTable {
    entries: SocketMap<Dangling>,
    /// Ids by age, oldest first.
    by_age: BTreeMap<u64, SocketId>,
    born: u64,
}

/// One of them.
pub(crate) struct Dangling {
    pub(crate) target: SocketId,
    pub(crate) annotation: Option<Arc<Annotation>>,
    age: u64,
}

impl DanglingTable {
    /// Remembers an id, forgetting the oldest over the bound.
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

    /// Forgets an id if it is here and, where `expected` is given, was aimed at it.
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
    fn over_the_bound_the_oldest_is_forgotten() {
        let mut table = DanglingTable::default();
        let bound = u64::try_from(DANGLING_IDS).unwrap();
        for n in 1..=bound {
            table.insert(id(n), id(1 << 40), None);
        }
        assert!(table.delete(id(2), None));
        table.insert(id(bound + 1), id(1 << 40), None);
        assert!(table.get(id(1)).is_some(), "the deleted one made room");
        table.insert(id(bound + 2), id(1 << 40), None);
        assert!(table.get(id(1)).is_none());
        assert!(table.get(id(3)).is_some());
        assert_eq!(
            (table.len(), table.by_age.len()),
            (DANGLING_IDS, DANGLING_IDS)
        );
    }
}
