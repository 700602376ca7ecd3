//! Why a run ends with an error: the server violated a guarantee, or the run could not be made.
//! Prints nothing.

use std::io;

/// Why a run failed. The exit status tells them apart.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The server lost, repeated, reordered or altered a message.
    #[error("violation: {0}")]
    Violation(String),
    /// The run did not finish within its deadline.
    #[error("no result within {seconds} s while {doing}")]
    Deadline {
        /// The deadline in seconds.
        seconds: u64,
        /// What the run was waiting for.
        doing: &'static str,
    },
    /// Bad command line.
    #[error("{0}")]
    Usage(String),
    /// The operating system refused something.
    #[error("{doing}: {error}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// The cause.
        #[source]
        error: io::Error,
    },
}

impl Failure {
    /// The process's exit status: 2 usage, 3 violation, 4 deadline, 1 anything else.
    pub fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Violation(_) => 3,
            Self::Deadline { .. } => 4,
            Self::System { .. } => 1,
        }
    }
}

/// Adds what was being done to an I/O error.
pub trait Doing<T> {
    /// Turns an I/O error into a failure.
    fn doing(self, doing: &'static str) -> Result<T, Failure>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::System { doing, error })
    }
}
