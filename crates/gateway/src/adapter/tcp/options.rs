//! The options of a raw TCP listener: how its messages are delimited.

use millrace_protocol::framing::{Framing, Width};

use crate::contract::{ListenError, Options};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpOptions {
    pub(super) framing: Framing,
    /// Whether a connection may begin with the first line of an HTTP request.
    pub(super) allow_http: bool,
    /// Whether the connections are streams for JavaScript code of the protocol, instead of messages for handlers.
    pub(super) as_stream: bool,
}

impl TcpOptions {
    pub(super) fn read(options: &Options) -> Result<Self, ListenError> {
        let options = options.reader();
        let framing = options
            .word("framing", &FRAMINGS)?
            .ok_or_else(|| options.wrong("framing", "'line', 'length' or 'none'"))?;
        let framing = match framing {
            Framing::Length(_) => Framing::Length(match options.whole("lengthBytes")? {
                Some(1) => Width::One,
                Some(2) => Width::Two,
                Some(4) | None => Width::Four,
                Some(_) => return Err(options.wrong("lengthBytes", "1, 2 or 4")),
            }),
            other => other,
        };
        let allow_http = match framing {
            Framing::Line => options.flag("allowHttp")?.unwrap_or_default(),
            Framing::Length(_) | Framing::None => true,
        };
        let as_stream = match framing {
            Framing::None => options.flag("asStream")?.unwrap_or_default(),
            Framing::Line | Framing::Length(_) => false,
        };
        options.finish()?;
        Ok(Self {
            framing,
            allow_http,
            as_stream,
        })
    }
}

const FRAMINGS: [(&str, Framing); 3] = [
    ("line", Framing::Line),
    ("length", Framing::Length(Width::Four)),
    ("none", Framing::None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framings_are_read() {
        let read = |options: Options| TcpOptions::read(&options).unwrap();
        let of = |framing: &str| Options::new().text("framing", framing);
        let length = |bytes: i32| read(of("length").number("lengthBytes", bytes)).framing;
        assert_eq!(read(of("none")).framing, Framing::None);
        assert_eq!(read(of("length")).framing, Framing::Length(Width::Four));
        assert_eq!(length(1), Framing::Length(Width::One));
        assert_eq!(length(2), Framing::Length(Width::Two));
        assert_eq!(length(4), Framing::Length(Width::Four));
        let line = read(of("line"));
        assert_eq!((line.framing, line.allow_http), (Framing::Line, false));
        assert!(read(of("line").flag("allowHttp", true)).allow_http);
        assert!(!read(of("none")).as_stream);
        assert!(read(of("none").flag("asStream", true)).as_stream);
    }

    #[test]
    fn unknown_framings_are_refused() {
        let of = |framing: &str| Options::new().text("framing", framing);
        for (options, problem) in [
            (Options::new(), "framing must be 'line', 'length' or 'none'"),
            (
                of("lines"),
                "framing must be one of 'line', 'length', 'none'",
            ),
            (
                of("length").number("lengthBytes", 3),
                "lengthBytes must be 1, 2 or 4",
            ),
            (
                of("line").number("lengthBytes", 4),
                "lengthBytes is no option of this protocol",
            ),
            (
                of("none").flag("allowHttp", true),
                "allowHttp is no option of this protocol",
            ),
            (
                of("line").flag("asStream", true),
                "asStream is no option of this protocol",
            ),
        ] {
            let error = TcpOptions::read(&options).err().unwrap();
            assert_eq!(error.code(), "ERR_MILLRACE_INVALID_OPTION");
            assert_eq!(error.to_string(), problem);
        }
    }
}
