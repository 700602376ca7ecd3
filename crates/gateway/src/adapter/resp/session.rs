//! The state of one RESP connection: its version, its user, its subscriptions.

use std::sync::Arc;

use millrace_core::Tally;
use millrace_protocol::resp::{RequestLimits, Version};

use super::access::{Access, User};
use super::clients::{Client, Clients};
use super::limits::RespLimits;
use super::options::{PublishAs, RespOptions};
use super::stored::Stored;
use super::throttle::Throttle;
use crate::contract::Encoding;
use crate::limits::ListenerLimits;

/// What the connections of a gateway share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) clients: Clients,
    pub(super) throttle: Throttle,
    pub(super) resp2: Encoding,
    pub(super) resp3: Encoding,
}

/// What the connections of a listener share.
#[derive(Debug)]
pub(super) struct Terms {
    /// What all RESP connections of the gateway share.
    pub(super) common: Arc<Common>,
    pub(super) access: Access,
    pub(super) publish_as: PublishAs,
    /// The most bytes of an argument.
    argument_bytes: usize,
    /// The most channels and patterns of a connection.
    pub(super) subscriptions: usize,
    /// The bytes of all keys and values above which writing is refused.
    pub(super) keys_bytes: u64,
    /// Milliseconds that a client has to authenticate.
    password_timeout: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) terms: Arc<Terms>,
    pub(super) client: Arc<Client>,
    pub(super) version: Version,
    /// `None` while the client has to authenticate.
    pub(super) user: Option<Arc<User>>,
    /// Since when it has to authenticate, in milliseconds since the gateway was made.
    pub(super) asked: u64,
    pub(super) silence: Silence,
    /// The subscriptions that it made by its own commands.
    pub(super) tally: Tally,
    /// The publications of which a store of histories has not said yet what came of them.
    pub(super) stored: Stored,
}

/// The state of `CLIENT REPLY`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Silence {
    /// Every command is answered.
    #[default]
    None,
    /// The next command is not answered.
    Next,
    /// The current command is not answered.
    Now,
    /// No command is answered; messages are still sent.
    All,
}

impl Silence {
    pub(super) fn is_silent(self) -> bool {
        matches!(self, Self::Now | Self::All)
    }

    /// Advances at the start of a command.
    pub(super) fn advance(&mut self) {
        *self = match self {
            Self::Next => Self::Now,
            Self::Now => Self::None,
            Self::None | Self::All => *self,
        };
    }
}

impl Terms {
    /// Reads the configuration; patterns that are too long are an error.
    pub(super) fn new(
        config: &RespOptions,
        (limits, own): (&ListenerLimits, &RespLimits),
        common: &Arc<Common>,
    ) -> Result<Self, millrace_core::PatternError> {
        Ok(Self {
            common: Arc::clone(common),
            access: Access::new(config)?,
            publish_as: config.publish_as,
            argument_bytes: limits.message_bytes,
            subscriptions: limits.subscriptions_per_socket,
            keys_bytes: own.keys_bytes,
            password_timeout: u64::try_from(limits.handshake_timeout.as_millis())
                .unwrap_or(u64::MAX),
        })
    }
}

impl Session {
    /// Its stream is open: the session is a client from now on.
    pub(super) fn begin(&mut self, now: u64) {
        self.asked = now;
        self.client.begin(now);
        self.terms.common.clients.enter(&self.client);
    }

    /// The limits of its requests.
    pub(super) fn limits(&self) -> RequestLimits {
        RequestLimits {
            argument_bytes: self.terms.argument_bytes,
            unauthenticated: self.user.is_none(),
        }
    }

    /// Whether it has subscriptions.
    pub(super) fn listens(&self) -> bool {
        self.tally.total() > 0
    }

    /// Whether only commands about subscriptions are allowed, because other replies would look like messages.
    pub(super) fn only_listens(&self) -> bool {
        self.version == Version::Resp2 && self.listens()
    }

    /// Why the client may not run the command of this name: its user or its subscriptions forbid it.
    pub(super) fn objection(&self, name: &str) -> Option<String> {
        self.not_allowed(name)
            .or_else(|| self.not_while_listening(name))
    }

    /// Why the user, or the lack of one, forbids the command.
    pub(super) fn not_allowed(&self, name: &str) -> Option<String> {
        let Some(user) = &self.user else {
            return Some("NOAUTH Authentication required.".to_owned());
        };
        (!user.may_run(name))
            .then(|| format!("NOPERM this user has no permissions to run the '{name}' command"))
    }

    /// Why the subscriptions forbid the command.
    pub(super) fn not_while_listening(&self, name: &str) -> Option<String> {
        self.only_listens().then(|| {
            format!(
                "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed \
                 in this context"
            )
        })
    }

    /// Changes the user, or makes the client an unauthenticated one.
    pub(super) fn become_user(&mut self, user: Option<Arc<User>>) {
        let name = user.as_ref().map_or("default", |user| user.name.as_str());
        self.client.change(|told| name.clone_into(&mut told.user));
        self.user = user;
    }

    /// The time by which the client has to authenticate, if it has not done so.
    pub(super) fn deadline(&self) -> Option<u64> {
        let until = self.asked.saturating_add(self.terms.password_timeout);
        self.user.is_none().then_some(until)
    }

    /// Requires the client to authenticate from now on; returns the time by which it has to.
    pub(super) fn ask_who(&mut self, now: u64) -> u64 {
        self.asked = now;
        now.saturating_add(self.terms.password_timeout)
    }

    /// The encoding of its messages.
    pub(super) fn encoding(&self) -> Encoding {
        match self.version {
            Version::Resp2 => self.terms.common.resp2,
            Version::Resp3 => self.terms.common.resp3,
        }
    }

    pub(super) fn speak(&mut self, version: Version) {
        self.version = version;
        self.client.change(|told| told.version = version);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.terms.common.clients.leave(self.client.id);
    }
}
