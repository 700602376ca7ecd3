//! The long texts of the batch being handled, for handlers that send one on as it came: it is sent from
//! where it lies instead of being read from JavaScript again. Owns them until the batch is handled.

use millrace_gateway::{AsciiText, Forwardable};

use crate::arguments::{self, Items};
use crate::entry::{Call, Owner};
use crate::failure::{Failure, Outcome};
use crate::handlers::HandlerThread;
use crate::js::Value;
use crate::{numbers, replies};

/// See the module. By the index of their sidecars, in order.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<(u32, Text)>);

#[derive(Debug)]
enum Text {
    /// As it came.
    Received(AsciiText),
    /// Sent on at least once.
    Shared(Forwardable),
}

impl Texts {
    pub(crate) fn keep(&mut self, index: u32, text: AsciiText) {
        self.0.push((index, Text::Received(text)));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The text at this index, made forwardable the first time.
    fn forwardable(
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

/// `forward(target, index, except, replies, texts): number`: as `sendLong`, of the text that is the batch's sidecar
/// number `index`.
pub(crate) fn forward<'s>(call: &Call<'s, HandlerThread>) -> Outcome<Option<Value<'s>>> {
    let (js, [target, index, except, count, texts]) = (call.js, call.arguments);
    let bound = call.own.bound();
    replies::send(bound, js, count, texts)?;
    let index = arguments::whole(js, index, "index")?;
    let mut scratch = call.own.environment().scratch().borrow();
    let targets = Items::read(js, target, "target", &mut scratch)?;
    let except = arguments::ids(js, except, "options.except")?;
    let mut texts = call.own.texts().borrow_mut();
    let posted = targets.with(&scratch, |targets| {
        bound.post(|gateway, touched| {
            let text = texts.forwardable(index, |text| gateway.forwardable(text))?;
            Some(gateway.forward(targets, text, &except, touched))
        })
    })?;
    let posted = posted.ok_or_else(|| Failure::internal("a text that is not being handled"))?;
    js.number(numbers::from_usize(posted)).map(Some)
}
