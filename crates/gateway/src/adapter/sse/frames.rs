//! Takes messages of `millrace.v1` out of the frames that its session writes, and makes them events. Pure.

use std::fmt;

use millrace_protocol::sse::{self, Outcome, Pieces, Positions};
use millrace_protocol::websocket::{SentFrame, split_sent};

/// What becomes of the frames that the socket of a stream writes.
pub(super) struct Unframed {
    form: Form,
    /// The event of a long message whose bytes are not all taken.
    begun: Option<Pieces>,
    is_over: bool,
}

/// What the client understands.
enum Form {
    /// `millrace.v1`. The first message has the key.
    V1(Option<String>),
    /// The messages of channels, as plain events.
    Plain(Positions),
}

/// The outbox has cut a frame, which it never does.
#[derive(Debug)]
pub(super) struct Cut;

impl fmt::Debug for Unframed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unframed").field(&self.is_over).finish()
    }
}

impl Unframed {
    pub(super) fn v1(key: String) -> Self {
        Self::new(Form::V1(Some(key)))
    }

    pub(super) fn plain(positions: Positions) -> Self {
        Self::new(Form::Plain(positions))
    }

    fn new(form: Form) -> Self {
        Self {
            form,
            begun: None,
            is_over: false,
        }
    }

    /// What has become of the subscriptions of a stream of channels.
    pub(super) fn outcome(&self) -> Outcome {
        match &self.form {
            Form::V1(_) => Outcome::Settled,
            Form::Plain(positions) => positions.outcome(),
        }
    }

    /// Whether the stream ends with what was appended.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Appends events until `out` has `most` bytes or a short event more. Returns how many bytes of the frames it has taken; the
    /// others are to come again, in front. The first one is whole, or its rest is.
    pub(super) fn append(
        &mut self,
        frames: &[u8],
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, Cut> {
        let mut rest = frames;
        while !rest.is_empty() && out.len() < most {
            if self.is_over {
                rest = &[];
            } else if let Some(pieces) = &mut self.begun {
                let used = pieces.append(rest, most, out);
                rest = rest.get(used..).unwrap_or_default();
                if pieces.is_done() {
                    self.begun = None;
                }
            } else {
                let (frame, behind) = split_sent(rest).ok_or(Cut)?;
                self.begin(&frame, out);
                rest = match self.begun {
                    Some(_) => rest
                        .get(frame.whole.len() - frame.payload.len()..)
                        .ok_or(Cut)?,
                    None => behind,
                };
            }
        }
        Ok(frames.len() - rest.len())
    }

    /// Appends the event of a frame, or begins it if it is long.
    fn begin(&mut self, frame: &SentFrame<'_>, out: &mut Vec<u8>) {
        let (opcode, payload) = (frame.first & 0x0f, frame.payload);
        let (is_text, is_long) = (opcode == TEXT, payload.len() > SHORT_BYTES);
        match opcode {
            TEXT | BINARY => match &mut self.form {
                Form::V1(key) => {
                    let key = key.take();
                    if is_long {
                        self.begun = Some(Pieces::of_v1(is_text, payload, key.as_deref(), out));
                    } else {
                        sse::append_v1(out, is_text, payload, key.as_deref());
                    }
                }
                Form::Plain(positions) if is_long => {
                    self.begun = positions.pieces(is_text, payload, out);
                    self.is_over = self.begun.is_none();
                }
                Form::Plain(positions) => {
                    self.is_over = !positions.append(is_text, payload, out);
                }
            },
            CLOSE => {
                let (code, reason) = payload.split_at_checked(2).unwrap_or_default();
                let code = code.try_into().map_or(NO_CODE, u16::from_be_bytes);
                sse::append_close(out, code, &String::from_utf8_lossy(reason));
            }
            // a ping keeps the connection alive
            _ => sse::append_heartbeat(out),
        }
    }
}

/// The event of a longer message is made in pieces. A shorter one has at most seven times its bytes, if all are line ends.
const SHORT_BYTES: usize = 4 * 1024;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;

/// The code of a close without one.
const NO_CODE: u16 = 1005;

#[cfg(test)]
mod tests {
    use millrace_protocol::websocket::{Opcode, append_close, append_frame};

    use super::*;

    /// The events of frames, taken in pieces of `most` bytes.
    fn events(mut unframed: Unframed, frames: &[u8], most: usize) -> Vec<u8> {
        let (mut all, mut rest) = (Vec::new(), frames);
        while !rest.is_empty() {
            let mut out = Vec::new();
            let used = unframed.append(rest, most, &mut out).unwrap();
            assert!(used > 0);
            assert!(out.len() < most + SHORT_BYTES * 2, "{} bytes", out.len());
            rest = &rest[used..];
            all.append(&mut out);
        }
        all
    }

    fn frame(opcode: Opcode, payload: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        append_frame(&mut out, opcode, &payload.concat());
        out
    }

    #[test]
    fn frames_become_events_however_they_are_taken() {
        let long = "x".repeat(70_000);
        let mut close = Vec::new();
        append_close(&mut close, 4001, "gone");
        let frames = [
            frame(Opcode::Text, &[b"{\"t\":\"hi\"}"]),
            frame(Opcode::Ping, &[]),
            frame(Opcode::Binary, &[b"{}\n\0"]),
            frame(Opcode::Text, &[b"{}\n", &[b'y'; 200]]),
            frame(Opcode::Text, &[b"{}\n", long.as_bytes()]),
            close,
        ];
        let expected = [
            "data: {\"t\":\"hi\",\"k\":\"key\"}\n\n:\n\ndata: {\"b\":1}\ndata: AA==\n\n",
            &format!("data: {{}}\ndata: {}\n\n", "y".repeat(200)),
            &format!("data: {{}}\ndata: {long}\n\n"),
            "event: close\ndata: 4001 gone\n\n",
        ]
        .concat();
        for most in [1, 2, 3, 7, 1000, usize::MAX / 2] {
            let made = events(Unframed::v1("key".into()), &frames.concat(), most);
            assert!(made == expected.as_bytes(), "{most}");
        }
    }

    #[test]
    fn long_messages_are_exact_around_the_bounds_of_pieces() {
        let header = b"{\"c\":\"a\",\"o\":4}";
        for end in ["\n", "\r", "\r\n", "\n\r", "\u{e9}"] {
            for length in PIECE - 30..PIECE + 10 {
                let filler = vec![b'x'; length];
                let message = [&header[..], b"\n", &filler, end.as_bytes(), b"behind"].concat();
                for opcode in [Opcode::Text, Opcode::Binary] {
                    let is_text = matches!(opcode, Opcode::Text);
                    let frame = frame(opcode, &[&message]);
                    let mut expected = Vec::new();
                    sse::append_v1(&mut expected, is_text, &message, None);
                    let unframed = Unframed::new(Form::V1(None));
                    assert!(
                        events(unframed, &frame, PIECE) == expected,
                        "{length} {end:?}"
                    );
                    let plain = || Positions::new(vec!["a".into()], None);
                    let mut expected = Vec::new();
                    plain().append(is_text, &message, &mut expected);
                    let unframed = Unframed::plain(plain());
                    assert!(
                        events(unframed, &frame, PIECE) == expected,
                        "{length} {end:?}"
                    );
                }
            }
        }
    }

    const PIECE: usize = 16 * 1024;

    #[test]
    fn a_long_header_is_cut_as_well_and_nothing_follows_the_end() {
        let members = "m".repeat(100_000);
        let header = format!("{{\"t\":\"join\",\"m\":[\"{members}\"]}}");
        let join = frame(Opcode::Text, &[header.as_bytes()]);
        let made = events(Unframed::new(Form::V1(None)), &join, 1000);
        assert!(made == format!("data: {header}\n\n").as_bytes());
        let full = frame(
            Opcode::Text,
            &[b"{\"t\":\"err\",\"id\":0,\"code\":\"limit\"}"],
        );
        let plain = Unframed::plain(Positions::new(vec!["a".into()], None));
        let made = events(plain, &[join.clone(), full, join].concat(), 1000);
        assert_eq!(made, b"event: close\ndata: 1013\n\n");
    }

    #[test]
    fn a_frame_that_is_cut_is_an_error() {
        let frame = frame(Opcode::Text, &[b"{}\nabc"]);
        for end in 1..frame.len() {
            let mut unframed = Unframed::v1("key".into());
            let made = unframed.append(&frame[..end], 1000, &mut Vec::new());
            assert!(made.is_err());
        }
    }
}
