//! The incoming files of one connection that are written to disk on the blocking pool. Owns the progress of each; knows
//! no messages.

use std::sync::Arc;

use ahash::AHashMap;
use parking_lot::Mutex;

use super::saved_file::{Save, Written};
use super::waiting::Waiting;
use super::{disk, fields};
use crate::contract::{Context, Event, TransferId};

/// The files of one connection.
#[derive(Debug, Default)]
pub(super) struct Saves {
    all: AHashMap<TransferId, Save>,
    /// The files with a finished write since the last look; some may have been given up since.
    written: Arc<Mutex<Vec<TransferId>>>,
    /// The bytes that are being written.
    writing: usize,
}

impl Saves {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn has(&self, id: TransferId) -> bool {
        !self.all.is_empty() && self.all.contains_key(&id)
    }

    /// From now on, waiting and later bytes of the transfer are written to disk.
    pub(super) fn begin(&mut self, id: TransferId, save: Save) {
        self.all.entry(id).or_insert(save);
    }

    /// The bytes that are being written.
    pub(super) fn writing_bytes(&self) -> usize {
        self.writing
    }

    /// Gives a file up.
    pub(super) fn forget(&mut self, id: TransferId) {
        if let Some(save) = self.all.remove(&id) {
            self.writing -= save.writing();
        }
    }

    /// Writes the waiting bytes of a transfer, unless a write of it is in progress.
    pub(super) fn write(&mut self, id: TransferId, waiting: &mut Waiting, cx: &mut Context<'_>) {
        let Some(save) = self.all.get_mut(&id).filter(|save| save.is_idle()) else {
            return;
        };
        let (mut bytes, mut ended) = (Vec::new(), false);
        while bytes.len() < AT_ONCE
            && !ended
            && let Some((piece, last)) = waiting.take(id, usize::MAX)
        {
            ended = last;
            if bytes.is_empty() {
                bytes = piece;
            } else {
                bytes.extend_from_slice(&piece);
            }
        }
        if !bytes.is_empty() || ended {
            self.writing += bytes.len();
            let (written, waker) = (Arc::clone(&self.written), cx.waker());
            save.write(bytes, ended, move || {
                written.lock().push(id);
                waker.wake();
            });
        }
    }

    /// Reports finished writes to the worker and starts the next ones. Returns the transfers that failed, which are
    /// then discarded.
    pub(super) fn look(&mut self, waiting: &mut Waiting, cx: &mut Context<'_>) -> Vec<TransferId> {
        let mut failed = Vec::new();
        if self.is_empty() {
            return failed;
        }
        let written = std::mem::take(&mut *self.written.lock());
        for id in written {
            let Some(save) = self.all.get_mut(&id) else {
                continue;
            };
            let bytes = save.writing();
            let looked = save.look();
            if looked.is_some() {
                self.writing -= bytes;
            }
            match looked {
                None => {}
                Some(Ok(Written { bytes, last })) => {
                    told(id, (bytes, last), "", cx);
                    if last {
                        self.forget(id);
                        cx.close_transfer(id);
                    } else {
                        self.write(id, waiting, cx);
                    }
                }
                Some(Err(error)) => {
                    told(id, (0, true), &disk::told(&error), cx);
                    failed.push(id);
                }
            }
        }
        failed
    }
}

/// Tells the worker how many bytes of a file were written, whether that was the last write, and the error if there was
/// one.
pub(super) fn told(
    id: TransferId,
    (bytes, last): (u64, bool),
    problem: &str,
    cx: &mut Context<'_>,
) {
    let fields = fields::of_saved(id, bytes, last);
    cx.report(Event::SocketyFileSaved, &fields, problem.as_bytes());
}

/// Bytes that one write gathers, apart from its last piece.
const AT_ONCE: usize = 256 * 1024;
