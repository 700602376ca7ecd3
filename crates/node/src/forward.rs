//! Sending a received text on unchanged. Owns the argument list.

use millrace_gateway::Kind;

use crate::answering::{Received, received};
use crate::arguments::{self, Items};
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::handlers::HandlerThread;
use crate::js::Value;
use crate::{numbers, replies};

/// `forward(target, place, except, replies, texts): number`: does the same as `sendLong` with the text of the record that
/// begins at the word `place` of the batch.
pub(crate) fn forward<'s>(call: &Call<'s, HandlerThread>) -> Outcome<Option<Value<'s>>> {
    let (js, [target, place, except, count, texts]) = (call.js, call.arguments);
    let bound = call.own.bound();
    replies::send(bound, js, count, texts)?;
    let place = arguments::whole(js, place, "place")?;
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    let mut scratch = call.own.environment().scratch().borrow();
    let targets = Items::read(js, target, "target", &mut scratch)?;
    let except = arguments::ids(js, except, "options.except")?;
    let batch = call.own.batch().borrow();
    let mut texts = call.own.texts().borrow_mut();
    let posted = targets.with(&scratch, |targets| {
        bound.post(|gateway, dirty| {
            let text = received(batch.as_ref(), &mut texts, place, gateway)?;
            Some(match text {
                Received::Short(text) => gateway.send(targets, Kind::Text, text, &except, dirty),
                Received::Long(text) => gateway.forward(targets, text, &except, dirty),
            })
        })
    })?;
    let posted = posted.ok_or_else(|| Failure::internal("a text that is not being handled"))?;
    js.number(numbers::from_usize(posted)).map(Some)
}
