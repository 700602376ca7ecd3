//! The long texts of the current batch, for handlers that forward one unchanged: it is sent from its
//! place in memory instead of being read from JavaScript again. Owns them until the batch is handled.

use millrace_gateway::{AsciiText, Forwardable};

/// See the module. Ordered by the indices of their sidecars.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<(u32, Text)>);

#[derive(Debug)]
enum Text {
    /// A text as it was received.
    Received(AsciiText),
    /// A text that was forwarded at least once.
    Shared(Forwardable),
}

impl Texts {
    /// Keeps a text; returns its bytes.
    pub(crate) fn keep(&mut self, index: u32, text: AsciiText) -> &[u8] {
        self.0.push((index, Text::Received(text)));
        match self.0.last() {
            Some((_, Text::Received(text))) => text.as_bytes(),
            _ => &[],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The text at this index, which becomes forwardable at the first call.
    pub(crate) fn forwardable(
        &mut self,
        index: u32,
        make: impl FnOnce(AsciiText) -> Forwardable,
    ) -> Option<&Forwardable> {
        let place = self.0.binary_search_by_key(&index, |(at, _)| *at).ok()?;
        let (_, text) = self.0.get_mut(place)?;
        if let Text::Received(received) = text {
            *text = Text::Shared(make(std::mem::take(received)));
        }
        match text {
            Text::Shared(shared) => Some(shared),
            Text::Received(_) => None,
        }
    }
}
