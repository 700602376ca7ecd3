//! A connection whose compressed messages refer to earlier ones: their text, and the messages that wait because that text
//! is with a compressing thread. Decides nothing about what is sent.

use std::collections::VecDeque;

use millrace_protocol::websocket::deflate::{History, WindowBits};

use crate::frame::{Late, Publication};

/// See the module.
#[derive(Debug)]
pub(crate) struct Takeover {
    window: WindowBits,
    /// `None` while a compressing thread has it.
    history: Option<Box<History>>,
    /// Messages that follow the one that is being compressed, in order.
    waiting: VecDeque<(Late, Publication)>,
}

impl Takeover {
    pub(crate) fn new(window: WindowBits) -> Self {
        Self {
            window,
            history: Some(Box::new(History::new(window))),
            waiting: VecDeque::new(),
        }
    }

    /// The text for the next message, if that can be compressed now.
    pub(crate) fn history(&mut self) -> Option<&mut History> {
        self.history.as_deref_mut()
    }

    /// Gives the text away, or takes it back.
    pub(crate) fn lend(&mut self) -> Option<Box<History>> {
        self.history.take()
    }

    pub(crate) fn take_back(&mut self, history: Box<History>) {
        self.history = Some(history);
    }

    /// Forgets the text: later messages do not refer to what came before.
    pub(crate) fn forget(&mut self) {
        self.history = Some(Box::new(History::new(self.window)));
    }

    /// Adds a message that has to wait.
    pub(crate) fn wait(&mut self, late: Late, publication: Publication) {
        self.waiting.push_back((late, publication));
    }

    /// The next message that waits, if the text is here.
    pub(crate) fn next(&mut self) -> Option<(Late, Publication)> {
        self.history.as_ref()?;
        self.waiting.pop_front()
    }

    /// Drops the messages that wait, because nothing is sent any more.
    pub(crate) fn drop_waiting(&mut self) {
        self.waiting = VecDeque::new();
    }
}
