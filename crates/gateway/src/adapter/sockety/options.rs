//! The options of a Sockety listener.

use millrace_protocol::sockety::MOST_CHANNELS;

use crate::contract::{ListenError, Options, Reader};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SocketyOptions {
    /// The form of publications.
    pub(super) publish_form: PublishForm,
    /// The action of publications.
    pub(super) publish_action: Box<str>,
    /// Whether its peers receive publications and sends to their socket ids.
    pub(super) publications: bool,
    /// The number of channels on which peers may send.
    pub(super) receivable_channels: u16,
    pub(super) writable: Writable,
    /// Whether the size of a file may differ from the announced one.
    pub(super) allow_files_size_mismatch: bool,
    /// Whether peers are told before a connection is closed.
    pub(super) send_go_away: bool,
    pub(super) kernel: KernelOptions,
}

/// The channels that this side sends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writable {
    /// The most channels that are used.
    pub(super) channels: u16,
    /// Whether a channel is reused after a message on it was aborted, with any peer.
    pub(super) reuses_aborted: bool,
}

/// Options of the TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KernelOptions {
    /// TCP keep-alive probes.
    pub(super) keep_alive: bool,
    /// `TCP_NODELAY`: small writes are sent at once.
    pub(super) no_delay: bool,
}

/// The data of a publication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PublishForm {
    /// `MessagePack` with the channel and the payload.
    #[default]
    Message,
    /// The payload alone.
    Raw,
}

impl SocketyOptions {
    pub(super) fn read(options: &Options) -> Result<Self, ListenError> {
        let options = options.reader();
        let made = Self {
            publish_form: options
                .word("publishForm", &PUBLISH_FORMS)?
                .unwrap_or_default(),
            publish_action: action(&options)?,
            publications: options.flag("publications")?.unwrap_or(true),
            receivable_channels: channels(&options, "maxReceivedChannels")?,
            writable: Writable {
                channels: channels(&options, "maxWritableChannels")?,
                reuses_aborted: options.flag("reuseAbortedChannels")?.unwrap_or(false),
            },
            allow_files_size_mismatch: options.flag("allowFilesSizeMismatch")?.unwrap_or(false),
            send_go_away: options.flag("sendGoAway")?.unwrap_or(true),
            kernel: KernelOptions {
                keep_alive: options.flag("keepAlive")?.unwrap_or(true),
                no_delay: options.flag("noDelay")?.unwrap_or(true),
            },
        };
        options.finish()?;
        Ok(made)
    }
}

const PUBLISH_FORMS: [(&str, PublishForm); 2] =
    [("message", PublishForm::Message), ("raw", PublishForm::Raw)];

/// Bytes of the longest action of publications.
pub(super) const MOST_ACTION_BYTES: usize = 1024;

fn action(options: &Reader<'_>) -> Result<Box<str>, ListenError> {
    let action = options.text("publishAction")?.unwrap_or("publish");
    if action.len() > MOST_ACTION_BYTES {
        return Err(options.wrong("publishAction", "at most 1024 bytes"));
    }
    Ok(action.into())
}

fn channels(options: &Reader<'_>, name: &str) -> Result<u16, ListenError> {
    let Some(count) = options.whole(name)? else {
        return Ok(MOST_CHANNELS);
    };
    let count = u16::try_from(count).ok();
    count
        .filter(|count| (1..=MOST_CHANNELS).contains(count))
        .ok_or_else(|| options.wrong(name, "from 1 to 4096"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_defaults() {
        let options = SocketyOptions::read(&Options::new()).unwrap();
        assert_eq!(options.publish_form, PublishForm::Message);
        assert_eq!(&*options.publish_action, "publish");
        assert!(options.publications);
        assert_eq!(options.receivable_channels, MOST_CHANNELS);
        assert_eq!(options.writable.channels, MOST_CHANNELS);
        assert!(!options.writable.reuses_aborted);
        assert!(options.send_go_away && !options.allow_files_size_mismatch);
    }

    #[test]
    fn options_are_read() {
        let given = Options::new()
            .text("publishForm", "raw")
            .text("publishAction", "news")
            .flag("publications", false)
            .number("maxReceivedChannels", 256)
            .number("maxWritableChannels", 1)
            .flag("reuseAbortedChannels", true)
            .flag("allowFilesSizeMismatch", true)
            .flag("sendGoAway", false)
            .flag("keepAlive", false)
            .flag("noDelay", false);
        let expected = SocketyOptions {
            publish_form: PublishForm::Raw,
            publish_action: "news".into(),
            publications: false,
            receivable_channels: 256,
            writable: Writable {
                channels: 1,
                reuses_aborted: true,
            },
            allow_files_size_mismatch: true,
            send_go_away: false,
            kernel: KernelOptions {
                keep_alive: false,
                no_delay: false,
            },
        };
        assert_eq!(SocketyOptions::read(&given).unwrap(), expected);
    }

    #[test]
    fn unknown_options_are_refused() {
        let problem = |options: Options| SocketyOptions::read(&options).err().unwrap().to_string();
        for (options, expected) in [
            (
                Options::new().text("publishForm", "json"),
                "publishForm must be one of 'message', 'raw'",
            ),
            (
                Options::new().text("publishAction", "x".repeat(1025)),
                "publishAction must be at most 1024 bytes",
            ),
            (
                Options::new().number("maxReceivedChannels", 0),
                "maxReceivedChannels must be from 1 to 4096",
            ),
            (
                Options::new().number("maxWritableChannels", 4097),
                "maxWritableChannels must be from 1 to 4096",
            ),
            (
                Options::new().number("timeout", 5),
                "timeout is no option of this protocol",
            ),
        ] {
            assert_eq!(problem(options), expected);
        }
    }
}
