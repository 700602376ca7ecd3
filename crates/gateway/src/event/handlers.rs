//! Which handlers a worker has.

/// Which handlers a worker's module exports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one flag per handler is what it is"
)]
pub struct Handlers {
    /// `handleOpen`: without it every connection is accepted.
    pub open: bool,
    /// `handleTextMessage`: without it a text message closes its connection with 1011.
    pub text: bool,
    /// `handleBinaryMessage`: without it a binary message closes its connection with 1011.
    pub binary: bool,
    /// `handleClose`.
    pub close: bool,
    /// `handleDrain`.
    pub drain: bool,
    /// `fetch`, or an app: it takes requests.
    pub request: bool,
}
