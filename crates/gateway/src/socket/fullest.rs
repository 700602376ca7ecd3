//! Which connections hold the most bytes of something. They are sorted only by powers of two, so that updates cost very
//! little and finding the fullest needs no search. Knows only slots and sizes.

use ahash::AHashMap;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Fullest {
    /// The slots of each size class, in no order.
    classes: Vec<Vec<u32>>,
    /// Where each slot is listed: its class, and the place in it.
    places: AHashMap<u32, (usize, usize)>,
}

impl Fullest {
    /// Records the size of a slot; 0 removes it.
    pub(crate) fn put(&mut self, slot: u32, size: usize) {
        let class = class(size);
        if self.places.get(&slot).is_some_and(|place| place.0 == class) {
            return;
        }
        self.remove(slot);
        if class == 0 {
            return;
        }
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Vec::new);
        }
        let list = &mut self.classes[class];
        self.places.insert(slot, (class, list.len()));
        list.push(slot);
    }

    /// Removes a slot that holds nothing or is gone.
    pub(crate) fn remove(&mut self, slot: u32) {
        let Some((class, place)) = self.places.remove(&slot) else {
            return;
        };
        let list = &mut self.classes[class];
        list.swap_remove(place);
        if let Some(moved) = list.get(place) {
            self.places.insert(*moved, (class, place));
        }
        if list.is_empty() {
            *list = Vec::new();
            if self.places.is_empty() {
                *self = Self::default();
            }
        }
    }

    /// The approximate size of the fullest slot: a power of two, or 0.
    pub(crate) fn most(&self) -> usize {
        let highest = self.classes.iter().rposition(|list| !list.is_empty());
        highest.map_or(0, |class| 1 << (class - 1))
    }

    /// The slot with the greatest size, or nearly: the largest, by `size`, of some slots in the highest class.
    pub(crate) fn first(&self, size: impl Fn(u32) -> usize) -> Option<u32> {
        let highest = self.classes.iter().rev().find(|list| !list.is_empty())?;
        let some = highest.iter().take(LOOKED_AT).copied();
        some.max_by_key(|slot| size(*slot))
    }
}

/// The exponent of the power of two that a size lies below; 0 for nothing.
fn class(size: usize) -> usize {
    usize::try_from(usize::BITS - size.leading_zeros()).unwrap_or_default()
}

/// How many slots of a class are compared.
const LOOKED_AT: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_class_is_a_power_of_two() {
        for (size, expected) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (usize::MAX, 64)] {
            assert_eq!(class(size), expected, "{size}");
        }
    }

    proptest! {
        #[test]
        fn the_fullest_is_found_after_any_updates(
            changes in prop::collection::vec((0_u32..20, prop_oneof![Just(0_usize), 1_usize..100_000]), 0..200)
        ) {
            let mut fullest = Fullest::default();
            let mut sizes = std::collections::BTreeMap::new();
            for (slot, size) in changes {
                fullest.put(slot, size);
                sizes.insert(slot, size);
                let most = sizes.values().copied().max().filter(|most| *most > 0);
                let found = fullest.first(|slot| sizes[&slot]).map(|slot| sizes[&slot]);
                prop_assert_eq!(found, most);
            }
            for slot in sizes.into_keys() {
                fullest.remove(slot);
            }
            prop_assert!(fullest.places.is_empty() && fullest.classes.is_empty());
        }
    }
}
