//! Forwarding a text unchanged. Owns the argument list.

use crate::arguments::{self, Items};
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::handlers::HandlerThread;
use crate::js::Value;
use crate::{numbers, replies};

/// `forward(target, index, except, replies, texts): number`: does the same as `sendLong` with the text that is the
/// batch's sidecar number `index`.
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
        bound.post(|gateway, dirty| {
            let text = texts.forwardable(index, |text| gateway.forwardable(text))?;
            Some(gateway.forward(targets, text, &except, dirty))
        })
    })?;
    let posted = posted.ok_or_else(|| Failure::internal("a text that is not being handled"))?;
    js.number(numbers::from_usize(posted)).map(Some)
}
