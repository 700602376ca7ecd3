//! How a command is found in the list of all, and what is said if it is not there.

use millrace_protocol::resp::Request;

use super::call::Command;

/// Why no command was found.
#[derive(Debug)]
pub(super) enum Unknown {
    /// Nothing has this name.
    Command,
    /// The command has no such part.
    Part,
    /// The one of this name is there in Redis, and here not for this reason.
    Refused(&'static str, &'static str),
    /// What is sent is HTTP. A page in a browser can send it to a server that only its user reaches, and behind it commands.
    Http,
}

/// Finds what a request asks for.
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

/// The command of this name, in lower case.
pub(super) fn named(commands: &'static [Command], name: &[u8]) -> Option<&'static Command> {
    let at = commands.binary_search_by(|one| one.name.as_bytes().cmp(name));
    at.ok().and_then(|at| commands.get(at))
}

/// Those that are no part of another.
pub(super) fn whole(commands: &'static [Command]) -> impl Iterator<Item = &'static Command> {
    commands.iter().filter(|one| !one.name.contains('|'))
}

/// Writes a name in lower case, and behind a bar that of its part; `None`: longer than any.
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

/// The parts of a command.
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
    /// Whether it only leads to its parts.
    fn has_parts(&self) -> bool {
        matches!(self.name, "client" | "command" | "pubsub")
    }
}

impl Unknown {
    /// The name of a command that is refused whatever its arguments.
    pub(super) fn refused(&self) -> Option<&'static str> {
        match self {
            Self::Refused(name, _) => Some(name),
            Self::Command | Self::Part | Self::Http => None,
        }
    }

    /// The error.
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

/// What is shown of a word in an error: as in Redis, what C takes for the whole of it.
pub(super) fn shown(word: &[u8]) -> &[u8] {
    let end = word.iter().position(|byte| *byte == 0);
    word.get(..end.unwrap_or(word.len())).unwrap_or(word)
}

/// The same, up to so many bytes.
fn first(word: &[u8], most: usize) -> &[u8] {
    shown(word.get(..most).unwrap_or(word))
}

/// Bytes shown of what nobody knows.
const SHOWN_BYTES: usize = 128;

/// Longer than the longest name.
const LONGEST_NAME: usize = 32;

/// What a client may expect and does not find.
const REFUSED: [(&str, &str); 8] = [
    ("discard", NO_TRANSACTIONS),
    ("eval", NO_SCRIPTS),
    ("evalsha", NO_SCRIPTS),
    ("exec", NO_TRANSACTIONS),
    ("monitor", "nobody watches what others do"),
    ("multi", NO_TRANSACTIONS),
    ("unwatch", NO_TRANSACTIONS),
    ("watch", NO_TRANSACTIONS),
];

const NO_TRANSACTIONS: &str = "there are no transactions";
const NO_SCRIPTS: &str = "there are no scripts";
