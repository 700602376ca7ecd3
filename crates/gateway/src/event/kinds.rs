//! Every number in the events between the gateway and JavaScript, with its name. This is the only list: `cargo xtask
//! generate` writes `js/src/worker/kinds.generated.ts` from it. Knows no layout.

use super::Handlers;

/// An enum whose variants have numbers; the text after `=>` is what JavaScript is shown instead of the number.
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

/// The events of single protocols. After `=>` comes the handler that an event calls, as in [`handlers`], with the
/// socket's id, its token, each word of the fields as a number, and the payload if there is one. The other events are
/// for JavaScript code of the protocol.
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

            /// The handler that it calls; `None`: it is for JavaScript code of the protocol.
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

/// The operations that a worker may ask of the session of one of its sockets.
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

        impl $name {
            /// Its number.
            pub(crate) const fn number(self) -> u32 {
                match self {
                    $($(#[cfg($when)])? Self::$variant => $number,)*
                }
            }
        }

        impl TryFrom<u32> for $name {
            type Error = u32;

            /// Finds an operation by its number, as JavaScript passes it.
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
        /// A connection opens.
        Open = 1;
        /// A text message.
        Text = 2;
        /// A binary message.
        Binary = 3;
        /// A connection is closed.
        Close = 4;
        /// A socket's outbox was congested and no longer is.
        Drain = 5;
        /// A request that needs an answer.
        Request = 6;
        /// A piece of a request's body.
        Piece = 7;
        /// A change in the state of a request or its answer.
        Turn = 8;
        /// An event of a protocol other than a message.
        Event = 9;
        /// A socket's outbox has become congested.
        Congested = 10;
    }
}

numbers! {
    /// Bits of a record's first word between its kind and its length.
    pub(super) enum Flag {
        /// The text is ASCII.
        Ascii = 1 << 4;
        /// The last piece of a body; bodies have no ASCII flag.
        Last = 1 << 4;
        /// The payload travels beside the batch; the record has its index and length.
        Sidecar = 1 << 5;
        /// The trailers behind the last piece of a request's body: `name\0value\0…`.
        Trailers = 1 << 6;
    }
}

numbers! {
    /// A change in the state of a request or its answer.
    pub(crate) enum Turn {
        /// The client left before the answer was complete.
        Aborted = 1;
        /// The answer did not begin in time.
        Late = 2;
        /// Few bytes of the answer are left to write.
        Room = 3;
        /// The request's body is larger than allowed.
        TooLarge = 4;
        /// The request's body broke off.
        Broken = 5;
        /// The client sends nothing more, but may still read.
        Left = 6;
    }
}

numbers! {
    /// How a socket's bytes are transported.
    pub(crate) enum Transport {
        /// A WebSocket.
        WebSocket = 0 => "websocket";
        /// Server-Sent Events, in one direction.
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
    CONGESTED = 1 << 11 => "handleCongested";
}

events! {
    /// An event of a protocol other than a message.
    pub(crate) enum Event {
        /// The peer has sent its last byte.
        End = 1 => END = 1 << 6 => "handleEnd";
        /// The head of a Sockety message or response, with its data if that is the only content and arrived at once.
        SocketyMessage = 2 => SOCKETY_MESSAGE = 1 << 7 => "handleSocketyMessage";
        /// A file of a Sockety message begins.
        SocketyFile = 3;
        /// The peer aborts a Sockety message.
        SocketyAbort = 4;
        /// A Sockety fast reply.
        SocketyFastReply = 5;
        /// The peer is going to disconnect soon.
        SocketyGoAway = 6;
        /// Something that the worker asked to send cannot be sent, or not completely. A payload says that no channel is
        /// left.
        SocketyRefused = 7;
        /// A message whose contents follow has begun: these are its transfers.
        SocketyBegan = 8;
        /// Everything that was sent before the last note has been written.
        SocketyWritten = 9;
        /// The peer sends nothing more; the field says whether that cut something off.
        SocketyEnd = 10;
        /// A Sockety connection has opened: the id of its listener or dial, and its peer.
        SocketyOpened = 11;
        /// The peer's header has arrived. The field is the number of bytes that may wait for the peer.
        SocketyReady = 12;
        /// The peer was silent for too long; the connection is about to close.
        SocketyTimeout = 13;
        /// This many heartbeats arrived.
        SocketyHeartbeat = 14;
        /// A file on disk was sent completely, or could not be sent.
        SocketyFileSent = 15;
        /// More of a file was written to disk, or could not be written.
        SocketyFileSaved = 16;
        /// A splice client asks for a target: the number of the call, the URL and the headers.
        SpliceConnect = 17 => SPLICE_CONNECT = 1 << 8 => "handleSpliceConnect";
        /// A raw TCP connection has opened as a stream: the id of its listener or dial, and its peer.
        TcpOpened = 18;
        /// Everything that was written to a raw TCP stream before its last note has been sent.
        TcpWritten = 19;
        /// A ping of a WebSocket's client.
        WebSocketPing = 20 => PING = 1 << 12 => "handlePing";
        /// A pong of a WebSocket's client that is not empty.
        WebSocketPong = 21 => PONG = 1 << 13 => "handlePong";
        /// A large message has begun to arrive: whether it is binary, and its transfer.
        MessageStream = 22 => MESSAGE_STREAM = 1 << 14 => "handleMessageStream";
        /// A client of `millrace.v1` wants to subscribe itself.
        V1Subscribe = 23 => SUBSCRIBE = 1 << 15 => "handleSubscribe";
        /// A client of `millrace.v1` wants to publish.
        V1Publish = 24 => PUBLISH = 1 << 16 => "handlePublish";
        /// A client of `millrace.v1` calls a method.
        V1Call = 25 => CALL = 1 << 17 => "handleCall";
        /// An event of the test protocol.
        #[cfg(test)]
        Probe = 0xffff;
    }
}

operations! {
    /// What a worker asks of a socket's protocol apart from messages and closes.
    pub enum Operation {
        /// Send a Sockety message or response with its data.
        SocketySend = 1;
        /// Send a Sockety fast reply.
        SocketyFastReply = 2;
        /// Report when everything that was sent before is written.
        SocketyNote = 3;
        /// Send the head of a Sockety message or response whose data, files and stream follow as transfers.
        SocketyBegin = 4;
        /// Send heartbeats.
        SocketyHeartbeat = 5;
        /// Close the connection at once, even if something waits to be sent.
        SocketyCut = 6;
        /// Use a file on disk as a file of a message that has begun.
        SocketyFile = 7;
        /// Write the rest of an incoming file to disk.
        SocketySave = 8;
        /// Send a complete Sockety message or response whose data is shared and not copied.
        SocketySendShared = 9;
        /// Answer whether a splice client gets the target that it asked for, or which one instead.
        SpliceAnswer = 10;
        /// Write bytes to a raw TCP stream. Non-empty fields are a note: report when these bytes, and everything
        /// written before, have been sent.
        TcpWrite = 11;
        /// Close a raw TCP stream when everything written has been sent.
        TcpClose = 12;
        /// Send a WebSocket ping with the payload.
        WebSocketPing = 13;
        /// Answer what a client of `millrace.v1` has asked a handler for.
        V1Answer = 14;
        /// An operation of the test protocol.
        #[cfg(test)]
        Probe = 0xffff;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    events! {
        /// Example events.
        pub(crate) enum Example {
            /// Calls a handler.
            Calling = 1 => ANY = 1 << 9 => "handleAny";
            /// Calls no handler.
            Silent = 2;
        }
    }

    #[test]
    fn an_event_has_a_number_a_name_and_optionally_a_handler() {
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
