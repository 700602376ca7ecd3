//! Compressed messages of WebSocket (RFC 7692): what connections that share frames have agreed on, the frames, and the
//! compressors, which all threads use in turn.

use std::fmt;

use millrace_core::Kind;
use millrace_protocol::websocket::deflate::{Deflater, WindowBits};
use millrace_protocol::websocket::{self, Opcode};

use super::headed::HeadedDef;
use super::lead;
use super::message::Message;
use crate::stats::CompressionCounts;
use crate::sync::Mutex;

/// How messages to a connection are compressed. Connections with the same terms share frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CompressionTerms {
    /// The level of zlib, 0 to 9.
    pub(crate) level: u8,
    /// How far back matches may reach: what the client keeps.
    pub(crate) window: WindowBits,
    /// Shorter messages are sent as they are, in bytes.
    pub(crate) threshold: usize,
    /// Whether messages refer to earlier ones of the same connection, so that each connection has frames of its own.
    pub(crate) takeover: bool,
}

/// An encoding with compression: its terms, and the compressors that no thread uses now.
pub(crate) struct Compressed {
    pub(crate) terms: CompressionTerms,
    /// What goes in front of a payload before it is compressed.
    pub(super) head: Option<HeadedDef>,
    spare: Mutex<Vec<Compressor>>,
}

/// A compressor with its output.
struct Compressor {
    deflater: Deflater,
    out: Vec<u8>,
}

impl Compressed {
    pub(super) fn new(terms: CompressionTerms, head: Option<HeadedDef>) -> Self {
        Self {
            terms,
            head,
            spare: Mutex::default(),
        }
    }

    /// Whether a payload is long enough to be compressed.
    #[inline]
    pub(crate) fn takes(&self, payload: &[u8]) -> bool {
        payload.len() >= self.terms.threshold
    }

    /// The frame of a compressed message, in a buffer of its exact size; `None`: it would not be shorter. `history` is
    /// the plain text that the message may refer to.
    pub(crate) fn frame(
        &self,
        (kind, payload): (Kind, &[u8]),
        history: &[u8],
        counts: &CompressionCounts,
    ) -> Option<Vec<u8>> {
        self.with_deflated(payload, history, counts, |deflated| {
            let (head, size) = websocket::header(opcode(kind), deflated.len(), true);
            let mut frame = Vec::with_capacity(size + deflated.len());
            frame.extend_from_slice(head.get(..size).unwrap_or_default());
            frame.extend_from_slice(deflated);
            frame
        })
    }

    /// Appends a message for one socket, compressed if it is then shorter; returns whether it is compressed.
    pub(crate) fn append(
        &self,
        message: &Message<'_>,
        history: &[u8],
        counts: &CompressionCounts,
        out: &mut Vec<u8>,
    ) -> bool {
        let (kind, payload) = (message.kind, message.payload);
        let done = self.takes(payload).then(|| {
            self.with_deflated(payload, history, counts, |deflated| {
                let (head, size) = websocket::header(opcode(kind), deflated.len(), true);
                out.reserve(size + deflated.len());
                out.extend_from_slice(head.get(..size).unwrap_or_default());
                out.extend_from_slice(deflated);
            })
        });
        let is_compressed = done.flatten().is_some();
        if !is_compressed {
            lead::append_message(kind, payload, out);
        }
        is_compressed
    }

    /// Calls `take` with the compressed payload if it is shorter.
    fn with_deflated<R>(
        &self,
        payload: &[u8],
        history: &[u8],
        counts: &CompressionCounts,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let mut compressor = self.compressor();
        compressor.out.clear();
        compressor
            .deflater
            .append(payload, history, &mut compressor.out);
        let deflated = &compressor.out[..];
        let shorter = deflated.len() < payload.len();
        counts.count(payload.len(), deflated.len().min(payload.len()));
        let taken = shorter.then(|| take(deflated));
        self.put_back(compressor);
        taken
    }

    fn compressor(&self) -> Compressor {
        let spare = self.spare.lock().pop();
        // outside of the lock: making one takes long
        spare.unwrap_or_else(|| Compressor {
            deflater: Deflater::new(self.terms.level, self.terms.window),
            out: Vec::new(),
        })
    }

    fn put_back(&self, mut compressor: Compressor) {
        if compressor.out.capacity() > KEPT_OUT {
            compressor.out = Vec::new();
        }
        let mut spare = self.spare.lock();
        if spare.len() < MOST_SPARE {
            spare.push(compressor);
        }
    }
}

fn opcode(kind: Kind) -> Opcode {
    match kind {
        Kind::Text => Opcode::Text,
        Kind::Binary => Opcode::Binary,
    }
}

impl fmt::Debug for Compressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.terms.fmt(f)
    }
}

/// The most compressors that wait for their next use, each with about 300 KiB. Threads that find none make one.
const MOST_SPARE: usize = 8;

/// The largest output buffer that is kept.
const KEPT_OUT: usize = 64 * 1024;
