//! Responses to requests, from JavaScript. Owns the argument lists; the gateway checks what may be sent.

use bytes::Bytes;
use millrace_gateway::{AnswerHead, Step, TransferId, Verbatim};

use crate::arguments;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::handlers::HandlerThread;
use crate::js::{Js, Value};
use crate::numbers;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `respond(request, status, headers, parts, body)`: sends a whole response. `headers` contains names and values
/// alternately, separated by zero characters; `parts` is their number.
pub(crate) fn respond<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (js, [request, .., body]) = (call.js, call.arguments);
    let request = id(js, request)?;
    let head = head(call, false)?;
    let mut scratch = call.own.environment().scratch().borrow();
    let body = if call.given < 5 {
        Bytes::new()
    } else {
        arguments::optional_copied(js, body, "body", &mut scratch)?.unwrap_or_default()
    };
    drop(scratch);
    step(call, request, head.whole(body))
}

/// `beginAnswer(request, status, headers, parts)`: sends the head of a response whose body follows.
pub(crate) fn begin_answer<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let request = id(call.js, call.arguments[0])?;
    let head = head(call, true)?;
    step(call, request, head.begin())
}

/// `writeAnswer(request, piece)`
pub(crate) fn write_answer<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (js, [request, piece, ..]) = (call.js, call.arguments);
    let request = id(js, request)?;
    let mut scratch = call.own.environment().scratch().borrow();
    let piece = arguments::copied(js, piece, "chunk", &mut scratch)?;
    drop(scratch);
    if piece.is_empty() {
        return Ok(None);
    }
    step(call, request, Step::Piece(Box::new(piece)))
}

/// `writeMessage(request, first, second, flags)`: sends a response, or a part of one, in the form of HTTP/1.1, as two
/// strings or bytes.
pub(crate) fn write_message<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (js, [request, first, second, flags, _]) = (call.js, call.arguments);
    let request = id(js, request)?;
    let flags = arguments::whole(js, flags, "flags")?;
    let mut scratch = call.own.environment().scratch().borrow();
    let mut bytes = arguments::copied(js, first, "first", &mut scratch)?;
    if flags & LATIN1 != 0 && !bytes.is_ascii() {
        bytes = to_latin1(&bytes)?;
    }
    if let Some(second) = arguments::optional_copied(js, second, "second", &mut scratch)? {
        bytes = [bytes, second].concat().into();
    }
    drop(scratch);
    match (flags & BEGINS != 0, flags & ENDS != 0) {
        (true, true) => return step(call, request, Verbatim::whole(bytes)),
        (true, false) => step(call, request, Verbatim::begin())?,
        _ => None,
    };
    if !bytes.is_empty() {
        step(call, request, Step::Piece(Box::new(bytes)))?;
    }
    if flags & ENDS != 0 {
        step(call, request, Step::End)?;
    }
    Ok(None)
}

/// The bits of the flags, as in `js/src/node/wire.ts`.
const BEGINS: u32 = 1;
const ENDS: u32 = 2;
/// The first string is sent as Latin-1.
const LATIN1: u32 = 4;

/// Takes the lowest eight bits of each character, as Node does.
fn to_latin1(text: &[u8]) -> Outcome<Bytes> {
    let text = std::str::from_utf8(text)
        .map_err(|_| Failure::internal("the runtime gave a string that is not UTF-8"))?;
    let bytes = text.chars().map(|one| u32::from(one).to_le_bytes()[0]);
    Ok(bytes.collect::<Vec<u8>>().into())
}

/// `endAnswer(request, whole)`
pub(crate) fn end_answer<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let request = id(call.js, call.arguments[0])?;
    let whole = call.js.to_boolean(call.arguments[1])?;
    step(call, request, if whole { Step::End } else { Step::Abort })
}

/// `wantRoom(request)`: requests a record for when few bytes of the response are left to be written.
pub(crate) fn want_room<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let request = id(call.js, call.arguments[0])?;
    step(call, request, Step::WantRoom)
}

/// `pull(request, bytes)`: makes room for so many more bytes of the request's body.
pub(crate) fn pull<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let request = id(call.js, call.arguments[0])?;
    let bytes = arguments::whole(call.js, call.arguments[1], "bytes")?;
    step(call, request, Step::Pull(bytes))
}

/// `requests(): number`: the number of requests whose responses are incomplete.
pub(crate) fn requests<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let count = call.own.worker().map_or(0, |worker| worker.requests());
    call.js.number(numbers::from_usize(count)).map(Some)
}

fn step<'s>(call: &Call<'s, HandlerThread>, request: TransferId, step: Step) -> Answer<'s> {
    // a worker that has ended cannot answer requests
    if call.own.worker().is_some() {
        call.own
            .post(|worker, dirty| worker.step(request, step, dirty))?;
    }
    Ok(None)
}

fn head(call: &Call<'_, HandlerThread>, keep_length: bool) -> Outcome<AnswerHead> {
    let (js, [_, status, headers, parts, _]) = (call.js, call.arguments);
    let given = js.as_number(status)?.and_then(numbers::to_u32);
    let Some(status) = given else {
        return Err(arguments::wrong(
            js,
            status,
            "status",
            "a whole number from 200 to 599",
        ));
    };
    let parts = usize::try_from(arguments::whole(js, parts, "parts")?).unwrap_or_default();
    let mut scratch = call.own.environment().scratch().borrow();
    if !js.append_string(headers, &mut scratch)? {
        return Err(arguments::wrong(js, headers, "headers", "a string"));
    }
    let text = std::str::from_utf8(&scratch)
        .map_err(|_| Failure::internal("the runtime gave a string that is not UTF-8"))?;
    let head = if keep_length {
        AnswerHead::parse(status, text, parts, keep_length)
    } else {
        call.own.heads().borrow_mut().read(status, text, parts)
    };
    head.map_err(|error| Failure::Argument(error.to_string()))
}

fn id(js: Js<'_>, value: Value<'_>) -> Outcome<TransferId> {
    let number = js.as_number(value)?.and_then(numbers::to_u64);
    number
        .map(TransferId::new)
        .ok_or_else(|| arguments::wrong(js, value, "request", "a request's id"))
}
