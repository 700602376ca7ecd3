//! Following the members of one channel, without I/O: which change of a session is the next one, which was missed, and whose
//! members must be read. Owns the decision; knows no link.
//!
//! Each session is followed by itself, because it alone writes its members. A change is passed on if it names the last one as
//! the one before it. Everything else is answered by reading all members of the session: those that are read are put with a
//! new mark, what arrives meanwhile is held back and put behind them, and what has another mark then has left. So it does not
//! matter that the members are not read at one moment.

mod known;
mod looking;
mod reading;
mod step;

use std::collections::BTreeMap;

use super::message::{Change, Told};
use super::session::Session;
use known::{Index, Known, Newest};
use reading::Reading;
pub(super) use step::{Page, Step};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Follower {
    /// By node.
    known: BTreeMap<u64, Known>,
    index: Index,
    /// What was told while the index was read, by node.
    told: BTreeMap<u64, Newest>,
    is_filled: bool,
    /// Who is missing in the index has not left: the store may have lost it.
    spares: bool,
    /// The last mark.
    marks: u32,
    /// How often the index was asked for.
    looks: u32,
}

impl Follower {
    /// Whether the node was told that everything is known.
    pub(super) fn is_filled(&self) -> bool {
        self.is_filled
    }

    /// The link was lost, or the store refused.
    pub(super) fn lost(&mut self) {
        self.index = Index::Wanted;
        self.told.clear();
        for known in self.known.values_mut() {
            if known.reading.take().is_some() {
                known.version = None;
            }
        }
    }

    /// A page of a session is asked for now: returns where it begins and the mark of the reading. `None`: it is not needed.
    pub(super) fn sent(&mut self, session: Session) -> Option<(Box<str>, u32)> {
        let known = self.of(session)?;
        let reading = known.reading.as_mut()?;
        reading.is_sent = true;
        Some((reading.cursor.clone(), reading.mark))
    }

    /// What was published on the channel's topic by another node.
    pub(super) fn told(&mut self, told: Told, out: &mut Vec<Step>) {
        match told {
            Told::Change(change) => self.changed(change, out),
            Told::Reset {
                session,
                version,
                is_empty,
            } => self.reset(session, version, is_empty, out),
            // what is being written is told when it is complete
            Told::Part { .. } => {}
            Told::Gone(session) => self.dead(session, out),
        }
    }

    fn reset(&mut self, session: Session, version: u64, is_empty: bool, out: &mut Vec<Step>) {
        let known = self.known.get(&session.node);
        if known.is_some_and(|known| known.session > session) {
            return;
        }
        self.note(session);
        if is_empty {
            self.forget(session.node, out);
            return self.complete(out);
        }
        if let Some(reading) = self.of(session).and_then(|known| known.reading.as_mut())
            && reading.is_sent
        {
            reading.is_outdated = true;
            reading.newest = reading.newest.max(version);
            return;
        }
        self.read(session, version);
        out.push(Step::Page(session));
    }

    fn changed(&mut self, change: Change, out: &mut Vec<Step>) {
        let session = change.session;
        let Some(known) = self.known.get_mut(&session.node) else {
            return self.introduce(change, out);
        };
        if known.session > session {
            return;
        }
        if known.session < session {
            let (before, version) = (known.session, change.version);
            tracing::debug!(%before, %session, "a node has begun another session");
            self.note(session);
            self.read(session, version);
            return out.push(Step::Page(session));
        }
        if let Some(reading) = &mut known.reading {
            if reading.is_sent {
                reading.hold(change);
            } else {
                // what is read will have it
                known.version = known.version.max(Some(change.version));
            }
            return self.note(session);
        }
        let Some(known) = known.version else {
            return self.await_index(&change, out);
        };
        if change.version <= known {
            return;
        }
        let is_next = change.before == known;
        let version = change.version;
        self.note(session);
        if is_next {
            self.apply(change, NO_MARK, out);
        } else {
            self.read(session, version);
            out.push(Step::Repair(session));
        }
    }

    /// A node of which nothing is known has changed something.
    fn introduce(&mut self, change: Change, out: &mut Vec<Step>) {
        let session = change.session;
        if change.before == 0 {
            self.note(session);
            let known = Known {
                session,
                version: None,
                reading: None,
            };
            self.known.insert(session.node, known);
            return self.apply(change, NO_MARK, out);
        }
        self.await_index(&change, out);
    }

    /// Passes a change on.
    fn apply(&mut self, change: Change, mark: u32, out: &mut Vec<Step>) {
        let node = change.session.node;
        let (mut seats, mut sockets) = (Vec::new(), Vec::new());
        for seat in change.seats {
            match seat {
                Ok(seat) => seats.push(seat),
                Err(socket) => sockets.push(socket),
            }
        }
        if !seats.is_empty() {
            out.push(Step::Put { node, mark, seats });
        }
        if !sockets.is_empty() {
            out.push(Step::Left { node, sockets });
        }
        if change.is_empty {
            self.forget(node, out);
        } else if let Some(known) = self.known.get_mut(&node) {
            known.version = Some(change.version);
        }
    }

    /// The page that was asked for in the reading with this mark.
    pub(super) fn page(&mut self, session: Session, mark: u32, page: Page, out: &mut Vec<Step>) {
        let node = session.node;
        let Some(known) = self.of(session) else {
            return;
        };
        let Some(reading) = known.reading.as_mut().filter(|one| one.mark == mark) else {
            return;
        };
        let next = page.next.clone();
        let seats = reading.newest_of(page);
        if !seats.is_empty() {
            out.push(Step::Put { node, mark, seats });
        }
        if let Some(next) = next {
            reading.cursor = next;
            return out.push(Step::Page(session));
        }
        let held = std::mem::take(&mut reading.held);
        let (is_outdated, newest) = (reading.is_outdated, reading.newest);
        let mut version = known.version.unwrap_or_default();
        known.reading = None;
        let is_whole = !is_outdated
            && held.iter().all(|change| {
                let is_next = change.version <= version || change.before == version;
                version = version.max(change.version);
                is_next
            });
        if !is_whole {
            self.read(session, newest.max(version));
            return out.push(Step::Repair(session));
        }
        for change in held {
            // with the last member the session goes, and may come again
            let known = self.of(session).and_then(|known| known.version);
            if known.is_none_or(|version| version < change.version) {
                self.put_held(change, mark, out);
            }
        }
        if self.of(session).is_some() {
            out.push(Step::Sweep { node, mark });
        }
        self.complete(out);
    }

    /// Something that belongs to a page is not there any more: the session is read from the beginning.
    pub(super) fn missing(&mut self, session: Session, mark: u32, out: &mut Vec<Step>) {
        let reading = self.of(session).and_then(|known| known.reading.as_ref());
        if let Some(reading) = reading.filter(|reading| reading.mark == mark) {
            let newest = reading.newest;
            self.read(session, newest);
            out.push(Step::Repair(session));
        }
    }

    fn put_held(&mut self, change: Change, mark: u32, out: &mut Vec<Step>) {
        let session = change.session;
        self.known.entry(session.node).or_insert(Known {
            session,
            version: None,
            reading: None,
        });
        self.apply(change, mark, out);
    }

    /// A session has ended.
    pub(super) fn dead(&mut self, session: Session, out: &mut Vec<Step>) {
        if self.of(session).is_some() {
            self.note(session);
            self.forget(session.node, out);
            self.complete(out);
        }
    }

    /// The channel is not followed any more: what was passed on is taken back, because some of it may have come since then.
    pub(super) fn end(&mut self, out: &mut Vec<Step>) {
        let nodes: Vec<_> = self.known.keys().copied().collect();
        for node in nodes {
            self.forget(node, out);
        }
    }

    /// The sessions that are followed.
    pub(super) fn sessions(&self) -> impl Iterator<Item = Session> {
        self.known.values().map(|known| known.session)
    }

    /// No member of a node is left.
    fn forget(&mut self, node: u64, out: &mut Vec<Step>) {
        if self.known.remove(&node).is_some() {
            let mark = self.mark();
            out.push(Step::Sweep { node, mark });
        }
    }

    /// Reads the members of a session, which are those behind this change or a later one.
    fn read(&mut self, session: Session, version: u64) {
        let reading = Reading::new(self.mark(), version);
        let known = Known {
            session,
            version: Some(version),
            reading: Some(reading),
        };
        self.known.insert(session.node, known);
    }

    /// Tells that everything is known, if it is.
    fn complete(&mut self, out: &mut Vec<Step>) {
        let is_reading = self.known.values().any(|known| known.reading.is_some());
        if self.index == Index::Known && !is_reading {
            self.is_filled = true;
            out.push(Step::Filled(self.known.keys().copied().collect()));
        }
    }

    fn of(&mut self, session: Session) -> Option<&mut Known> {
        let known = self.known.get_mut(&session.node)?;
        (known.session == session).then_some(known)
    }

    fn mark(&mut self) -> u32 {
        self.marks = self.marks.wrapping_add(1).max(1);
        self.marks
    }
}

/// The mark of what was not read.
const NO_MARK: u32 = 0;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;
