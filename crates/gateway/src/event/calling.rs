//! A call of the application to the client of a socket, as data.

use millrace_core::Kind;

use super::Question;

/// See the module. Dropped, it is answered with [`Reply::Closed`](super::Reply::Closed).
#[derive(Debug)]
pub(crate) struct Calling {
    pub(crate) question: Question,
    pub(crate) method: Box<str>,
    /// `None`: there are no parameters.
    pub(crate) params: Option<(Kind, Box<[u8]>)>,
}
