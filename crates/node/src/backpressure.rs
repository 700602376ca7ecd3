//! The functions by which applications see what waits in outboxes. Owns their argument lists.

use std::sync::Arc;

use millrace_gateway::{Answers, Doorbell, Reply};

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Type, Value};
use crate::numbers;
use crate::sources::Listener;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `outboxBytes(socketId): number`
pub(crate) fn outbox_bytes<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let id = arguments::id(call.js, call.arguments[0], "socketId")?;
    let bytes = call.own.with(|gateway| gateway.outbox_bytes(id))?;
    call.js.number(numbers::from_usize(bytes)).map(Some)
}

/// `openAnswers(onAnswers)`: `onAnswers` is called when there are answers to take. Does nothing if there is a function
/// already.
pub(crate) fn open_answers<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, function) = (call.js, call.arguments[0]);
    if js.type_of(function)? != Type::Function {
        return Err(arguments::wrong(js, function, "onAnswers", "a function"));
    }
    let questions = call.own.questions();
    if questions.is_open() {
        return Ok(None);
    }
    let listener = Listener::new(js, function)?;
    call.own.environment().add_source(js, |door, _line| {
        let door: Arc<dyn Doorbell> = door;
        questions.open(Answers::new(door));
        listener
    })?;
    Ok(None)
}

/// `whenDrained(socketId): number`: asks to be told when the socket's outbox is at or below its low-water mark, or the
/// socket is closed. Returns the number of the question.
pub(crate) fn when_drained<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let id = arguments::id(call.js, call.arguments[0], "socketId")?;
    let number = call.own.questions().ask(|asked| {
        call.own
            .post(|gateway, dirty| gateway.when_drained(id, asked, dirty))
    })?;
    let Some(number) = number else {
        return Err(Failure::Coded(
            "ERR_MILLRACE_TOO_MANY_WAITS",
            "so many calls wait for outboxes already that no other may".to_owned(),
        ));
    };
    call.js.number(f64::from(number)).map(Some)
}

/// `takeAnswers(): number[]`: the number of each answered question, followed by the answer.
pub(crate) fn take_answers<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, answers) = (call.js, call.own.questions().take());
    let list = js.array(2 * answers.len())?;
    for (index, (number, reply)) in (0_u32..).step_by(2).zip(answers) {
        js.scoped(|js| {
            js.set_element(list, index, js.number(f64::from(number))?)?;
            js.set_element(list, index + 1, js.number(said(reply))?)
        })?;
    }
    Ok(Some(list))
}

/// `forgetAnswer(number)`: takes a question back.
pub(crate) fn forget_answer<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let number = arguments::whole(call.js, call.arguments[0], "number")?;
    call.own.questions().forget(number);
    Ok(None)
}

/// An answer as `js/src/gateway/questions.ts` reads it.
fn said(reply: Reply) -> f64 {
    match reply {
        Reply::Closed => 0.0,
        Reply::Yes => 1.0,
        Reply::Unable => 2.0,
    }
}
