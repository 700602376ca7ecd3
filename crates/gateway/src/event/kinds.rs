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
    /// The kind of a record: the low four bits of its first word.
    pub(crate) enum RecordKind {
        /// A connection.
        Open = 1;
        /// A text message.
        Text = 2;
        /// A binary message.
        Binary = 3;
        /// A connection is closed.
        Close = 4;
        /// A socket's outbox was congested and no longer is.
        Drain = 5;
        /// A request that waits for an answer.
        Request = 6;
        /// A piece of a request's body.
        Piece = 7;
        /// A report about a request or its answer.
        Turn = 8;
        /// An event of a protocol other than a message.
        Event = 9;
    }
}

numbers! {
    /// Bits of a record's first word between its kind and its length.
    pub(super) enum Flag {
        /// The text is ASCII.
        Ascii = 1 << 4;
        /// The last piece of a body. Bodies are not text, so the bit is free for this.
        Last = 1 << 4;
        /// The payload is passed beside the batch; the record has its index and length.
        Sidecar = 1 << 5;
        /// The record has the trailers after the last piece of a request's body: `name\0value\0…`.
        Trailers = 1 << 6;
    }
}

numbers! {
    /// A report about a request or its answer.
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
    /// The transport of a socket.
    pub(crate) enum Transport {
        /// A WebSocket.
        WebSocket = 0 => "websocket";
        /// Server-Sent Events, which only the server sends.
        EventStream = 1 => "sse";
        /// Raw TCP.
        Tcp = 2 => "tcp";
        /// Messages and responses of Sockety.
        Sockety = 3 => "sockety";
        /// A splice session.
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
    /// An event of a protocol other than a message.
    pub(crate) enum Event {
        /// The peer has sent its last byte.
        End = 1 => END = 1 << 6 => "handleEnd";
        /// The head of a message or a response of Sockety, with its data if that is all of it and arrived together with the head.
        SocketyMessage = 2 => SOCKETY_MESSAGE = 1 << 7 => "handleSocketyMessage";
        /// A file of a message of Sockety begins.
        SocketyFile = 3;
        /// The peer aborts a message of Sockety.
        SocketyAbort = 4;
        /// A fast reply of Sockety.
        SocketyFastReply = 5;
        /// The peer is going to disconnect soon.
        SocketyGoAway = 6;
        /// A message of the worker could not be sent, or not completely. A payload means that no channel is left.
        SocketyRefused = 7;
        /// A message with contents has begun. The fields have the transfers of these.
        SocketyBegan = 8;
        /// Everything that was sent before the last note is written.
        SocketyWritten = 9;
        /// The peer sends nothing more. The field tells whether a message was cut off.
        SocketyEnd = 10;
        /// A Sockety connection is open. The fields have its listener, or the call that dialled, and its peer.
        SocketyOpened = 11;
        /// The header of the peer has arrived. The field has the number of bytes that may wait for the peer.
        SocketyReady = 12;
        /// The peer was silent for too long. The connection is closed after this.
        SocketyTimeout = 13;
        /// Heartbeats have arrived. The field has their number.
        SocketyHeartbeat = 14;
        /// A file was read and sent completely, or that failed.
        SocketyFileSent = 15;
        /// More of a file was written to the file system, or that failed.
        SocketyFileSaved = 16;
        /// A client of splice asks for a target. The fields have the call's number, the payload its URL and headers.
        SpliceConnect = 17 => SPLICE_CONNECT = 1 << 8 => "handleSpliceConnect";
        /// A raw TCP connection is open as a stream. The fields have its listener and its peer.
        TcpOpened = 18;
        /// Everything that was written to a stream of raw TCP before the last note has been sent.
        TcpWritten = 19;
        /// Of the protocol that tests have.
        #[cfg(test)]
        Probe = 0xffff;
    }
}

operations! {
    /// Instructions of a worker to a socket's protocol, other than messages and closes.
    pub enum Operation {
        /// A message or a response of Sockety with its data.
        SocketySend = 1;
        /// A fast reply of Sockety.
        SocketyFastReply = 2;
        /// Report when everything that was sent before is written.
        SocketyNote = 3;
        /// The head of a message or a response of Sockety. Its data, files and stream follow as transfers.
        SocketyBegin = 4;
        /// A heartbeat.
        SocketyHeartbeat = 5;
        /// End the connection at once, without sending what is queued.
        SocketyCut = 6;
        /// Read a file of a message that has begun from the file system, and send it.
        SocketyFile = 7;
        /// Write the rest of a file that is being received to the file system.
        SocketySave = 8;
        /// A message or a response of Sockety in one piece, with data that is not copied.
        SocketySendShared = 9;
        /// The answer to a client of splice: accepted, refused, or another target.
        SpliceAnswer = 10;
        /// Bytes for a stream of raw TCP. If there are fields, whatever they hold, report when these bytes and everything before
        /// have been sent.
        TcpWrite = 11;
        /// End a stream of raw TCP when everything written has been sent.
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
