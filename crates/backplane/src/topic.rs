//! What a node subscribes to on the server, and the names there. Owns the prefix; knows no protocol.

/// The most bytes of a name: longer ones are neither subscribed to nor published.
pub(crate) const LONGEST_NAME: usize = 64 * 1024;

/// A topic to subscribe to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// A channel, by its name on this node.
    Channel(Box<[u8]>),
    /// A sharded channel, which no pattern matches.
    Sharded(Box<[u8]>),
    /// Every channel that this pattern matches.
    Pattern(Box<[u8]>),
    /// The control messages of nodes.
    Control,
}

impl Topic {
    /// Its name on this node, or the pattern's text.
    pub(crate) fn name(&self) -> &[u8] {
        match self {
            Self::Channel(name) | Self::Sharded(name) | Self::Pattern(name) => name,
            Self::Control => b"",
        }
    }
}

/// The names of a cluster of nodes on the server: channels are `prefix:name`, and control messages are on
/// `prefix!nodes`, which cannot be the name of a channel.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    channels: Box<[u8]>,
    sharded: Box<[u8]>,
    control: Box<[u8]>,
}

impl Prefix {
    /// `channels` and `sharded` separate the prefix from the name in the two name spaces.
    pub(crate) fn new(prefix: &str, channels: char, sharded: char) -> Self {
        Self {
            channels: format!("{prefix}{channels}").into_bytes().into(),
            sharded: format!("{prefix}{sharded}").into_bytes().into(),
            control: format!("{prefix}!nodes").into_bytes().into(),
        }
    }

    /// The bytes before a channel's name.
    pub(crate) fn channels(&self) -> &[u8] {
        &self.channels
    }

    /// The bytes before a sharded channel's name.
    pub(crate) fn sharded(&self) -> &[u8] {
        &self.sharded
    }

    /// The name of the channel for control messages.
    pub(crate) fn control(&self) -> &[u8] {
        &self.control
    }
}
