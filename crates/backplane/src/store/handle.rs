//! A node's handle on its store: takes publications and reads into a bounded queue, and notes which channels are to be
//! followed. Never blocks, and knows no link.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use millrace_core::HistoryTerms;
use tokio::sync::{mpsc, watch};

use super::feed::{Append, Appended, Done, Feed, History, Range, StoreError, StoredPast};
use super::publication::Id;
use super::requests::{Charge, Command, Publication, Reading, Reply};
use super::shared::{Change, Shared};
use super::stats::StoreStats;
use super::task::StoreTask;
use crate::config::{Config, Protocol};
use crate::tls::{Encryption, TlsError};
use crate::topic::LONGEST_NAME;

/// Why a store cannot be used as configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreSetupError {
    /// TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// How links are encrypted; `None`: not at all.
pub(super) fn encryption(config: &Config) -> Result<Option<Encryption>, TlsError> {
    // servers of NATS report each other
    let servers = match config.protocol {
        Protocol::Nats => &*config.servers,
        Protocol::Redis | Protocol::RedisCluster => &[],
    };
    let tls = config.tls.as_ref();
    tls.map(|tls| Encryption::new(tls, servers)).transpose()
}

/// See the module. The task ends when it is [told to](Self::end), or when the last handle is dropped.
pub struct Store {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    end: watch::Sender<Option<Instant>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Makes a store and its task, which must be run. `node` is the number of this node.
    pub fn new(
        config: &Config,
        node: u64,
        feed: Arc<dyn Feed>,
    ) -> Result<(Arc<Self>, StoreTask), StoreSetupError> {
        let encryption = encryption(config)?;
        let shared = Arc::new(Shared::new(&config.bounds));
        let (commands, queue) = mpsc::channel(config.bounds.queue_messages.clamp(1, MOST_QUEUED));
        let (end, ended) = watch::channel(None);
        let task = StoreTask::new(
            (config.clone(), encryption),
            (Arc::clone(&shared), node, feed),
            (queue, ended),
        );
        let store = Arc::new(Self {
            shared,
            commands,
            end,
        });
        Ok((store, task))
    }

    /// Ends the task when everything is answered, and at `deadline` at the latest.
    pub fn end(&self, deadline: Instant) {
        self.end.send_replace(Some(deadline));
    }

    fn send(&self, command: Command) {
        match self.commands.try_send(command) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(command)) => command.fail(StoreError::Full),
            Err(mpsc::error::TrySendError::Closed(command)) => command.fail(StoreError::Away),
        }
    }
}

impl History for Store {
    fn append(&self, message: Append, done: Done<Appended>) {
        let reply = Reply::new(done);
        let key = message.key.as_ref().map_or(0, |key| key.len());
        if message.channel.len() > LONGEST_NAME
            || message.payload.len() > self.shared.longest
            || key > LONGEST_KEY
        {
            return reply.give(Err(StoreError::Refused));
        }
        let bytes = message.channel.len() + message.payload.len() + key + CHARGE;
        let Some(charge) = Charge::take(&self.shared, bytes) else {
            return reply.give(Err(StoreError::Full));
        };
        self.send(Command::Publish(Publication {
            message,
            reply,
            charge,
            id: Id::default(),
            is_again: false,
        }));
    }

    fn follow(&self, channel: &[u8], terms: HistoryTerms) {
        self.shared
            .change(channel, |change| change.begins = Some(terms));
    }

    fn forget(&self, channel: &[u8]) {
        self.shared.change(channel, |change| {
            *change = Change {
                ends: true,
                begins: None,
            };
        });
    }

    fn read(&self, channel: &[u8], terms: HistoryTerms, range: Range, done: Done<StoredPast>) {
        if channel.len() > LONGEST_NAME {
            return done(Err(StoreError::Refused));
        }
        let Some(charge) = Charge::take(&self.shared, channel.len() + CHARGE) else {
            return done(Err(StoreError::Full));
        };
        let about = (channel.into(), terms, range);
        self.send(Command::Read(Reading::new(about, done, charge)));
    }

    fn stats(&self) -> StoreStats {
        let mut stats = self.shared.counters.read();
        stats.waiting_bytes = self.shared.waiting();
        stats
    }
}

/// What a request is charged beside its bytes.
const CHARGE: usize = 128;

/// The most bytes of an idempotency key.
const LONGEST_KEY: usize = 64;

/// More than the bound on bytes allows.
const MOST_QUEUED: usize = 1 << 20;
