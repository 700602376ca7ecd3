//! Makes Sockety sessions without streams, only for tests and with the feature `fuzzing`.

use super::encodings::encoding_with_one_id;
use super::limits::SocketyLimits;
use super::options::SocketyOptions;
use super::session::Sockety;
use super::{Listener, SocketyProtocol};
use crate::contract::{ListenerConfig, Session};

impl SocketyProtocol {
    /// A session in which this many bytes of contents may wait.
    #[cfg(test)]
    pub(crate) fn session_on_stage(&self, buffered_bytes: usize) -> Box<dyn Session> {
        let mut config = ListenerConfig::default();
        let bytes = u64::try_from(buffered_bytes).expect("few");
        let set = config.set_limit("bufferedBytes", bytes);
        set.expect("a limit of this protocol");
        self.session_with_one_id(&config)
    }

    /// A session of this listener in which all publications have the same id.
    pub(crate) fn session_with_one_id(&self, config: &ListenerConfig) -> Box<dyn Session> {
        let limits: SocketyLimits = config
            .protocol_limits
            .reader()
            .table()
            .expect("they are of this protocol");
        let options = SocketyOptions::read(&config.options).expect("so are the options");
        let listener = Listener::new(encoding_with_one_id(&self.0), &options, &limits);
        Box::new(Sockety::new(&listener.0, Box::default()))
    }
}
