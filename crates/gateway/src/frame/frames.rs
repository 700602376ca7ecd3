//! The frames of one message for many recipients of a shard, by encoding. Each frame is requested once, regardless of
//! the number of recipients.

use std::cell::OnceCell;

use super::encoding::Encoding;
use super::shared::Frame;

/// See the module. A short list without a search: the encodings of the recipients are few, and the first one needs no
/// allocation.
#[derive(Debug, Default)]
pub(crate) struct Frames<T = Option<Frame>>(OnceCell<Entry<T>>);

#[derive(Debug)]
struct Entry<T> {
    encoding: Encoding,
    frame: T,
    next: OnceCell<Box<Entry<T>>>,
}

impl<T> Frames<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceCell::new())
    }

    /// The value for this encoding, made when it is first requested.
    #[inline]
    pub(crate) fn get_or_make(&self, encoding: Encoding, make: impl FnOnce() -> T) -> &T {
        match self.0.get() {
            Some(first) if first.encoding == encoding => &first.frame,
            first => self.find_or_make(first, encoding, make),
        }
    }

    /// A call of its own, so that the recipients with the first encoding need none.
    #[inline(never)]
    fn find_or_make<'f>(
        &'f self,
        first: Option<&'f Entry<T>>,
        encoding: Encoding,
        make: impl FnOnce() -> T,
    ) -> &'f T {
        if let Some(first) = first {
            return first.get_or_make(encoding, make);
        }
        let entry = Entry::new(encoding, make());
        &self.0.get_or_init(|| entry).frame
    }
}

impl<T> Entry<T> {
    fn new(encoding: Encoding, frame: T) -> Self {
        Self {
            encoding,
            frame,
            next: OnceCell::new(),
        }
    }

    fn get_or_make(&self, encoding: Encoding, make: impl FnOnce() -> T) -> &T {
        let mut entry = self;
        while entry.encoding != encoding {
            let Some(next) = entry.next.get() else {
                let entry_for_it = Self::new(encoding, make());
                return &entry.next.get_or_init(|| Box::new(entry_for_it)).frame;
            };
            entry = next;
        }
        &entry.frame
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EncodingDef, Encodings};
    use super::*;

    #[test]
    fn each_encoding_is_requested_once() {
        let encodings = Encodings::new();
        let def = EncodingDef {
            name: "any",
            names_channel: false,
            most_payload: 0,
            around: 0,
            append: |_, _| {},
        };
        let all = [(); 3].map(|()| encodings.add(def));
        let frames = Frames::new();
        for round in 0..2 {
            for (index, encoding) in all.into_iter().enumerate() {
                let got = *frames.get_or_make(encoding, || round * 10 + index);
                assert_eq!(got, index, "made in the first round");
            }
        }
    }
}
