//! What a backplane needs from its node. Owns the contract.

use millrace_core::Kind;

use crate::control::Census;
use crate::topic::Topic;

/// The recipients of a message that came from another node or program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination<'a> {
    /// The channel's own subscribers.
    Channel(&'a [u8]),
    /// The subscribers of a sharded channel.
    Sharded(&'a [u8]),
    /// The subscribers of this pattern, which matches the channel.
    Pattern {
        /// The pattern.
        pattern: &'a [u8],
        /// The channel.
        channel: &'a [u8],
    },
    /// The subscribers of every pattern that matches the channel.
    Patterns(&'a [u8]),
}

/// A problem that the application should know about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no link, at the start or because it was lost.
    Lost,
    /// The server refused something.
    Refused,
}

/// The node, as the backplane's task sees it. The calls come from this task only and never wait.
pub trait Local: Send {
    /// Delivers a message on this node only. `from`: the node and the socket whose client has published it, if subscribers
    /// see that.
    fn deliver(
        &mut self,
        destination: Destination<'_>,
        message: (Kind, &[u8]),
        from: Option<(u64, u64)>,
    );

    /// Sends what was delivered so far.
    fn flush(&mut self);

    /// Calls `each` with every topic that has a subscriber here.
    fn topics(&self, each: &mut dyn FnMut(Topic));

    /// The numbers that this node reports to the others.
    fn census(&self) -> Census;

    /// The number of subscribers of a channel here.
    fn subscribers(&self, channel: &[u8]) -> u64;

    /// Whether so many deliveries are pending that no more messages should be read.
    fn is_congested(&self) -> bool;

    /// Publishers that have [waited](crate::Outlet::is_awaited) can continue.
    fn relieved(&self);

    /// Reports a problem to the application.
    fn report(&self, trouble: Trouble, message: &str);

    /// The link is up.
    fn is_ready(&self);
}
