//! What clients of `millrace.v1` may do, and how they see sockets.

use millrace_core::SocketId;

use super::Hub;
use crate::config::{ClientPublishing, ClientTerms};
use crate::sync::Ordering;

impl Hub {
    /// Whether clients of `millrace.v1` may do something in some channels: only then the protocol is spoken.
    #[inline]
    pub(crate) fn has_clients(&self) -> bool {
        self.has_clients.load(Ordering::Relaxed)
    }

    /// Whether clients may publish in some channels.
    pub(crate) fn lets_clients_publish(&self) -> bool {
        let all = self.terms.lock();
        all.iter()
            .any(|terms| terms.clients.publish != ClientPublishing::Denied)
    }

    /// What clients may do in a channel.
    pub(crate) fn client_terms(&self, channel: &[u8]) -> ClientTerms {
        let Some(index) = self.core.terms_of(channel) else {
            return ClientTerms::default();
        };
        let all = self.terms.lock();
        all.get(index.get())
            .map(|terms| terms.clients)
            .unwrap_or_default()
    }

    /// The socket with this name; `None`: no socket of this node has it.
    pub(crate) fn socket_named(&self, name: &str) -> Option<SocketId> {
        let id = match self.uplink.get().and_then(|uplink| uplink.node()) {
            Some(node) => {
                let (of, id) = name.split_once('-')?;
                (of == format!("{node:016x}")).then_some(id)?
            }
            None => name,
        };
        let is_written = id.bytes().all(|byte| byte.is_ascii_digit());
        is_written.then(|| id.parse().ok().and_then(SocketId::new))?
    }

    /// The id of a socket as clients see it: with a backplane it also names the node.
    pub(crate) fn socket_name(&self, id: SocketId) -> String {
        match self.uplink.get().and_then(|uplink| uplink.node()) {
            Some(node) => name_of(node, id),
            None => id.to_string(),
        }
    }
}

/// The id of a socket of some node, as clients see it.
pub(super) fn name_of(node: u64, id: SocketId) -> String {
    format!("{node:016x}-{id}")
}
