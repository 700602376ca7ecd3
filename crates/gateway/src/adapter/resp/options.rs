//! The options of a RESP listener: its users and their permissions, and the kind of the messages that its clients
//! publish.

use crate::contract::{ListenError, Options, Reader};

/// See the module.
#[derive(Clone, Default)]
pub(super) struct RespOptions {
    /// The password of the user `default`, who may do everything. With neither a password nor users, every client is
    /// that user.
    pub(super) password: Option<String>,
    /// Additional users.
    pub(super) users: Vec<RespUser>,
    pub(super) publish_as: PublishAs,
}

/// A user.
#[derive(Clone, Default)]
pub(super) struct RespUser {
    /// Sent together with the password.
    pub(super) name: String,
    /// Compared in constant time.
    pub(super) password: String,
    /// Patterns of the channels that the user may publish and subscribe to; `None`: all.
    pub(super) channels: Option<Vec<String>>,
    /// Patterns of the keys that the user may read and write; `None`: all.
    pub(super) keys: Option<Vec<String>>,
    /// The commands that the user may run, in lower case; `None`: all.
    pub(super) commands: Option<Vec<String>>,
}

/// The kind of the messages that clients publish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PublishAs {
    /// Text if the bytes are valid UTF-8, otherwise binary.
    #[default]
    Auto,
    /// Text; bytes that are not valid UTF-8 are refused.
    Text,
    /// Binary.
    Binary,
}

impl RespOptions {
    pub(super) fn read(options: &Options) -> Result<Self, ListenError> {
        let options = options.reader();
        let made = Self {
            password: options.text("password")?.map(str::to_owned),
            users: options.each("users", RespUser::read)?,
            publish_as: options.word("publishAs", &PUBLISH_AS)?.unwrap_or_default(),
        };
        options.finish()?;
        Ok(made)
    }
}

const PUBLISH_AS: [(&str, PublishAs); 3] = [
    ("auto", PublishAs::Auto),
    ("text", PublishAs::Text),
    ("binary", PublishAs::Binary),
];

impl RespUser {
    fn read(user: &Reader<'_>) -> Result<Self, ListenError> {
        // every client would know an empty name or password
        let secret = |name: &str| match user.text(name)? {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(user.wrong(name, "a text that is not empty")),
        };
        Ok(Self {
            name: secret("name")?,
            password: secret("password")?,
            channels: user.texts("channels")?,
            keys: user.texts("keys")?,
            commands: user.texts("commands")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_their_permissions_are_read() {
        let ann = Options::new()
            .text("name", "ann")
            .text("password", "a")
            .list("channels", ["news:*"])
            .list("commands", ["publish"]);
        let options = Options::new()
            .text("password", "secret")
            .text("publishAs", "binary")
            .list("users", [ann]);
        let made = RespOptions::read(&options).unwrap();
        assert_eq!(made.password.as_deref(), Some("secret"));
        assert_eq!(made.publish_as, PublishAs::Binary);
        let [ann] = &made.users[..] else {
            panic!("one user")
        };
        assert_eq!((&*ann.name, &*ann.password), ("ann", "a"));
        assert_eq!(ann.channels.as_deref(), Some(&["news:*".to_owned()][..]));
        assert!(ann.keys.is_none());
        assert_eq!(ann.commands.as_deref(), Some(&["publish".to_owned()][..]));
    }

    #[test]
    fn empty_passwords_and_unknown_options_are_refused() {
        let user = |user: Options| Options::new().list("users", [user]);
        for (options, problem) in [
            (
                user(Options::new().text("name", "ann")),
                "users[0].password must be a text that is not empty",
            ),
            (
                user(Options::new().text("name", "").text("password", "a")),
                "users[0].name must be a text that is not empty",
            ),
            (
                Options::new().text("publishAs", "bytes"),
                "publishAs must be one of 'auto', 'text', 'binary'",
            ),
            (
                Options::new().text("events", "/events"),
                "events is no option of this protocol",
            ),
        ] {
            let error = RespOptions::read(&options).err().unwrap();
            assert_eq!(error.code(), "ERR_MILLRACE_INVALID_OPTION");
            assert_eq!(error.to_string(), problem);
        }
    }
}
