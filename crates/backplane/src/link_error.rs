//! Why a link failed. Owns the kinds and their texts.

use std::io;

use crate::config::Server;
use crate::wire::WireError;

/// Why a link failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LinkError {
    #[error("{server}: {source}")]
    Io { server: Server, source: io::Error },
    #[error("{server}: {source}")]
    Wire { server: Server, source: WireError },
    #[error("{0}: it closed the connection")]
    Closed(Server),
    #[error("{0}: it did not answer in time")]
    Silent(Server),
    #[error("{0}: its host is not a valid name for tls")]
    NoName(Server),
    #[error("{0}: it is not a node of a working cluster")]
    NoCluster(Server),
    /// An operator has to do something.
    #[error("{0}: {1}")]
    Unfit(Server, String),
    /// It may pass by itself.
    #[error("{0}: {1}")]
    Unready(Server, String),
    #[error("{0}: this Sentinel knows no master that is called {1:?}")]
    NoMaster(Server, String),
}

impl LinkError {
    pub(crate) fn io(server: &Server, source: io::Error) -> Self {
        Self::Io {
            server: server.clone(),
            source,
        }
    }

    pub(crate) fn wire(server: &Server, source: WireError) -> Self {
        Self::Wire {
            server: server.clone(),
            source,
        }
    }
}
