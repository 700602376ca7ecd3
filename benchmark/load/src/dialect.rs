//! The dialect inside the text messages of a WebSocket: none, or Socket.IO's framing (Engine.IO 4,
//! Socket.IO 5, default namespace, one event `m` with one argument). It encodes and decodes
//! messages; it sends nothing and knows no scenario.

use std::str::FromStr;

use crate::failure::Failure;

/// A dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// A message is the application's text.
    #[default]
    Plain,
    /// A message is a packet of Engine.IO that holds one of Socket.IO.
    SocketIo,
}

/// What a text message from the server means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    /// Something for the application.
    Message(&'a [u8]),
    /// The client must answer with this text at once.
    Answer(&'static [u8]),
    /// The session is established.
    Joined,
}

impl Dialect {
    /// The path of the upgrade request.
    pub fn path(self) -> &'static str {
        match self {
            Self::Plain => "/",
            Self::SocketIo => "/socket.io/?EIO=4&transport=websocket",
        }
    }

    /// Whether the server sends a greeting first: the connection is open only after it.
    pub fn greets(self) -> bool {
        self == Self::SocketIo
    }

    /// The text that carries a message, and the position of the message in it. A message that begins
    /// with a brace is JSON and is sent as an object, any other message as a string.
    pub fn wrap(self, message: &[u8]) -> (Vec<u8>, usize) {
        let quote: &[u8] = match (self, message.first()) {
            (Self::Plain, _) => return (message.to_vec(), 0),
            (Self::SocketIo, Some(b'{')) => b"",
            (Self::SocketIo, _) => b"\"",
        };
        let text = [EVENT, quote, message, quote, END].concat();
        (text, EVENT.len() + quote.len())
    }

    /// Decodes a text from the server.
    #[inline]
    pub fn hear(self, text: &[u8]) -> Result<Said<'_>, Failure> {
        if self == Self::Plain {
            return Ok(Said::Message(text));
        }
        let argument = |text| <[u8]>::strip_suffix(<[u8]>::strip_prefix(text, EVENT)?, END);
        match (argument(text), text) {
            (Some([b'"', message @ .., b'"'] | message @ [b'{', ..]), _) => {
                Ok(Said::Message(message))
            }
            (_, b"2") => Ok(Said::Answer(b"3")),
            (_, [b'0', b'{', ..]) => Ok(Said::Answer(b"40")),
            (_, [b'4', b'0', b'{', ..]) => Ok(Said::Joined),
            _ => {
                let shown = String::from_utf8_lossy(&text[..text.len().min(80)]);
                let what = format!("not Socket.IO as this client knows it: {shown:?}");
                Err(Failure::Violation(what))
            }
        }
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "plain" => Ok(Self::Plain),
            "socketio" => Ok(Self::SocketIo),
            _ => Err(format!("unknown dialect {name}")),
        }
    }
}

/// The text around an event's argument. Nothing that this generator sends needs escaping.
const EVENT: &[u8] = br#"42["m","#;
const END: &[u8] = b"]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrapped_is_heard() {
        for dialect in [Dialect::Plain, Dialect::SocketIo] {
            for message in [&b"e00042.0000000001abc"[..], br#"{"type":"sub"}"#, b""] {
                let (text, at) = dialect.wrap(message);
                assert_eq!(&text[at..at + message.len()], message);
                assert_eq!(dialect.hear(&text).unwrap(), Said::Message(message));
            }
        }
        let (text, _) = Dialect::SocketIo.wrap(b"abc");
        assert_eq!(text, br#"42["m","abc"]"#);
        let (text, _) = Dialect::SocketIo.wrap(br#"{"a":1}"#);
        assert_eq!(text, br#"42["m",{"a":1}]"#);
    }

    #[test]
    fn the_session_is_understood_and_noise_is_not() {
        let hear = |text: &'static str| Dialect::SocketIo.hear(text.as_bytes());
        assert_eq!(hear(r#"0{"sid":"x"}"#).unwrap(), Said::Answer(b"40"));
        assert_eq!(hear(r#"40{"sid":"y"}"#).unwrap(), Said::Joined);
        assert_eq!(hear("2").unwrap(), Said::Answer(b"3"));
        for noise in [
            "",
            "41",
            "44{}",
            "hello",
            "42[\"x\",\"a\"]",
            "42[\"m\",\"a",
            "42[\"m\",7]",
        ] {
            assert!(hear(noise).is_err(), "{noise}");
        }
    }
}
