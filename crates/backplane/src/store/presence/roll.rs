//! What the members in the store and the node tell each other. Owns these values and the traits; decides nothing.

use std::sync::Arc;

/// A member of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The number of its socket on its node.
    pub socket: u64,
    /// When it became a member, in milliseconds of Unix time.
    pub since_ms: u64,
    /// What it says of itself.
    pub info: Option<Box<str>>,
}

impl Seat {
    /// About what it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.info.as_deref().map_or(0, str::len)
    }
}

/// What has changed among the members of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// These; `Err`: the socket has left.
    Changes(Vec<Result<Seat, u64>>),
    /// It is not known what: all of them have to be written.
    Whole,
}

/// What the node knows and is told of members. All calls come from the store's thread, those of one channel in order; they do
/// not wait.
pub trait Roll: Send + Sync {
    /// Takes what has changed among the members of this node, at most so many changes of about so many bytes.
    fn take_changes(&self, channel: &[u8], bounds: (usize, usize)) -> Pending;

    /// All members of this node are going to be read: only what changes from now on is to be taken behind that.
    fn begin(&self, channel: &[u8]);

    /// At most so many members of this node behind a socket, in the order of their numbers.
    fn members_here(&self, channel: &[u8], after: Option<u64>, most: usize) -> Vec<Seat>;

    /// Another node has these members. `mark` is that of the reading in which they were seen.
    fn put(&self, channel: &[u8], node: u64, mark: u32, seats: Vec<Seat>);

    /// Members of another node have left.
    fn left(&self, channel: &[u8], node: u64, sockets: &[u64]);

    /// All members of another node have left that were not put with this mark.
    fn sweep(&self, channel: &[u8], node: u64, mark: u32);

    /// Everything is known: no other node than these, in ascending order, has members. Called when a channel is
    /// followed, and again after each time that its nodes were read. `following` is the number that it was
    /// [followed](Presence::follow) by.
    fn filled(&self, channel: &[u8], following: u64, nodes: &[u64]);

    /// The channel could not be followed by this number: the store is away or refused. Not called after
    /// [`filled`](Self::filled); the store tries again by itself.
    fn failed(&self, channel: &[u8], following: u64);

    /// Everything that has arrived at once was passed on.
    fn flush(&self);

    /// Something that an operator should know.
    fn report(&self, message: &str);
}

/// The state of the members in a store at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttendanceStats {
    /// Whether the store can be reached.
    pub is_connected: bool,
    /// How many sessions this node has begun.
    pub sessions: u64,
    /// How often all members of this node in a channel were written once more.
    pub rewritten: u64,
    /// How often a session's members were read because a change was not the next one.
    pub reread: u64,
    /// How often the link was lost.
    pub losses: u64,
}

impl AttendanceStats {
    /// Adds what another store has counted.
    pub fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.rewritten += other.rewritten;
        self.reread += other.reread;
        self.losses += other.losses;
    }
}

/// What the node does with the members in a store. No call waits or blocks, or calls the [`Roll`].
pub trait Presence: Send + Sync {
    /// Begins to follow a channel. What comes of it names this number, which is another one each time, because what an
    /// earlier following has come to may be told late. Without effect if the channel is followed by this number.
    fn follow(&self, channel: &[u8], following: u64);

    /// Ends following it.
    fn forget(&self, channel: &[u8]);

    /// Something has changed among the members of this node.
    fn changed(&self, channel: &[u8]);

    /// The state and the counters.
    fn stats(&self) -> AttendanceStats;
}

/// A shared [`Presence`].
pub type SharedPresence = Arc<dyn Presence>;
