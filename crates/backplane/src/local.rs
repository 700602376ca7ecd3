//! What a backplane needs of the node it belongs to. Owns the contract.

use millrace_core::Kind;

use crate::control::Census;
use crate::topic::Topic;

/// Who gets a message that came from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination<'a> {
    /// The channel's own subscribers.
    Channel(&'a [u8]),
    /// … of the other name space.
    Sharded(&'a [u8]),
    /// Those of this pattern, which the channel fits.
    Pattern {
        /// The pattern.
        pattern: &'a [u8],
        /// The channel.
        channel: &'a [u8],
    },
    /// Those of every pattern that the channel fits.
    Patterns(&'a [u8]),
}

/// What an application should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no link, for the first time or again.
    Lost,
    /// The server refused something.
    Refused,
}

/// The node's own side: called by the backplane's task alone, and never waits.
pub trait Local: Send {
    /// Delivers a message on this node only.
    fn deliver(&mut self, destination: Destination<'_>, kind: Kind, payload: &[u8]);

    /// What was delivered goes out now.
    fn flush(&mut self);

    /// Every topic that has a subscriber here.
    fn topics(&self, each: &mut dyn FnMut(Topic));

    /// What the node has.
    fn census(&self) -> Census;

    /// Subscribers of a channel here.
    fn subscribers(&self, channel: &[u8]) -> u64;

    /// Whether so much is to be delivered already that nothing more should come.
    fn is_congested(&self) -> bool;

    /// Whoever has [waited](crate::Outlet::is_awaited) to publish can go on.
    fn relieved(&self);

    /// Something the application should know.
    fn report(&self, trouble: Trouble, message: &str);

    /// The link is up.
    fn is_ready(&self);
}
