//! The names of the channels one socket is in. Owns the way back from a socket to its subscriptions,
//! without memory of its own while there is none; never counts references.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::sync::Arc;

use ahash::RandomState;

use crate::hash::name_hasher;

/// A channel's name, shared by the channel and its subscribers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name(Arc<[u8]>);

impl Name {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// True if both come from the same channel entry, which is cheaper than comparing bytes.
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<&[u8]> for Name {
    fn from(name: &[u8]) -> Self {
        Self(name.into())
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// The set of names.
///
/// A channel entry lives as long as a subscription to it, so every name in here is that entry's own and
/// may be found by its address.
#[derive(Debug, Default)]
pub(crate) enum ChannelList {
    #[default]
    Empty,
    One(Name),
    Few(Vec<Name>),
    #[expect(
        clippy::box_collection,
        reason = "a set has 64 bytes, and idle sockets are many"
    )]
    Many(Box<HashSet<Name, RandomState>>),
}

impl ChannelList {
    /// Adds a name that is not in the list.
    pub(crate) fn insert(&mut self, name: Name) {
        match self {
            Self::Empty => *self = Self::One(name),
            Self::One(first) => *self = Self::Few(vec![first.clone(), name]),
            Self::Few(names) if names.len() < FEW => names.push(name),
            Self::Few(names) => {
                let mut many = HashSet::with_capacity_and_hasher(2 * FEW, name_hasher());
                many.extend(names.drain(..));
                many.insert(name);
                *self = Self::Many(Box::new(many));
            }
            Self::Many(names) => {
                names.insert(name);
            }
        }
    }

    /// Removes a name if it is in the list.
    pub(crate) fn remove(&mut self, name: &Name) {
        let empty = match self {
            Self::Empty => false,
            Self::One(only) => only.is(name),
            Self::Few(names) => {
                if let Some(place) = names.iter().position(|each| each.is(name)) {
                    names.swap_remove(place);
                }
                names.is_empty()
            }
            Self::Many(names) => {
                names.remove(name);
                names.is_empty()
            }
        };
        if empty {
            *self = Self::Empty;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Name)) {
        match self {
            Self::Empty => {}
            Self::One(only) => visit(only),
            Self::Few(names) => names.iter().for_each(visit),
            Self::Many(names) => names.iter().for_each(visit),
        }
    }
}

/// Names that are still found by looking at each.
const FEW: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: usize) -> Name {
        Name::from(n.to_string().as_bytes())
    }

    fn sorted(list: &ChannelList) -> Vec<Vec<u8>> {
        let mut names = Vec::new();
        list.for_each(|name| names.push(name.as_bytes().to_vec()));
        names.sort();
        names
    }

    #[test]
    fn every_length_adds_and_removes_every_name() {
        for length in 0..40 {
            let names: Vec<Name> = (0..length).map(name).collect();
            let mut list = ChannelList::default();
            for name in &names {
                list.insert(name.clone());
            }
            let mut left: Vec<Vec<u8>> =
                names.iter().map(|name| name.as_bytes().to_vec()).collect();
            left.sort();
            assert_eq!(sorted(&list), left);
            for name in &names {
                list.remove(name);
                left.retain(|each| each != name.as_bytes());
                assert_eq!(sorted(&list), left);
            }
            assert!(list.is_empty(), "nothing is kept of {length} names");
        }
    }

    #[test]
    fn removing_what_is_not_there_changes_nothing() {
        for length in [0, 1, 5, 30] {
            let names: Vec<Name> = (0..length).map(name).collect();
            let mut list = ChannelList::default();
            for name in &names {
                list.insert(name.clone());
            }
            list.remove(&name(99));
            assert_eq!(sorted(&list).len(), length);
        }
    }

    #[test]
    fn a_list_is_three_words() {
        assert_eq!(size_of::<ChannelList>(), 24);
    }
}
