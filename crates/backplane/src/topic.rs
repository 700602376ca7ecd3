//! What a node subscribes to on the server, and how it is called there. Owns the prefix; knows no protocol.

/// Bytes of a name: nobody is subscribed to a longer one, and none goes out.
pub(crate) const LONGEST_NAME: usize = 64 * 1024;

/// Something to subscribe to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// A channel, by its name here.
    Channel(Box<[u8]>),
    /// A channel of the other name space, which patterns do not fit.
    Sharded(Box<[u8]>),
    /// Every channel whose name fits.
    Pattern(Box<[u8]>),
    /// What nodes tell each other.
    Control,
}

impl Topic {
    /// Its name here, or its text.
    pub(crate) fn name(&self) -> &[u8] {
        match self {
            Self::Channel(name) | Self::Sharded(name) | Self::Pattern(name) => name,
            Self::Control => b"",
        }
    }
}

/// How a set of nodes calls itself on the server: channels are `prefix:name`, and `prefix!nodes` is what nodes
/// tell each other, which no channel can be called.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    channels: Box<[u8]>,
    sharded: Box<[u8]>,
    control: Box<[u8]>,
}

impl Prefix {
    /// `channels` and `sharded` stand between the prefix and the name in the two name spaces.
    pub(crate) fn new(prefix: &str, channels: char, sharded: char) -> Self {
        Self {
            channels: format!("{prefix}{channels}").into_bytes().into(),
            sharded: format!("{prefix}{sharded}").into_bytes().into(),
            control: format!("{prefix}!nodes").into_bytes().into(),
        }
    }

    /// What stands in front of a channel's name.
    pub(crate) fn channels(&self) -> &[u8] {
        &self.channels
    }

    /// … of the other name space.
    pub(crate) fn sharded(&self) -> &[u8] {
        &self.sharded
    }

    /// The name of what nodes tell each other.
    pub(crate) fn control(&self) -> &[u8] {
        &self.control
    }
}
