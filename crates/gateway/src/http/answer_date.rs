//! The value of `Date`, formatted once a second per shard.

use std::cell::{Cell, RefCell};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::shard::Part;
use crate::socket::env::Env;

/// See the module.
pub(super) struct AnswerDate {
    text: RefCell<String>,
    /// The shard's time from which it has to be formatted again.
    until: Cell<u64>,
}

impl AnswerDate {
    /// Appends the value for this time of the shard.
    pub(super) fn append(&self, now: u64, out: &mut Vec<u8>) {
        if now >= self.until.get() {
            self.format(now);
        }
        out.extend_from_slice(self.text.borrow().as_bytes());
    }

    #[cold]
    fn format(&self, now: u64) {
        let time = SystemTime::now();
        let passed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let left = 1000 - u64::from(passed.subsec_millis());
        *self.text.borrow_mut() = httpdate::fmt_http_date(time);
        self.until.set(now.saturating_add(left));
    }
}

impl Part for AnswerDate {
    fn new(_: &Env) -> Self {
        Self {
            text: RefCell::default(),
            until: Cell::new(0),
        }
    }
}
