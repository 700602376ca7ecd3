//! What the worker asks of the servers that have the members of all nodes, and what comes from there. Owns these values and
//! the trait; decides nothing.

use std::task::{Context, Poll};
use std::time::Instant;

use ahash::AHashSet;

use super::super::driver::Line;
use super::super::link::Fault;
use super::follow::Page;
use super::message::Told;
use super::own::Written;
use super::roll::Seat;
use super::session::Session;
use crate::config::Server;
use crate::link_error::LinkError;

/// A channel, as long as it is followed.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) channel: Box<[u8]>,
    pub(super) generation: u64,
}

/// What was asked for.
pub(super) enum Request {
    Beat,
    /// A server is marked by a session. True: it was before, on this link.
    Mark(Session, bool),
    Subscribe(Place),
    /// With the number of the look.
    Index(Place, u32),
    /// With the mark of the reading.
    Page(Place, Session, u32),
    Write(Box<[u8]>, Session),
    /// Whether this is the number of a session's last change.
    Check(Box<[u8]>, Session, u64),
}

/// What the answer says; [`Done`](Self::Done) also if it says nothing that can be read.
pub(super) enum Reply {
    Done,
    Beat {
        /// Whether the session lives.
        lives: bool,
        /// All that do.
        live: AHashSet<Session>,
    },
    /// The mark is not there: the server has lost something.
    Lost,
    /// Who has members, with the number of the last change; `None`: they are being written.
    Index(Vec<(Session, Option<u64>)>),
    /// `None`: something that belongs to it is not there any more.
    Page(Option<Page>),
    Written(Written),
    /// The number of a session's last change.
    Version(Option<u64>),
}

/// What came from the servers.
pub(super) enum Event {
    /// What was told of a channel, or `None`: of sessions. Of another program if it is not what nodes tell.
    Told(Option<Box<[u8]>>, Option<Told>),
    Answer(Request, Result<Reply, Fault>),
    /// They refused something whose answer nobody waits for.
    Refused(String),
    /// Something that was to be told may be lost.
    Disturbed,
}

/// A part of all members of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub(super) is_first: bool,
    /// The number of the change, if it is the last part.
    pub(super) version: Option<u64>,
    /// The number of the change behind which it is the next one, because only the form changes; `None`: followers have to read
    /// all of it.
    pub(super) follows: Option<u64>,
    pub(super) seats: &'a [Seat],
    /// An earlier session that ends with the last part.
    pub(super) old: Option<Session>,
}

/// The servers, as the worker uses them: each request that is answered has an [`Event::Answer`].
pub(super) trait Register {
    /// Writes and reads, and returns what came. An error ends the link.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, LinkError>>;

    /// When the next request must be answered, or when a server counts as lost if it says nothing before.
    fn due(&mut self) -> Option<Instant>;

    /// The link is lost: see [`Line::cut`].
    fn cut(&mut self);

    /// Takes a request whose deadline has passed; fails if the server says nothing at all.
    fn overdue(&mut self, now: Instant) -> Result<Option<Event>, LinkError>;

    /// The servers of its cluster, as a server has told them.
    fn servers(&self) -> Vec<Server>;

    /// Whether every request is answered.
    fn is_idle(&self) -> bool;

    /// Whether something may be written.
    fn has_room(&self) -> bool;

    /// Whether something may be read or followed. Half of the room is for what is written.
    fn has_much_room(&self) -> bool;

    /// Tells what is told of sessions.
    fn follow_sessions(&mut self, now: Instant);

    /// Tells what is told of a channel.
    fn subscribe(&mut self, place: Place, now: Instant);

    /// Ends that.
    fn unsubscribe(&mut self, channel: &[u8], now: Instant);

    /// Extends the life of a session, or begins it, and asks who lives.
    fn beat(&mut self, session: Session, begins: bool, now: Instant);

    /// Marks servers by which the loss of one is seen that does not have the sessions.
    fn mark(&mut self, session: Session, was_marked: bool, now: Instant);

    /// Asks who has members, in the look with this number. These sessions are known already.
    fn index(&mut self, of: (Place, u32), known: Vec<Session>, now: Instant);

    /// Reads a page of the members of a session, in the reading with this mark.
    fn page(&mut self, place: Place, of: (Session, u32), cursor: &str, now: Instant);

    /// Compares the number of a session's last change, and lets what it has written live on.
    fn check(&mut self, of: (&[u8], Session), version: u64, now: Instant);

    /// Writes what has changed, with the numbers of the change before it and its own. True: no member is left.
    fn change(
        &mut self,
        of: (&[u8], Session),
        numbers: (u64, u64),
        what: (&[Result<Seat, u64>], bool),
        now: Instant,
    );

    /// Writes a part of all members.
    fn write(&mut self, of: (&[u8], Session), part: Part<'_>, now: Instant);

    /// Removes what a session that has ended has written in a channel, or in all.
    fn purge(&mut self, of: (&[u8], Session), now: Instant);

    /// Ends a session, and tells it.
    fn leave(&mut self, session: Session, now: Instant);

    /// Whether what was written in a channel should be written once more in a shorter form.
    fn is_long(&self, channel: &[u8]) -> bool {
        let _ = channel;
        false
    }

    /// Whether members can be lost while the sessions are not.
    fn is_split(&self) -> bool {
        false
    }

    /// What is another one after the server has lost all members; `None`: that is not known.
    fn era(&self) -> Option<&[u8]> {
        None
    }
}

impl Line for Box<dyn Register> {
    type Event = Event;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, LinkError>> {
        (**self).poll(cx)
    }

    fn due(&mut self) -> Option<Instant> {
        (**self).due()
    }

    fn cut(&mut self) {
        (**self).cut();
    }

    fn servers(&self) -> Vec<Server> {
        (**self).servers()
    }
}
