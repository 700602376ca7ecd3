//! Why a call from JavaScript fails. Owns the kinds of failure; never throws.

use napi::sys;

/// The failure that a callback returns in the place of a value.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An exception is pending already, or the environment is ending: the callback returns at once.
    Abandoned,
    /// An invalid argument: a `TypeError` with this message.
    Argument(String),
    /// A `MillraceError` with a stable code.
    Coded(&'static str, String),
}

impl Failure {
    /// A failure that should be impossible.
    pub(crate) fn internal(message: &str) -> Self {
        Self::Coded(INTERNAL, message.to_owned())
    }
}

/// The result of every function that calls the runtime.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Converts a status to an outcome. Every status is checked: when a worker is being terminated,
/// calls return errors and leave out-pointers null.
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
