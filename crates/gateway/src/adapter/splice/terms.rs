//! What all sessions of one listener share: its options and limits, ready to use.

use std::sync::Arc;

use millrace_protocol::splice::{Allowlist, ClosedName};
use millrace_protocol::websocket::{DecoderConfig, Role};

use super::dial::Dialler;
use super::limits::SpliceLimits;
use crate::contract::{ClientTls, Encoding, ListenError, Reader};
use crate::http::HttpLimits;
use crate::inflaters::Inflaters;
use crate::limits::ListenerLimits;
use crate::sync::{AtomicUsize, Ordering};

/// See the module.
#[derive(Debug)]
pub(super) struct Terms {
    /// The decoder for messages of clients.
    pub(super) from_client: DecoderConfig,
    /// The decoder for messages of targets.
    pub(super) from_target: DecoderConfig,
    pub(super) limits: SpliceLimits,
    pub(super) dialler: Arc<Dialler>,
    pub(super) closed_name: ClosedName,
    /// Whether relayed messages are always binary.
    pub(super) binary: bool,
    /// The encoding of a session's socket, for which frames are never shared.
    pub(super) encoding: Encoding,
    /// For the messages of targets that compress.
    pub(super) inflaters: Inflaters,
    /// The number of targets of all sessions.
    total: AtomicUsize,
}

/// One counted target; dropping it makes room.
#[derive(Debug)]
pub(super) struct Counted(Arc<Terms>);

impl Terms {
    /// Reads the options of a listener.
    pub(super) fn read(
        options: &Reader<'_>,
        (listener, http, limits): (&ListenerLimits, &HttpLimits, SpliceLimits),
        encoding: Encoding,
    ) -> Result<Self, ListenError> {
        let listed = options.texts("allowedHostnames")?.unwrap_or_default();
        let allowlist = Allowlist::parse(listed.iter().map(String::as_str));
        let allowlist = allowlist.map_err(|error| ListenError::Unusable {
            option: "allowedHostnames",
            problem: error.to_string(),
        })?;
        let closed_name = match options.text("eventName")? {
            None => ClosedName::default(),
            Some(name) => ClosedName::parse(name).ok_or_else(|| {
                options.wrong("eventName", "'onSocketDisconnect' or 'onSocketClosed'")
            })?,
        };
        let tls = options.bytes("ca")?.map(|authorities| ClientTls {
            // each target replaces the name by its own
            server_name: "localhost".to_owned(),
            authorities: authorities.to_vec(),
            ..ClientTls::default()
        });
        let dialler = Dialler::new(
            allowlist,
            (
                options.flag("anyTarget")?.unwrap_or_default(),
                options.flag("privateTargets")?.unwrap_or_default(),
            ),
            tls.as_ref(),
            options.flag("targetCompression")?.unwrap_or_default(),
            limits.dial_timeout,
        )?;
        let from_client = DecoderConfig {
            // plus its index
            message_bytes: listener.message_bytes.saturating_add(2),
            role: Role::Server,
            checks_text: false,
            control_per_second: http.control_frames_per_second,
            control_burst: http.control_frames_burst,
        };
        Ok(Self {
            from_client,
            from_target: DecoderConfig {
                message_bytes: listener.message_bytes,
                role: Role::Client,
                checks_text: true,
                ..from_client
            },
            limits,
            dialler: Arc::new(dialler),
            closed_name,
            binary: options.flag("binary")?.unwrap_or_default(),
            encoding,
            inflaters: Inflaters::default(),
            total: AtomicUsize::new(0),
        })
    }

    /// Counts one more target. `None`: the limit is reached.
    pub(super) fn count(self: &Arc<Self>) -> Option<Counted> {
        let before = self.total.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(Arc::clone(self));
        let most = usize::try_from(self.limits.targets_total).unwrap_or(usize::MAX);
        (before < most).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.total.fetch_sub(1, Ordering::Relaxed);
    }
}
