//! Why a gateway does not start.

use millrace_backplane::TlsError as BackplaneTlsError;
use millrace_backplane::store::StoreSetupError;

use crate::backplane::PrepareError;

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The gateway already runs with a different value of an option that the first start fixes.
    #[error("the gateway runs already with a different value of {option}")]
    AlreadyStarted {
        /// The option's name as JavaScript knows it.
        option: &'static str,
    },
    /// The gateway is shutting down.
    #[error("the gateway is shutting down")]
    ShuttingDown,
    /// The number of I/O threads is not in 1 to [`MAX_SHARDS`](crate::limits::MAX_SHARDS).
    #[error("ioThreads must be 1 to 64, not {0}")]
    IoThreads(usize),
    /// The TLS configuration of the backplane is invalid.
    #[error("{0}")]
    Backplane(#[from] BackplaneTlsError),
    /// The backplane cannot keep the history of channels.
    #[error("options.channels: {0}")]
    History(StoreSetupError),
    /// The system refused to start a thread.
    #[error("an I/O thread could not be started: {0}")]
    Thread(std::io::Error),
}

impl From<PrepareError> for StartError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Tls(error) => Self::Backplane(error),
            PrepareError::Store(error) => Self::History(error),
        }
    }
}

impl StartError {
    /// The stable code for JavaScript.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyStarted { .. } => "ERR_MILLRACE_ALREADY_STARTED",
            Self::ShuttingDown => "ERR_MILLRACE_SHUTTING_DOWN",
            Self::IoThreads(_) | Self::History(_) => "ERR_MILLRACE_INVALID_OPTION",
            Self::Backplane(_) => "ERR_MILLRACE_INVALID_TLS",
            Self::Thread(_) => "ERR_MILLRACE_SHARD_FAILED",
        }
    }
}
