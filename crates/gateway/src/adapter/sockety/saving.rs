//! Files that come and are written to the file system, beside the event loop. Owns how far each is; knows no messages.

use std::sync::Arc;

use ahash::AHashMap;
use parking_lot::Mutex;

use super::saved_file::{Save, Written};
use super::waiting::Waiting;
use super::{disk, fields};
use crate::contract::{Context, Event, TransferId};

/// Those of one connection.
#[derive(Debug, Default)]
pub(super) struct Saves {
    all: AHashMap<TransferId, Save>,
    /// Those of which something was written since the last look; some may be forgotten.
    written: Arc<Mutex<Vec<TransferId>>>,
    /// Bytes that are being written.
    writing: usize,
}

impl Saves {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn has(&self, id: TransferId) -> bool {
        !self.all.is_empty() && self.all.contains_key(&id)
    }

    /// What waits of a transfer, and what comes, is written from now on.
    pub(super) fn begin(&mut self, id: TransferId, save: Save) {
        self.all.entry(id).or_insert(save);
    }

    /// Bytes that are being written.
    pub(super) fn writing_bytes(&self) -> usize {
        self.writing
    }

    /// Nobody wants it any more.
    pub(super) fn forget(&mut self, id: TransferId) {
        if let Some(save) = self.all.remove(&id) {
            self.writing -= save.writing();
        }
    }

    /// Writes what waits of a transfer, if nothing of it is being written.
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

    /// Something was written. Tells the worker, and goes on. Says which failed, of which nothing more is wanted.
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

/// The worker is told how much more of a file was written, whether that was the last of it, and what went wrong.
pub(super) fn told(
    id: TransferId,
    (bytes, last): (u64, bool),
    problem: &str,
    cx: &mut Context<'_>,
) {
    let fields = fields::of_saved(id, bytes, last);
    cx.report(Event::SocketyFileSaved, &fields, problem.as_bytes());
}

/// Bytes that are written at once, but for the last piece of them.
const AT_ONCE: usize = 256 * 1024;
