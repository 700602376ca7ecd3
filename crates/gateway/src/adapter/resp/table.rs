//! Finds a command by its name, and the error if there is none.

use millrace_protocol::resp::Request;

use super::call::Command;

/// Why no command was found.
#[derive(Debug)]
pub(super) enum Unknown {
    /// No command has this name.
    Command,
    /// The command has no such subcommand.
    Part,
    /// Redis has this command, but it is refused here for this reason.
    Refused(&'static str, &'static str),
    /// The request is HTTP. A web page can make a browser send it, followed by commands, to a server that only the user
    /// reaches.
    Http,
}

/// Finds the command of a request.
pub(super) fn find(
    commands: &'static [Command],
    request: &Request<'_>,
) -> Result<&'static Command, Unknown> {
    let mut buffer = [0; LONGEST_NAME];
    let name = lower(&mut buffer, request.get(0).unwrap_or_default(), None);
    let command = name.and_then(|name| named(commands, name));
    let Some(command) = command else {
        if let Some(b"post" | b"host:") = name {
            return Err(Unknown::Http);
        }
        let refused = name.and_then(|name| REFUSED.iter().find(|one| one.0.as_bytes() == name));
        return Err(refused.map_or(Unknown::Command, |one| Unknown::Refused(one.0, one.1)));
    };
    let Some(part) = request.get(1).filter(|_| command.has_parts()) else {
        return Ok(command);
    };
    let mut buffer = [0; LONGEST_NAME];
    lower(&mut buffer, command.name.as_bytes(), Some(part))
        .and_then(|name| named(commands, name))
        .ok_or(Unknown::Part)
}

/// The command of this name, which is in lower case.
pub(super) fn named(commands: &'static [Command], name: &[u8]) -> Option<&'static Command> {
    let at = commands.binary_search_by(|one| one.name.as_bytes().cmp(name));
    at.ok().and_then(|at| commands.get(at))
}

/// The commands that are not subcommands.
pub(super) fn whole(commands: &'static [Command]) -> impl Iterator<Item = &'static Command> {
    commands.iter().filter(|one| !one.name.contains('|'))
}

/// Writes a name in lower case, followed by a bar and the name of the subcommand; `None` if it is longer than any name.
fn lower<'b>(
    buffer: &'b mut [u8; LONGEST_NAME],
    name: &[u8],
    part: Option<&[u8]>,
) -> Option<&'b [u8]> {
    let length = name.len() + part.map_or(0, |part| part.len() + 1);
    let parts = part.map(|part| b"|".iter().chain(part));
    let bytes = name.iter().chain(parts.into_iter().flatten());
    let target = buffer.get_mut(..length)?;
    for (to, from) in target.iter_mut().zip(bytes) {
        *to = from.to_ascii_lowercase();
    }
    Some(target)
}

/// The subcommands of a command.
pub(super) fn parts(
    commands: &'static [Command],
    of: &'static Command,
) -> impl Iterator<Item = &'static Command> {
    commands.iter().filter(|one| {
        let rest = one.name.strip_prefix(of.name);
        rest.is_some_and(|rest| rest.starts_with('|'))
    })
}

impl Command {
    /// Whether the command has subcommands.
    fn has_parts(&self) -> bool {
        matches!(self.name, "client" | "command" | "pubsub")
    }
}

impl Unknown {
    /// The name of a command that is refused regardless of its arguments.
    pub(super) fn refused(&self) -> Option<&'static str> {
        match self {
            Self::Refused(name, _) => Some(name),
            Self::Command | Self::Part | Self::Http => None,
        }
    }

    /// The text of the error.
    pub(super) fn text(&self, request: &Request<'_>) -> Vec<u8> {
        let name = first(request.get(0).unwrap_or_default(), SHOWN_BYTES);
        match self {
            Self::Refused(name, reason) => {
                let name = name.to_ascii_uppercase();
                format!("ERR {name} is not supported here: {reason}").into_bytes()
            }
            Self::Part => {
                let part = first(request.get(1).unwrap_or_default(), SHOWN_BYTES);
                let name = name.to_ascii_uppercase();
                [
                    &b"ERR unknown subcommand '"[..],
                    part,
                    b"'. Try ",
                    &name,
                    b" HELP.",
                ]
                .concat()
            }
            Self::Command | Self::Http => {
                let mut text = [
                    &b"ERR unknown command '"[..],
                    name,
                    b"', with args beginning with: ",
                ]
                .concat();
                let mut total = 0;
                for argument in request.iter().skip(1) {
                    if total >= SHOWN_BYTES {
                        break;
                    }
                    let argument = first(argument, SHOWN_BYTES - total);
                    text.push(b'\'');
                    text.extend_from_slice(argument);
                    text.extend_from_slice(b"' ");
                    total += argument.len() + 3;
                }
                text
            }
        }
    }
}

/// The part of a word that errors show: as in Redis, up to the first zero byte.
pub(super) fn shown(word: &[u8]) -> &[u8] {
    let end = word.iter().position(|byte| *byte == 0);
    word.get(..end.unwrap_or(word.len())).unwrap_or(word)
}

/// The shown part, cut to this many bytes.
fn first(word: &[u8], most: usize) -> &[u8] {
    shown(word.get(..most).unwrap_or(word))
}

/// Bytes of an unknown name that are shown.
const SHOWN_BYTES: usize = 128;

/// More bytes than the longest name has.
const LONGEST_NAME: usize = 32;

/// Commands that a client may expect and that are not supported.
const REFUSED: [(&str, &str); 8] = [
    ("discard", NO_TRANSACTIONS),
    ("eval", NO_SCRIPTS),
    ("evalsha", NO_SCRIPTS),
    ("exec", NO_TRANSACTIONS),
    ("monitor", "clients cannot watch the commands of others"),
    ("multi", NO_TRANSACTIONS),
    ("unwatch", NO_TRANSACTIONS),
    ("watch", NO_TRANSACTIONS),
];

const NO_TRANSACTIONS: &str = "there are no transactions";
const NO_SCRIPTS: &str = "there are no scripts";
