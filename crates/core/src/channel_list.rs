//! The subscriptions of one socket. Owns the index from a socket to its subscriptions, in the order in
//! which they began, and allocates nothing for a socket without subscriptions; never counts references.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use smallvec::SmallVec;

use crate::hash::IdHasher;
use crate::name::{Name, Space};

/// The number of subscriptions of one socket. Each counts once, whatever its reference count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Channels.
    pub channels: usize,
    /// Sharded channels.
    pub sharded: usize,
    /// Patterns.
    pub patterns: usize,
}

/// The set of names, in the order in which they were inserted.
///
/// The entry of a channel or pattern lives as long as a subscription to it. So every name in this list
/// shares the memory of that entry, and comparing addresses finds it.
#[derive(Debug)]
pub(crate) enum ChannelList {
    One(Name),
    /// No name, or more than one.
    Other(Option<Box<Several>>),
}

/// More than one name, or what is left of them. Boxed to keep the entries of idle sockets small.
#[derive(Debug)]
pub(crate) enum Several {
    Few(SmallVec<[Name; 4]>),
    Many(Many),
}

/// Many names, found by their address.
#[derive(Debug, Default)]
pub(crate) struct Many {
    /// In order of insertion. A removed name leaves a hole.
    names: Vec<Option<Name>>,
    places: HashMap<u64, usize, BuildHasherDefault<IdHasher>>,
    tally: Tally,
}

impl Tally {
    /// The sum of all three.
    pub const fn total(self) -> usize {
        self.channels + self.sharded + self.patterns
    }

    fn of(self, space: Space) -> usize {
        match space {
            Space::Channel => self.channels,
            Space::Sharded => self.sharded,
            Space::Pattern => self.patterns,
        }
    }

    fn set(&mut self, space: Space, count: usize) {
        match space {
            Space::Channel => self.channels = count,
            Space::Sharded => self.sharded = count,
            Space::Pattern => self.patterns = count,
        }
    }
}

impl ChannelList {
    /// Adds a name that is not in the list.
    pub(crate) fn insert(&mut self, name: Name) {
        match self {
            Self::Other(Some(several)) => several.insert(name),
            Self::Other(None) => *self = Self::One(name),
            Self::One(first) => {
                let mut few = SmallVec::new();
                few.push(first.clone());
                few.push(name);
                *self = Self::Other(Some(Box::new(Several::Few(few))));
            }
        }
    }

    /// Removes a name if it is in the list.
    pub(crate) fn remove(&mut self, name: &Name) {
        let empty = match self {
            Self::Other(None) => false,
            Self::One(only) => only.is(name),
            Self::Other(Some(several)) => several.remove(name),
        };
        if empty {
            *self = Self::Other(None);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Other(None))
    }

    pub(crate) fn tally(&self) -> Tally {
        if let Self::Other(Some(several)) = self
            && let Several::Many(many) = &**several
        {
            return many.tally;
        }
        let mut tally = Tally::default();
        self.for_each(|name| {
            let space = name.space();
            tally.set(space, tally.of(space) + 1);
        });
        tally
    }

    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Name)) {
        match self {
            Self::Other(None) => {}
            Self::One(only) => visit(only),
            Self::Other(Some(several)) => match &**several {
                Several::Few(names) => names.iter().for_each(visit),
                Several::Many(many) => many.names.iter().flatten().for_each(visit),
            },
        }
    }
}

impl Default for ChannelList {
    fn default() -> Self {
        Self::Other(None)
    }
}

impl Several {
    fn insert(&mut self, name: Name) {
        match self {
            Self::Few(names) if names.len() < FEW => names.push(name),
            Self::Few(names) => {
                let mut many = Many::default();
                names.drain(..).for_each(|each| many.insert(each));
                many.insert(name);
                *self = Self::Many(many);
            }
            Self::Many(many) => many.insert(name),
        }
    }

    /// Removes a name; true if no name is left.
    fn remove(&mut self, name: &Name) -> bool {
        match self {
            Self::Few(names) => {
                names.retain(|each| !each.is(name));
                names.is_empty()
            }
            Self::Many(many) => {
                many.remove(name);
                many.places.is_empty()
            }
        }
    }
}

impl Many {
    fn insert(&mut self, name: Name) {
        let space = name.space();
        self.tally.set(space, self.tally.of(space) + 1);
        self.places.insert(name.address(), self.names.len());
        self.names.push(Some(name));
    }

    fn remove(&mut self, name: &Name) {
        let place = self.places.remove(&name.address());
        let Some(hole) = place.and_then(|place| self.names.get_mut(place)) else {
            return;
        };
        *hole = None;
        let space = name.space();
        self.tally.set(space, self.tally.of(space) - 1);
        if self.names.len() > 2 * self.places.len().max(FEW) {
            self.close_holes();
        }
    }

    fn close_holes(&mut self) {
        self.names.retain(Option::is_some);
        self.names.shrink_to(2 * self.names.len());
        let names = self.names.iter().flatten().enumerate();
        self.places = names.map(|(place, name)| (name.address(), place)).collect();
    }
}

/// Up to this many names are found by a linear search.
const FEW: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: usize) -> Name {
        let space = [Space::Channel, Space::Sharded, Space::Pattern][n % 3];
        Name::new(space, (n / 3).to_string().as_bytes())
    }

    fn listed(list: &ChannelList) -> Vec<Name> {
        let mut names = Vec::new();
        list.for_each(|name| names.push(name.clone()));
        names
    }

    fn same(list: &ChannelList, names: &[Name]) -> bool {
        let listed = listed(list);
        let count = |space| names.iter().filter(|name| name.space() == space).count();
        let tally = Tally {
            channels: count(Space::Channel),
            sharded: count(Space::Sharded),
            patterns: count(Space::Pattern),
        };
        assert_eq!(list.tally(), tally);
        listed.len() == names.len() && listed.iter().zip(names).all(|(one, other)| one.is(other))
    }

    #[test]
    fn every_length_adds_and_removes_every_name_in_order() {
        for length in 0..100 {
            let mut left: Vec<Name> = (0..length).map(name).collect();
            let mut list = ChannelList::default();
            for name in &left {
                list.insert(name.clone());
            }
            assert!(same(&list, &left));
            while !left.is_empty() {
                let gone = left.remove(left.len() * 7 / 11);
                list.remove(&gone);
                assert!(same(&list, &left));
            }
            assert!(list.is_empty(), "all {length} names were removed");
        }
    }

    #[test]
    fn the_number_of_holes_is_bounded() {
        let mut list = ChannelList::default();
        for n in 0..20 {
            list.insert(name(n));
        }
        for n in 0..1000 {
            let other = name(n);
            list.insert(other.clone());
            list.remove(&other);
        }
        let ChannelList::Other(Some(several)) = &list else {
            panic!("several")
        };
        let Several::Many(many) = &**several else {
            panic!("many")
        };
        assert!(many.names.len() <= 42, "{}", many.names.len());
    }

    #[test]
    fn removing_an_absent_name_changes_nothing() {
        for length in [0, 1, 5, 30] {
            let names: Vec<Name> = (0..length).map(name).collect();
            let mut list = ChannelList::default();
            for name in &names {
                list.insert(name.clone());
            }
            list.remove(&name(99));
            assert!(same(&list, &names));
        }
    }

    #[test]
    fn a_list_is_two_words() {
        assert_eq!(size_of::<ChannelList>(), 16);
    }
}
