//! Why a call from JavaScript fails. Owns the kinds of failure; never throws.

use napi::sys;

/// What a callback gives back when it has no value.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An exception is pending already, or the environment is going away: return at once.
    Abandoned,
    /// A bad argument: a `TypeError` with this message.
    Argument(String),
    /// A `MillraceError` with a stable code.
    Coded(&'static str, String),
}

impl Failure {
    /// Something that cannot happen did.
    pub(crate) fn internal(message: &str) -> Self {
        Self::Coded(INTERNAL, message.to_owned())
    }
}

/// The result of everything that talks to the runtime.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Turns a status into an outcome. Every status is looked at: a worker that is being terminated
/// answers with errors and leaves out-pointers null.
pub(crate) fn check(status: sys::napi_status) -> Outcome<()> {
    use sys::Status;
    match status {
        Status::napi_ok => Ok(()),
        Status::napi_pending_exception | Status::napi_cannot_run_js | Status::napi_closing => {
            Err(Failure::Abandoned)
        }
        other => Err(Failure::Coded(
            INTERNAL,
            format!("the runtime answered with Node-API status {other}"),
        )),
    }
}

/// A bug in Millrace or in the runtime.
pub(crate) const INTERNAL: &str = "ERR_MILLRACE_INTERNAL";
