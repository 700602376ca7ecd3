//! Takes messages of `millrace.v1` out of the frames that its session writes, and makes them events. Pure.

use millrace_protocol::sse::{self, Positions};
use millrace_protocol::websocket::split_sent;

/// What the body of a stream does with what its socket writes.
pub(super) struct Unframed {
    /// The part of a frame that has arrived. As long as a message at most, which the server itself has made.
    part: Vec<u8>,
    form: Form,
    is_over: bool,
}

/// What the client understands.
enum Form {
    /// `millrace.v1`. The first message has the key.
    V1(Option<String>),
    /// The messages of channels, as plain events.
    Plain(Positions),
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
            part: Vec::new(),
            form,
            is_over: false,
        }
    }

    /// Whether the stream ends with what was appended.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Appends the events of all frames that are complete.
    pub(super) fn append(&mut self, written: &[u8], out: &mut Vec<u8>) {
        self.part.extend_from_slice(written);
        let part = std::mem::take(&mut self.part);
        let mut rest = &part[..];
        while let Some((frame, behind)) = split_sent(rest) {
            let (opcode, payload) = (frame.first & 0x0f, frame.payload);
            rest = behind;
            if self.is_over {
                continue;
            }
            self.append_event(opcode, payload, out);
        }
        // what is left of a long frame is not moved, and its memory is not kept
        self.part = if rest.len() == part.len() {
            part
        } else {
            rest.to_vec()
        };
    }

    fn append_event(&mut self, opcode: u8, payload: &[u8], out: &mut Vec<u8>) {
        match opcode {
            TEXT | BINARY => match &mut self.form {
                Form::V1(key) => {
                    sse::append_v1(out, opcode == TEXT, payload, key.take().as_deref());
                }
                Form::Plain(positions) => {
                    self.is_over |= !positions.append(opcode == TEXT, payload, out);
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

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;

/// The code of a close without one.
const NO_CODE: u16 = 1005;

#[cfg(test)]
mod tests {
    use millrace_protocol::websocket::{Opcode, append_close, append_frame};

    use super::*;

    #[test]
    fn frames_become_events_however_they_are_cut() {
        let long = [&b"{}\n"[..], &vec![b'x'; 70_000]].concat();
        let mut frames = Vec::new();
        append_frame(&mut frames, Opcode::Text, b"{\"t\":\"hi\"}");
        append_frame(&mut frames, Opcode::Ping, b"");
        append_frame(&mut frames, Opcode::Binary, b"{}\n\0");
        append_frame(
            &mut frames,
            Opcode::Text,
            &[b"{}\n", &[b'y'; 200][..]].concat(),
        );
        append_frame(&mut frames, Opcode::Text, &long);
        append_close(&mut frames, 4001, "gone");
        let expected = [
            "data: {\"t\":\"hi\",\"k\":\"key\"}\n\n:\n\ndata: {\"b\":1}\ndata: AA==\n\n",
            &format!("data: {{}}\ndata: {}\n\n", "y".repeat(200)),
            &format!("data: {{}}\ndata: {}\n\n", "x".repeat(70_000)),
            "event: close\ndata: 4001 gone\n\n",
        ]
        .concat();
        for piece in [1, 2, 3, 7, 1000, frames.len()] {
            let mut unframed = Unframed::v1("key".into());
            let mut out = Vec::new();
            for bytes in frames.chunks(piece) {
                unframed.append(bytes, &mut out);
            }
            assert!(out == expected.as_bytes(), "{piece}");
        }
    }
}
