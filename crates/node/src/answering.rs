//! What the handlers of a worker answer from: the list of their replies, and the batch whose texts they may send on
//! unchanged. Owns the batch until every record of it is handled; never decodes a record.

use std::cell::RefCell;

use millrace_gateway::{AnswerHeads, Batch, Forwardable, Gateway, TextPlace};

use crate::memory::Memory;
use crate::texts::Texts;

/// See the module. One for each worker, on its thread.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    /// Where JavaScript lists the replies that handlers sent, until the worker has ended.
    pub(crate) list: RefCell<Option<Memory>>,
    /// The current batch, kept until every record is handled, because JavaScript may request it again.
    pub(crate) batch: RefCell<Option<Batch>>,
    /// The long texts of the current batch.
    pub(crate) texts: RefCell<Texts>,
    /// The heads of the latest answers to requests.
    pub(crate) heads: RefCell<AnswerHeads>,
}

/// A text of the current batch.
pub(crate) enum Received<'a> {
    Short(&'a [u8]),
    Long(&'a Forwardable),
}

impl Answering {
    /// Takes the batch, which is handled.
    pub(crate) fn take_batch(&self) -> Option<Batch> {
        self.texts.borrow_mut().clear();
        self.batch.take()
    }
}

/// The text of the record that begins at this word of the batch.
pub(crate) fn received<'a>(
    batch: Option<&'a Batch>,
    texts: &'a mut Texts,
    word: usize,
    gateway: &Gateway,
) -> Option<Received<'a>> {
    match batch?.text_at(word)? {
        TextPlace::Inline(text) => Some(Received::Short(text)),
        TextPlace::Beside(index) => texts
            .forwardable(index, |text| gateway.forwardable(text))
            .map(Received::Long),
    }
}
