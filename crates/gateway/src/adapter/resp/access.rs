//! The users of a listener: their passwords, and the commands, channels and keys they may use. Only compares; keeps no
//! state.

use std::sync::Arc;

use millrace_core::{Pattern, PatternError};

use super::options::{RespOptions, RespUser};
use crate::secret::is_equal;

/// The users of a listener.
#[derive(Debug)]
pub(crate) struct Access {
    /// The user of every connection that has not authenticated; only where no password is required.
    anyone: Option<Arc<User>>,
    users: Vec<Arc<User>>,
    /// Whether the user `default` has a password.
    has_default: bool,
}

/// What a user may do.
#[derive(Debug)]
pub(crate) struct User {
    pub(super) name: String,
    password: String,
    channels: Option<Vec<Allowed>>,
    keys: Option<Vec<Allowed>>,
    commands: Option<Vec<String>>,
}

/// A pattern, and the text it was parsed from.
#[derive(Debug)]
struct Allowed {
    text: Vec<u8>,
    pattern: Pattern,
}

/// Why no user was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// The name or the password is wrong.
    Wrong,
    /// A password alone was given, and `default` has none.
    NoPassword,
}

impl Access {
    /// Reads the configuration; a pattern that is too long is an error.
    pub(crate) fn new(config: &RespOptions) -> Result<Self, PatternError> {
        let mut users = Vec::with_capacity(config.users.len() + 1);
        if let Some(password) = &config.password {
            users.push(Arc::new(User::all(password)));
        }
        for user in &config.users {
            users.push(Arc::new(User::new(user)?));
        }
        let anyone = users.is_empty().then(|| Arc::new(User::all("")));
        let has_default = users.iter().any(|user| user.name == DEFAULT);
        Ok(Self {
            anyone,
            users,
            has_default,
        })
    }

    /// The user of a connection that has not authenticated.
    pub(super) fn anyone(&self) -> Option<Arc<User>> {
        self.anyone.clone()
    }

    /// Whether there is a user of this name; the user `default` always exists.
    pub(super) fn knows(&self, name: &[u8]) -> bool {
        let is_name = |user: &Arc<User>| user.name.as_bytes() == name;
        name == DEFAULT.as_bytes() || self.users.iter().any(is_name)
    }

    /// The user with this name and password. A wrong name takes as long as a wrong password.
    pub(super) fn find(&self, name: Option<&[u8]>, password: &[u8]) -> Result<Arc<User>, Denied> {
        if name.is_none() && !self.has_default {
            return Err(if self.anyone.is_some() {
                Denied::NoPassword
            } else {
                Denied::Wrong
            });
        }
        let name = name.unwrap_or(DEFAULT.as_bytes());
        if let Some(anyone) = &self.anyone {
            // the user `default` has no password, so every password is accepted
            return if name == DEFAULT.as_bytes() {
                Ok(Arc::clone(anyone))
            } else {
                Err(Denied::Wrong)
            };
        }
        let found = self.users.iter().find(|user| user.name.as_bytes() == name);
        let expected = found.map_or(NOBODY, |user| user.password.as_bytes());
        let equal = is_equal(password, expected);
        found.filter(|_| equal).map(Arc::clone).ok_or(Denied::Wrong)
    }
}

impl User {
    fn all(password: &str) -> Self {
        Self {
            name: DEFAULT.to_owned(),
            password: password.to_owned(),
            channels: None,
            keys: None,
            commands: None,
        }
    }

    fn new(config: &RespUser) -> Result<Self, PatternError> {
        Ok(Self {
            name: config.name.clone(),
            password: config.password.clone(),
            channels: allowed(config.channels.as_deref())?,
            keys: allowed(config.keys.as_deref())?,
            commands: config.commands.clone(),
        })
    }

    /// Whether the user may publish and subscribe to a channel.
    pub(super) fn may_use_channel(&self, channel: &[u8]) -> bool {
        matches_one(self.channels.as_deref(), channel)
    }

    /// Whether the user may subscribe to a pattern: only to one that is allowed in exactly this form, because another
    /// form may match more.
    pub(super) fn may_use_pattern(&self, pattern: &[u8]) -> bool {
        let Some(channels) = &self.channels else {
            return true;
        };
        channels.iter().any(|allowed| allowed.text == pattern)
    }

    /// Whether the user may read and write a key.
    pub(super) fn may_use_key(&self, key: &[u8]) -> bool {
        matches_one(self.keys.as_deref(), key)
    }

    /// Whether the user may use all keys.
    pub(super) fn may_use_every_key(&self) -> bool {
        let Some(keys) = &self.keys else {
            return true;
        };
        keys.iter().any(|allowed| allowed.text == b"*")
    }

    /// Whether the user may run a command. Subcommands are allowed one by one (`client|list`) or all at once
    /// (`client`).
    pub(super) fn may_run(&self, command: &str) -> bool {
        let Some(commands) = &self.commands else {
            return true;
        };
        let whole = command.split('|').next().unwrap_or(command);
        commands
            .iter()
            .any(|allowed| allowed == command || allowed == whole)
    }
}

fn allowed(texts: Option<&[String]>) -> Result<Option<Vec<Allowed>>, PatternError> {
    let Some(texts) = texts else { return Ok(None) };
    texts
        .iter()
        .map(|text| {
            Ok(Allowed {
                text: text.as_bytes().to_vec(),
                pattern: Pattern::new(text.as_bytes())?,
            })
        })
        .collect::<Result<_, _>>()
        .map(Some)
}

fn matches_one(allowed: Option<&[Allowed]>, name: &[u8]) -> bool {
    // unlike in a subscription, `*` also matches the empty name
    let matches = |one: &Allowed| one.text == b"*" || one.pattern.matches(name);
    allowed.is_none_or(|allowed| allowed.iter().any(matches))
}

/// The name of the user that a client need not name.
const DEFAULT: &str = "default";

/// Compared with the password that is given for an unknown name.
const NOBODY: &[u8] = b"nobody has this name, so whatever was given is wrong";

#[cfg(test)]
mod tests {
    use super::*;

    fn access(password: Option<&str>, users: &[(&str, &str)]) -> Access {
        let user = |(name, password): &(&str, &str)| RespUser {
            name: (*name).to_owned(),
            password: (*password).to_owned(),
            channels: Some(vec!["news:*".to_owned(), "chat".to_owned()]),
            commands: Some(vec!["publish".to_owned(), "client".to_owned()]),
            ..RespUser::default()
        };
        Access::new(&RespOptions {
            password: password.map(str::to_owned),
            users: users.iter().map(user).collect(),
            ..RespOptions::default()
        })
        .unwrap()
    }

    fn name(found: Result<Arc<User>, Denied>) -> Result<String, Denied> {
        found.map(|user| user.name.clone())
    }

    #[test]
    fn without_passwords_every_client_is_the_default_user() {
        let access = access(None, &[]);
        assert!(access.anyone().is_some());
        assert_eq!(name(access.find(None, b"x")), Err(Denied::NoPassword));
        assert_eq!(
            name(access.find(Some(b"default"), b"x")),
            Ok("default".to_owned())
        );
        assert_eq!(name(access.find(Some(b"bob"), b"")), Err(Denied::Wrong));
    }

    #[test]
    fn a_name_and_its_password_find_the_user() {
        let access = access(Some("secret"), &[("bob", "b")]);
        assert!(access.anyone().is_none());
        assert_eq!(name(access.find(None, b"secret")), Ok("default".to_owned()));
        assert_eq!(name(access.find(Some(b"bob"), b"b")), Ok("bob".to_owned()));
        for (who, password) in [
            (None, &b""[..]),
            (None, b"secrets"),
            (None, b"secretsecret"),
            (Some(&b"bob"[..]), b""),
            (Some(b"bob"), b"bb"),
            (Some(b"eve"), NOBODY),
            (Some(b"eve"), b"secret"),
        ] {
            assert_eq!(name(access.find(who, password)), Err(Denied::Wrong));
        }
    }

    #[test]
    fn users_have_their_channels_and_commands() {
        let access = access(None, &[("bob", "b")]);
        assert_eq!(name(access.find(None, b"b")), Err(Denied::Wrong));
        let bob = access.find(Some(b"bob"), b"b").unwrap();
        assert!(bob.may_use_channel(b"news:1") && bob.may_use_channel(b"chat"));
        assert!(!bob.may_use_channel(b"chats") && !bob.may_use_channel(b""));
        assert!(bob.may_use_pattern(b"news:*"));
        assert!(
            !bob.may_use_pattern(b"news:a*"),
            "as in Redis: only in exactly this form"
        );
        assert!(bob.may_run("publish") && bob.may_run("client|list") && !bob.may_run("get"));
        assert!(bob.may_use_key(b"any") && bob.may_use_every_key());
    }
}
