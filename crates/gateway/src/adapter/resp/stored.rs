//! A publication that a store of histories has: the client waits for what comes of it, and so do its other commands. Pure.

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    /// Of the last publication.
    number: u32,
    /// What is answered if it succeeds; `None`: nothing waits.
    deliveries: Option<u32>,
}

impl Stored {
    /// A number for a publication.
    pub(super) fn next(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// The store has the last publication, which so many subscribers of this node may get.
    pub(super) fn wait(&mut self, deliveries: usize) {
        self.deliveries = Some(u32::try_from(deliveries).unwrap_or(u32::MAX));
    }

    /// Takes what is answered to the publication with this number, if it waits for that.
    pub(super) fn take(&mut self, number: u32) -> Option<u32> {
        self.deliveries.take_if(|_| number == self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_publication_that_waits_is_answered_and_once() {
        let mut stored = Stored::default();
        let first = stored.next();
        assert_eq!(stored.take(first), None, "it does not wait");
        let second = stored.next();
        stored.wait(7);
        assert_eq!(stored.take(first), None);
        assert_eq!((stored.take(second), stored.take(second)), (Some(7), None));
    }
}
