//! A member on this node, and who makes it one. Owns no rule.

use crate::id::SocketId;
use crate::presence::{Info, MemberState};

/// See the module.
pub(crate) struct Present {
    pub(crate) info: Option<Info>,
    pub(crate) since_ms: u64,
    /// A member for as long as its client has subscribed itself.
    pub(crate) own: bool,
    /// A member for as long as the application has it subscribed.
    pub(crate) given: bool,
}

/// Who makes a socket a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Its own client, by subscribing itself: it is one until that ends.
    Client,
    /// The application, by subscribing it: it is one until that ends.
    Application,
}

impl Present {
    /// It as others see it.
    pub(crate) fn state(&self, socket: SocketId) -> MemberState {
        MemberState {
            node: 0,
            socket,
            since_ms: self.since_ms,
            info: self.info.clone(),
        }
    }
}
