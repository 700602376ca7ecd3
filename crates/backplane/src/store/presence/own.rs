//! What this node has written of its members of one channel, without I/O. Owns what must be written next.

use super::session::Session;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// The number of the last change in the store; 0: no member is there.
    pub(super) version: u64,
    /// What is being written.
    pub(super) writing: Option<Writing>,
    /// What the store has is not known, or wrong: everything must be written.
    pub(super) is_doubtful: bool,
    /// An earlier session of this node that has written members.
    pub(super) old: Option<Session>,
    /// Everything is being written in a shorter form, while nothing has to be read.
    pub(super) is_shortened: bool,
    /// Whether it waits to be written.
    pub(super) is_queued: bool,
}

/// A write that is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// A change with this number.
    Change(u64),
    /// A part of everything; behind this socket there may be more.
    Part(u64),
    /// The last part, with this number.
    Last(u64),
}

/// What the store did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Done,
    /// It did, and no member is left.
    Emptied,
    /// It has something else than was expected, or it is not known what.
    Doubtful,
}

impl Own {
    /// Whether nothing has to be remembered of the channel.
    pub(super) fn is_over(&self) -> bool {
        self.version == 0
            && self.writing.is_none()
            && self.old.is_none()
            && !self.is_doubtful
            && !self.is_queued
    }

    /// Whether members may be in the store.
    pub(super) fn may_be_there(&self) -> bool {
        self.version != 0 || self.writing.is_some() || self.is_doubtful
    }

    /// Whether everything has to be written, even if only some have changed.
    pub(super) fn is_whole(&self) -> bool {
        self.is_doubtful || self.old.is_some()
    }

    /// What was being written is done. Returns behind which socket everything goes on.
    pub(super) fn written(&mut self, written: Written) -> Option<u64> {
        let writing = self.writing.take()?;
        if written == Written::Doubtful {
            self.is_doubtful = true;
            self.is_shortened = false;
            return None;
        }
        let version = match writing {
            Writing::Part(behind) => return Some(behind),
            Writing::Change(version) => version,
            Writing::Last(version) => {
                self.is_doubtful = false;
                self.is_shortened = false;
                self.old = None;
                version
            }
        };
        self.version = if written == Written::Emptied {
            0
        } else {
            version
        };
        None
    }

    /// The link was lost: what was being written may be there or not.
    pub(super) fn lost(&mut self) {
        self.is_doubtful |= self.writing.take().is_some();
        self.is_shortened = false;
        self.is_queued = false;
    }

    /// Another session has begun. Returns an earlier one than the last whose members are still there.
    pub(super) fn begin_again(&mut self, old: Session) -> Option<Session> {
        if !self.may_be_there() {
            return None;
        }
        let earlier = self.old.replace(old);
        self.version = 0;
        self.writing = None;
        self.is_doubtful = false;
        self.is_shortened = false;
        earlier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_follows_the_one_before_until_the_store_has_something_else() {
        let mut own = Own {
            writing: Some(Writing::Change(3)),
            ..Own::default()
        };
        assert_eq!(own.written(Written::Done), None);
        assert_eq!((own.version, own.is_whole()), (3, false));
        own.writing = Some(Writing::Change(4));
        own.written(Written::Doubtful);
        assert!(own.is_whole() && own.version == 3);
        own.writing = Some(Writing::Part(70));
        assert_eq!(own.written(Written::Done), Some(70));
        own.writing = Some(Writing::Last(5));
        own.written(Written::Done);
        assert_eq!((own.version, own.is_whole()), (5, false));
        own.writing = Some(Writing::Change(6));
        own.written(Written::Emptied);
        assert!(own.is_over());
    }

    #[test]
    fn a_lost_link_makes_only_what_was_being_written_doubtful() {
        let mut own = Own {
            version: 3,
            ..Own::default()
        };
        own.lost();
        assert!(!own.is_whole());
        own.writing = Some(Writing::Change(4));
        own.lost();
        assert!(own.is_whole());
    }

    #[test]
    fn another_session_removes_what_earlier_ones_have_written() {
        let session = |number| Session { node: 1, number };
        let mut own = Own::default();
        assert_eq!(own.begin_again(session(1)), None);
        assert!(own.is_over());
        own.version = 3;
        assert_eq!(own.begin_again(session(1)), None);
        assert!(own.is_whole() && own.version == 0);
        own.writing = Some(Writing::Part(1));
        assert_eq!(own.begin_again(session(2)), Some(session(1)));
        own.writing = Some(Writing::Last(9));
        own.written(Written::Emptied);
        assert!(own.is_over());
    }
}
