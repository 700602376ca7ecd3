//! How many pages are read from the server at a time. Owns the estimate of how long the next ones are. Pure.

use redis::Value;

use super::super::publication::HEAD_BYTES;
use super::super::scripts::PAGE_BYTES;

/// See the module. A page has so many bytes, or one message that is longer, and nobody knows which before it comes.
#[derive(Debug)]
pub(super) struct Pages {
    /// How many are on their way.
    reading: usize,
    most: usize,
    /// How many there may be on a new link.
    first: usize,
    /// How many there may be later.
    ceiling: usize,
}

impl Pages {
    /// `longest`: the most bytes of a message.
    pub(super) fn new(longest: usize) -> Self {
        let first = fitting(longest.saturating_add(HEAD_BYTES));
        Self {
            reading: 0,
            most: first,
            first,
            ceiling: first.max(MOST_AT_ONCE),
        }
    }

    /// There is a new link. Those that were on their way on the last one may have been why it was lost.
    pub(super) fn begin(&mut self) {
        if self.reading > self.first {
            self.ceiling = (self.reading / 2).max(self.first);
        }
        (self.reading, self.most) = (0, self.first);
    }

    /// Whether another one may be read.
    pub(super) fn has_room(&self) -> bool {
        self.reading < self.most
    }

    /// One is read.
    pub(super) fn sent(&mut self) {
        self.reading += 1;
    }

    /// One is answered, or will not be. After a short one there may be one more at a time, and after a long one only as many
    /// as fit if all are so long.
    pub(super) fn answered(&mut self, page: Option<&Value>) {
        self.reading = self.reading.saturating_sub(1);
        let Some(page) = page else {
            return;
        };
        let bytes = bytes(page);
        self.most = if bytes > PAGE_BYTES + MORE_BYTES {
            fitting(bytes)
        } else {
            (self.most + 1).min(self.ceiling)
        };
    }
}

fn fitting(bytes: usize) -> usize {
    (MOST_BYTES / PAGE_BYTES.max(bytes)).max(1)
}

fn bytes(page: &Value) -> usize {
    let length = |part: &Value| match part {
        Value::BulkString(bytes) => bytes.len(),
        _ => 0,
    };
    match page {
        Value::Array(parts) => parts.iter().map(length).sum(),
        _ => 0,
    }
}

/// The most bytes of pages that are on their way: a server closes the connections of subscribers that are too far behind,
/// by default those with 32 MiB.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// So many are read at a time at most if messages may be longer than a page: few enough for pages of 4 MiB.
const MOST_AT_ONCE: usize = 8;

/// What a page has beside its messages, at most.
const MORE_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: usize) -> Value {
        Value::Array(vec![
            Value::BulkString(b"epoch".to_vec()),
            Value::BulkString(vec![0; bytes]),
        ])
    }

    /// How many are read before one is answered.
    fn room(pages: &mut Pages) -> usize {
        let mut count = 0;
        while pages.has_room() {
            pages.sent();
            count += 1;
        }
        for _ in 0..count {
            pages.answered(None);
        }
        count
    }

    fn short(pages: &mut Pages, count: usize) {
        for _ in 0..count {
            pages.sent();
            pages.answered(Some(&page(PAGE_BYTES)));
        }
    }

    #[test]
    fn short_pages_are_read_together_even_if_messages_may_be_long() {
        let mut pages = Pages::new(16 * 1024 * 1024);
        assert_eq!(room(&mut pages), 1);
        for read in 2..100 {
            short(&mut pages, 1);
            assert_eq!(room(&mut pages), read.min(MOST_AT_ONCE));
        }
        pages.begin();
        assert_eq!(room(&mut pages), 1);
        assert_eq!(room(&mut Pages::new(1024)), 32);
    }

    #[test]
    fn after_a_long_page_fewer_are_read_together() {
        let mut pages = Pages::new(1024);
        for (bytes, most) in [(1024 * 1024, 7), (16 * 1024 * 1024, 1)] {
            pages.sent();
            pages.answered(Some(&page(bytes)));
            assert_eq!(room(&mut pages), most);
        }
    }

    /// A server closes a link whose pages are longer than it wants to keep, and none of them arrives.
    #[test]
    fn a_link_that_is_lost_with_pages_on_their_way_has_fewer_the_next_time() {
        let mut pages = Pages::new(16 * 1024 * 1024);
        for most in [8, 4, 2, 1, 1] {
            short(&mut pages, 100);
            assert_eq!(room(&mut pages), most);
            (0..most).for_each(|_| pages.sent());
            pages.begin();
        }
    }
}
