//! The functions by which applications send messages in parts. Owns their argument lists.

use millrace_gateway::Kind;

use crate::arguments;
use crate::backpressure::{said_numbers, too_many_waits};
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::Value;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `beginStream(socketId): [number, number] | undefined`: begins a message behind everything that was sent to the
/// socket. The first question is answered when parts may follow; the second one, whose number is also that of the
/// message, when the message is in the outbox or the socket is closed. `undefined`: there is no such socket.
pub(crate) fn begin_stream<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let id = arguments::id(call.js, call.arguments[0], "socketId")?;
    let questions = call.own.questions();
    let Some(answers) = questions.answers() else {
        return Ok(None);
    };
    let turn = questions.number();
    let end = questions.number();
    let begun = call
        .own
        .post(|gateway, dirty| gateway.begin_stream(id, (turn, end), &answers, dirty))?;
    let Some((sending, [turn_place, end_place])) = begun.ok_or_else(too_many_waits)? else {
        return Ok(None);
    };
    questions.asked(turn, turn_place);
    questions.asked(end, end_place);
    call.own.sendings().add(end, sending);
    said_numbers(call.js, &[turn, end]).map(Some)
}

/// `streamPart(message, data, binary): number`: sends a part. Returns the question that is answered when there is room
/// for another one.
pub(crate) fn stream_part<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [number, data, binary, ..]) = (call.js, call.arguments);
    let number = arguments::whole(js, number, "message")?;
    let kind = kind(call, binary)?;
    let mut scratch = call.own.environment().scratch().borrow();
    let payload = arguments::copied(js, data, "chunk", &mut scratch)?;
    drop(scratch);
    let questions = call.own.questions();
    let Some(answers) = questions.answers() else {
        return Err(Failure::internal("no message was begun"));
    };
    let room = questions.number();
    let posted = call.own.sendings().with(number, |message| {
        if !message.takes(kind, &payload) {
            return Err(invalid());
        }
        let asked = (room, &answers);
        call.own.post(|gateway, dirty| {
            gateway.stream_part(&message.sending, (kind, payload), asked, dirty)
        })
    });
    let place = posted.ok_or_else(|| Failure::internal("the message has ended"))??;
    let place = place.ok_or_else(|| {
        Failure::Coded(
            "ERR_MILLRACE_INBOX_FULL",
            "an I/O thread has too much to send".to_owned(),
        )
    })?;
    questions.asked(room, place);
    js.number(f64::from(room)).map(Some)
}

/// `endStream(message, isComplete, binary)`: ends a message, or gives it up.
pub(crate) fn end_stream<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [number, is_complete, binary, ..]) = (call.js, call.arguments);
    let number = arguments::whole(js, number, "message")?;
    let is_complete = js.to_boolean(is_complete)?;
    let kind = kind(call, binary)?;
    let sendings = call.own.sendings();
    if is_complete && sendings.with(number, |message| message.may_end()) == Some(false) {
        return Err(invalid());
    }
    let Some(message) = sendings.take(number) else {
        return Ok(None);
    };
    call.own.post(|gateway, dirty| {
        if is_complete {
            gateway.end_stream(&message.sending, kind, dirty);
        } else {
            gateway.abort_stream(&message.sending, dirty);
        }
    })?;
    Ok(None)
}

fn kind<'s>(call: &Call<'s, Bound>, binary: Value<'s>) -> Outcome<Kind> {
    let is_binary = call.js.to_boolean(binary)?;
    Ok(if is_binary { Kind::Binary } else { Kind::Text })
}

fn invalid() -> Failure {
    Failure::Coded(
        "ERR_MILLRACE_STREAM_FAILED",
        "a text message must be UTF-8".to_owned(),
    )
}
