//! What a connection that speaks RESP has said so far: which version, who it is, what it listens to.

use std::sync::Arc;

use millrace_core::Tally;
use millrace_protocol::resp::{RequestLimits, Version};

use super::access::{Access, User};
use super::clients::{Client, Clients};
use super::limits::RespLimits;
use super::options::{PublishAs, RespOptions};
use super::throttle::Throttle;
use crate::contract::Encoding;
use crate::limits::ListenerLimits;

/// What connections of a gateway know of each other.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) clients: Clients,
    pub(super) throttle: Throttle,
    pub(super) resp2: Encoding,
    pub(super) resp3: Encoding,
}

/// What every connection of a listener has in common.
#[derive(Debug)]
pub(super) struct Terms {
    /// What connections of the gateway know of each other.
    pub(super) common: Arc<Common>,
    pub(super) access: Access,
    pub(super) publish_as: PublishAs,
    /// Bytes of an argument.
    argument_bytes: usize,
    /// Channels and patterns of a connection.
    pub(super) subscriptions: usize,
    /// Bytes of all keys and values above which nothing is written.
    pub(super) keys_bytes: u64,
    /// Milliseconds that it has to say who it is.
    password_timeout: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) terms: Arc<Terms>,
    pub(super) client: Arc<Client>,
    pub(super) version: Version,
    /// `None`: it has to say who it is.
    pub(super) user: Option<Arc<User>>,
    /// Since when it has to, in milliseconds since the gateway was made.
    pub(super) asked: u64,
    pub(super) silence: Silence,
    /// What it listens to by its own commands.
    pub(super) tally: Tally,
}

/// What `CLIENT REPLY` asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Silence {
    /// Every command is answered.
    #[default]
    None,
    /// The next one is not.
    Next,
    /// This one is not.
    Now,
    /// None is; messages go on.
    All,
}

impl Silence {
    pub(super) fn is_silent(self) -> bool {
        matches!(self, Self::Now | Self::All)
    }

    /// A command begins.
    pub(super) fn advance(&mut self) {
        *self = match self {
            Self::Next => Self::Now,
            Self::Now => Self::None,
            Self::None | Self::All => *self,
        };
    }
}

impl Terms {
    /// As configured; patterns that are too long are refused.
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
            subscriptions: own.subscriptions_per_socket,
            keys_bytes: own.keys_bytes,
            password_timeout: u64::try_from(limits.handshake_timeout.as_millis())
                .unwrap_or(u64::MAX),
        })
    }
}

impl Session {
    /// Its stream is there: it is a client from now on.
    pub(super) fn begin(&mut self, now: u64) {
        self.asked = now;
        self.client.begin(now);
        self.terms.common.clients.enter(&self.client);
    }

    /// Bounds of its requests.
    pub(super) fn limits(&self) -> RequestLimits {
        RequestLimits {
            argument_bytes: self.terms.argument_bytes,
            unauthenticated: self.user.is_none(),
        }
    }

    /// Whether it listens to anything.
    pub(super) fn listens(&self) -> bool {
        self.tally.total() > 0
    }

    /// Whether it may only listen, because its replies would look like messages.
    pub(super) fn only_listens(&self) -> bool {
        self.version == Version::Resp2 && self.listens()
    }

    /// Why it may not run the command of this name, which needs a user and no replies between messages.
    pub(super) fn objection(&self, name: &str) -> Option<String> {
        self.not_allowed(name)
            .or_else(|| self.not_while_listening(name))
    }

    /// Why its user, or the lack of one, is in the way.
    pub(super) fn not_allowed(&self, name: &str) -> Option<String> {
        let Some(user) = &self.user else {
            return Some("NOAUTH Authentication required.".to_owned());
        };
        (!user.may_run(name))
            .then(|| format!("NOPERM this user has no permissions to run the '{name}' command"))
    }

    /// Why what it listens to is in the way.
    pub(super) fn not_while_listening(&self, name: &str) -> Option<String> {
        self.only_listens().then(|| {
            format!(
                "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed \
                 in this context"
            )
        })
    }

    /// It is this user from now on, or an unauthenticated client.
    pub(super) fn become_user(&mut self, user: Option<Arc<User>>) {
        let name = user.as_ref().map_or("default", |user| user.name.as_str());
        self.client.change(|told| name.clone_into(&mut told.user));
        self.user = user;
    }

    /// Until when it has to say who it is, if nobody knows.
    pub(super) fn deadline(&self) -> Option<u64> {
        let until = self.asked.saturating_add(self.terms.password_timeout);
        self.user.is_none().then_some(until)
    }

    /// It has to say who it is from now on; returns until when.
    pub(super) fn ask_who(&mut self, now: u64) -> u64 {
        self.asked = now;
        now.saturating_add(self.terms.password_timeout)
    }

    /// How messages for it are encoded.
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
