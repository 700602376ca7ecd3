//! Tests a Sockety session: files on disk on their way to the peer.

use std::fs;
use std::path::PathBuf;

use millrace_protocol::sockety::{Decoder, DecoderConfig, Item};

use super::harness::Harness;
use super::sockety::{hear, opened_within};
use super::sockety_down::begin;
use crate::limits::GatewayLimits;

/// Numbers of operations.
const FILE: u32 = 7;

const PIECE: usize = 256 * 1024;

/// A file on disk, for one test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, length: usize) -> Self {
        let name = format!("millrace-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, vec![7; length]).unwrap();
        Self(path)
    }

    /// Begins a message with this many bytes of it as its file.
    fn send(&self, harness: &Harness, size: usize) {
        let size = u64::try_from(size).unwrap();
        let id = begin(harness, 0, 0, &[("file", size)])[0];
        let fields = [id.get().to_le_bytes(), size.to_le_bytes()].concat();
        let path = self.0.to_str().unwrap().as_bytes();
        assert!(harness.tell_operation(FILE, &fields, path));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.0);
    }
}

/// What arrived of files, by channel: the bytes, and the order in which they ended.
#[derive(Default)]
struct Heard {
    bytes: Vec<(u16, usize)>,
    ended: Vec<u16>,
}

/// A peer that reads this many bytes at a time, until this many files have ended.
async fn hear_files(harness: &Harness, at_once: usize, count: usize) -> Heard {
    let (mut decoder, mut wire) = (Decoder::new(), vec![0xe3]);
    let mut heard = Heard::default();
    while heard.ended.len() < count {
        harness.peer.borrow_mut().room = at_once;
        harness.take_posted();
        harness.drive();
        wire.extend(harness.written_bytes());
        let mut input = &wire[..];
        while let Some(item) = decoder.next(&mut input, &DecoderConfig::default()).unwrap() {
            match item {
                Item::File { channel, bytes, .. } => heard.bytes.push((channel, bytes.len())),
                Item::FileEnd { channel, .. } => heard.ended.push(channel),
                _ => {}
            }
        }
        wire = input.to_vec();
        let is_live = harness.connection.io.borrow().is_live();
        assert!(is_live, "the connection is not closed");
        tokio::task::yield_now().await;
    }
    heard
}

/// A session whose peer reads nothing yet.
fn ready(outbox_bytes: usize) -> Harness {
    let limits = GatewayLimits {
        outbox_bytes,
        ..GatewayLimits::default()
    };
    let harness = opened_within(limits, 1 << 20);
    hear(&harness, &[0xe3]);
    harness.peer.borrow_mut().room = 0;
    harness
}

#[tokio::test]
async fn a_large_file_does_not_hold_up_others() {
    let (large, other) = (
        Place::new("large", 40 * PIECE),
        Place::new("other", 4 * PIECE),
    );
    let harness = ready(4 << 20);
    large.send(&harness, 40 * PIECE);
    other.send(&harness, 4 * PIECE);
    let heard = hear_files(&harness, 50_000, 2).await;
    assert_eq!(
        heard.ended,
        [2, 1],
        "the short one is not behind the long one"
    );
    let total: usize = heard.bytes.iter().map(|(_, length)| length).sum();
    assert_eq!(total, 44 * PIECE);
}

#[tokio::test]
async fn a_small_outbox_takes_files_as_fast_as_the_peer_reads() {
    for outbox_bytes in [1, 65_536, PIECE, PIECE + 1000] {
        let place = Place::new("outbox", 5 * PIECE + 10);
        let harness = ready(outbox_bytes);
        place.send(&harness, 5 * PIECE + 10);
        let heard = hear_files(&harness, 70_000, 1).await;
        let total: usize = heard.bytes.iter().map(|(_, length)| length).sum();
        assert_eq!(total, 5 * PIECE + 10, "{outbox_bytes}");
    }
}

#[tokio::test]
async fn short_files_are_sent_while_long_ones_wait() {
    let (large, short) = (Place::new("many", 20 * PIECE), Place::new("short", 10));
    let harness = ready(4 << 20);
    for _ in 0..5 {
        large.send(&harness, 20 * PIECE);
    }
    for _ in 0..3 {
        short.send(&harness, 10);
    }
    let heard = hear_files(&harness, 200_000, 8).await;
    assert_eq!(heard.ended[..3], [6, 7, 8]);
}
