//! The functions by which applications see what waits in outboxes. Owns their argument lists.

use std::sync::Arc;

use millrace_gateway::{Answers, Doorbell, Reply};

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Type, Value};
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
    if questions.answers().is_some() {
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
    let questions = call.own.questions();
    let Some(answers) = questions.answers() else {
        return Err(Failure::internal("there is no place for answers"));
    };
    let number = questions.number();
    let place = call
        .own
        .post(|gateway, dirty| gateway.when_drained(id, (number, &answers), dirty))?;
    questions.asked(number, place.ok_or_else(too_many_waits)?);
    call.js.number(f64::from(number)).map(Some)
}

pub(crate) fn too_many_waits() -> Failure {
    Failure::Coded(
        "ERR_MILLRACE_TOO_MANY_WAITS",
        "so many calls wait for outboxes, clients and the store of histories already that no other may"
            .to_owned(),
    )
}

/// `takeAnswers(): number[]`: the number of each answered question, followed by the answer.
pub(crate) fn take_answers<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let questions = call.own.questions();
    let mut numbers = Vec::new();
    for (number, reply) in questions.take() {
        numbers.extend([number, said(&reply)]);
        if matches!(reply, Reply::Said(..) | Reply::Failed(..)) {
            questions.keep_result(number, reply);
        }
    }
    said_numbers(call.js, &numbers).map(Some)
}

/// Makes an array of numbers.
pub(crate) fn said_numbers<'s>(js: Js<'s>, numbers: &[u32]) -> Outcome<Value<'s>> {
    let list = js.array(numbers.len())?;
    for (index, number) in (0_u32..).zip(numbers) {
        js.scoped(|js| js.set_element(list, index, js.number(f64::from(*number))?))?;
    }
    Ok(list)
}

/// `forgetAnswer(number)`: takes a question back.
pub(crate) fn forget_answer<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let number = arguments::whole(call.js, call.arguments[0], "number")?;
    call.own.questions().forget(number);
    Ok(None)
}

/// An answer as `js/src/gateway/questions.ts` reads it.
fn said(reply: &Reply) -> u32 {
    match reply {
        Reply::Closed => 0,
        Reply::Yes => 1,
        Reply::Unable => 2,
        Reply::Said(..) => 3,
        Reply::Failed(..) => 4,
    }
}
