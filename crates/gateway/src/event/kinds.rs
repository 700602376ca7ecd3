//! Every number that passes between the gateway and JavaScript in events, with its name. The only list: `cargo xtask
//! generate` writes `js/src/worker/kinds.generated.ts` from it. Knows no layout.

use super::Handlers;

/// An enum whose variants have numbers; behind `=>` stands what JavaScript is shown in place of the number.
macro_rules! numbers {
    (
        $(#[doc = $about:literal])*
        $visible:vis enum $name:ident {
            $(
                $(#[doc = $note:literal])*
                $variant:ident = $number:expr $(=> $text:literal)?;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $name {
            $(
                $(#[doc = $note])*
                $(#[doc = concat!("`'", $text, "'` in JavaScript.")])?
                $variant,
            )*
        }

        impl $name {
            pub(super) const fn number(self) -> u32 {
                match self {
                    $(Self::$variant => $number,)*
                }
            }
        }
    };
}

/// The handlers, by bit and by name in a worker's module.
macro_rules! handlers {
    ($($handler:ident = $bit:expr => $name:literal;)*) => {
        impl Handlers {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $handler: Self = Self::bit($bit);
            )*
        }
    };
}

/// The events of single protocols. Behind `=>` stands the handler that one calls, as in [`handlers`]: with the socket's id,
/// its token, each word of the fields as a number, and the payload if there is one. The others are for the protocol's own
/// code in JavaScript.
macro_rules! events {
    (
        $(#[doc = $about:literal])*
        pub(crate) enum $name:ident {
            $(
                $(#[doc = $note:literal])*
                $(#[cfg($when:ident)])?
                $variant:ident = $number:expr $(=> $handler:ident = $bit:expr => $handler_name:literal)?;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[doc = $note])* $(#[cfg($when)])? $variant,)*
        }

        #[cfg_attr(not(test), expect(dead_code, reason = "no protocol has events of its own yet"))]
        impl $name {
            pub(crate) const fn number(self) -> u32 {
                match self {
                    $($(#[cfg($when)])? Self::$variant => $number,)*
                }
            }

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $($(#[cfg($when)])? Self::$variant => stringify!($variant),)*
                }
            }

            /// The handler that it calls; none: it is for the protocol's own code in JavaScript.
            pub(crate) const fn handler(self) -> Option<Handlers> {
                match self {
                    $($(#[cfg($when)])? Self::$variant => {
                        let handlers: &[Handlers] = &[$(Handlers::$handler)?];
                        handlers.first().copied()
                    })*
                }
            }
        }

        $($(handlers! { $handler = $bit => $handler_name; })?)*
    };
}

/// What a worker may tell the session of one of its sockets.
macro_rules! operations {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident {
            $($(#[doc = $note:literal])* $(#[cfg($when:ident)])? $variant:ident = $number:expr;)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[doc = $note])* $(#[cfg($when)])? $variant,)*
        }

        impl TryFrom<u32> for $name {
            type Error = u32;

            /// By its number, as JavaScript has it.
            fn try_from(number: u32) -> Result<Self, u32> {
                $($(#[cfg($when)])? if number == $number {
                    return Ok(Self::$variant);
                })*
                Err(number)
            }
        }
    };
}

numbers! {
    /// What a record tells: the low four bits of its first word.
    pub(crate) enum RecordKind {
        /// A connection.
        Open = 1;
        /// A text message.
        Text = 2;
        /// A binary message.
        Binary = 3;
        /// A connection is gone.
        Close = 4;
        /// A socket's outbox was congested and no longer is.
        Drain = 5;
        /// A request to be answered.
        Request = 6;
        /// A piece of a request's body.
        Piece = 7;
        /// What became of a request or its answer.
        Turn = 8;
        /// What a protocol tells beside messages.
        Event = 9;
    }
}

numbers! {
    /// Bits of a record's first word between its kind and its length.
    pub(super) enum Flag {
        /// The text is ASCII.
        Ascii = 1 << 4;
        /// The last piece of a body; bodies are no text.
        Last = 1 << 4;
        /// The payload travels beside the batch; here are its index and length.
        Sidecar = 1 << 5;
        /// Not a piece of a request's body, but the trailers behind its last one: `name\0value\0…`.
        Trailers = 1 << 6;
    }
}

numbers! {
    /// What became of a request or its answer.
    pub(crate) enum Turn {
        /// The client left before the answer was complete.
        Aborted = 1;
        /// The answer did not begin in time.
        Late = 2;
        /// Few bytes of the answer are left to be written.
        Room = 3;
        /// The request's body is larger than allowed.
        TooLarge = 4;
        /// The request's body broke off.
        Broken = 5;
        /// The client sends nothing more; it may still read.
        Left = 6;
    }
}

numbers! {
    /// How a socket's bytes travel.
    pub(crate) enum Transport {
        /// As a WebSocket.
        WebSocket = 0 => "websocket";
        /// One way, as Server-Sent Events.
        EventStream = 1 => "sse";
        /// As raw TCP.
        Tcp = 2 => "tcp";
        /// As messages and responses of Sockety.
        Sockety = 3 => "sockety";
        /// As a splice session.
        Splice = 4 => "splice";
    }
}

handlers! {
    OPEN = 1 << 0 => "handleOpen";
    TEXT = 1 << 1 => "handleTextMessage";
    BINARY = 1 << 2 => "handleBinaryMessage";
    CLOSE = 1 << 3 => "handleClose";
    DRAIN = 1 << 4 => "handleDrain";
    REQUEST = 1 << 5 => "fetch";
    NODE_REQUEST = 1 << 10 => "nodeListener";
}

events! {
    /// What a protocol tells beside messages.
    pub(crate) enum Event {
        /// The peer has sent its last byte.
        End = 1 => END = 1 << 6 => "handleEnd";
        /// The head of a message or a response of Sockety, with its data where there is nothing else and it came at once.
        SocketyMessage = 2 => SOCKETY_MESSAGE = 1 << 7 => "handleSocketyMessage";
        /// A file of a message of Sockety begins.
        SocketyFile = 3;
        /// The peer gives a message of Sockety up.
        SocketyAbort = 4;
        /// A fast reply of Sockety.
        SocketyFastReply = 5;
        /// The peer will disconnect soon.
        SocketyGoAway = 6;
        /// What the worker told the session to send cannot be sent, or not to its end. A payload says that no channel is left.
        SocketyRefused = 7;
        /// A message whose contents are to come has begun: by these transfers.
        SocketyBegan = 8;
        /// Everything that was sent before the last note is written.
        SocketyWritten = 9;
        /// The peer sends nothing more, and whether that cut something off.
        SocketyEnd = 10;
        /// A connection of Sockety is there: by whose terms, and who its peer is.
        SocketyOpened = 11;
        /// The header of its peer has come. The field: the bytes that may wait for it.
        SocketyReady = 12;
        /// Its peer was silent for too long; the end follows.
        SocketyTimeout = 13;
        /// So many signs of life came that say nothing else.
        SocketyHeartbeat = 14;
        /// A file of the file system was sent, all of it, or could not be.
        SocketyFileSent = 15;
        /// More of a file was written to the file system, or could not be.
        SocketyFileSaved = 16;
        /// A client of splice wants a target: by this number, with this URL and these headers.
        SpliceConnect = 17 => SPLICE_CONNECT = 1 << 8 => "handleSpliceConnect";
        /// A connection of raw TCP is there, as a stream: by whose terms, and who its peer is.
        TcpOpened = 18;
        /// All that was written to a stream of raw TCP before its last note has left.
        TcpWritten = 19;
        /// Of the protocol that tests have.
        #[cfg(test)]
        Probe = 0xffff;
    }
}

operations! {
    /// What a worker tells a socket's protocol beside messages and closes.
    pub enum Operation {
        /// A message or a response of Sockety with its data.
        SocketySend = 1;
        /// A fast reply of Sockety.
        SocketyFastReply = 2;
        /// To be told when everything that was sent before is written.
        SocketyNote = 3;
        /// The head of a message or a response of Sockety, whose data, files and stream come as transfers.
        SocketyBegin = 4;
        /// Signs of life that say nothing else.
        SocketyHeartbeat = 5;
        /// To end the connection at once, whatever waits.
        SocketyCut = 6;
        /// A file of a message that has begun: what is in a file of the file system.
        SocketyFile = 7;
        /// To write the rest of a file that comes to a file of the file system.
        SocketySave = 8;
        /// A message or a response of Sockety as it is sent at once, with data that is not copied.
        SocketySendShared = 9;
        /// Whether a client of splice gets the target that it wants, or which one.
        SpliceAnswer = 10;
        /// Bytes for a stream of raw TCP. Fields, whatever they are, are a note: to be told when these bytes, and all that was
        /// written before, have left.
        TcpWrite = 11;
        /// To end a stream of raw TCP when all that was written has left.
        TcpClose = 12;
        /// Of the protocol that tests have.
        #[cfg(test)]
        Probe = 0xffff;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    events! {
        /// Some.
        pub(crate) enum Example {
            /// It calls one.
            Calling = 1 => ANY = 1 << 9 => "handleAny";
            /// It calls none.
            Silent = 2;
        }
    }

    #[test]
    fn an_event_has_a_number_a_name_and_perhaps_a_handler() {
        let numbers = [Example::Calling, Example::Silent].map(Example::number);
        assert_eq!(numbers, [1, 2]);
        assert_eq!(Example::Calling.name(), "Calling");
        assert_eq!(Example::Calling.handler(), Some(Handlers::ANY));
        assert_eq!(Example::Silent.handler(), None);
        assert_eq!(
            (Event::Probe.number(), Event::Probe.name()),
            (0xffff, "Probe")
        );
        assert_eq!(Event::Probe.handler(), None);
    }

    #[test]
    fn operations_are_found_by_their_numbers() {
        assert_eq!(Operation::try_from(0xffff), Ok(Operation::Probe));
        assert_eq!(Operation::try_from(0), Err(0));
    }
}
