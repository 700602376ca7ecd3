//! A client that reads frames and inflates messages.

use millrace_protocol::websocket::deflate::{History, Inflater, WindowBits};

/// See the module.
#[derive(Debug)]
pub(super) struct Client {
    inflater: Inflater,
    history: History,
    /// Whether messages refer to earlier ones.
    pub(super) takeover: bool,
    rest: Vec<u8>,
    /// Messages that came compressed.
    pub(super) compressed: usize,
    /// The payloads of control frames, with their opcodes.
    pub(super) controls: Vec<(u8, Vec<u8>)>,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            inflater: Inflater::new(),
            history: History::new(WindowBits::MOST),
            takeover: false,
            rest: Vec::new(),
            compressed: 0,
            controls: Vec::new(),
        }
    }
}

impl Client {
    /// Takes bytes from the gateway; returns the messages that are complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.rest.extend_from_slice(bytes);
        let mut messages = Vec::new();
        while let Some((first, payload, end)) = frame(&self.rest) {
            let payload = payload.to_vec();
            self.rest.drain(..end);
            match first {
                0x81 | 0x82 => messages.push(payload),
                0xc1 | 0xc2 => {
                    let before = if self.takeover {
                        self.history.bytes()
                    } else {
                        &[]
                    };
                    let message = self.inflater.inflate(&payload, before, 1 << 30);
                    let message = message.expect("a valid message").into_vec();
                    self.compressed += 1;
                    self.history.push(&message);
                    messages.push(message);
                }
                0x88..=0x8a => self.controls.push((first & 15, payload)),
                _ => panic!("a frame begins with {first:x}"),
            }
        }
        messages
    }
}

/// The first byte of a frame, its payload, and where it ends.
fn frame(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let (length, start) = match second {
        126 => {
            let length: [u8; 2] = bytes.get(2..4)?.try_into().ok()?;
            (usize::from(u16::from_be_bytes(length)), 4)
        }
        127 => {
            let length: [u8; 8] = bytes.get(2..10)?.try_into().ok()?;
            (usize::try_from(u64::from_be_bytes(length)).ok()?, 10)
        }
        short => (usize::from(short), 2),
    };
    let payload = bytes.get(start..start + length)?;
    Some((first, payload, start + length))
}
