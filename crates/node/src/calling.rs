//! The functions by which applications call the clients of sockets. Owns their argument lists.

use millrace_gateway::{Kind, Reply};

use crate::arguments;
use crate::backpressure::too_many_waits;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::Value;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `callClient(socketId, method, params): number`: calls a method of the socket's client. Returns the question that is
/// answered with its result.
pub(crate) fn call_client<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [socket, method, params, ..]) = (call.js, call.arguments);
    let id = arguments::id(js, socket, "socketId")?;
    let method = arguments::text(js, method, "method")?;
    let questions = call.own.questions();
    let Some(answers) = questions.answers() else {
        return Err(Failure::internal("there is no place for answers"));
    };
    let number = questions.number();
    let ask = |params: Option<(Kind, &[u8])>| {
        let asked = (number, &answers);
        call.own
            .post(|gateway, dirty| gateway.call_client(id, (&method, params), asked, dirty))
    };
    let place = if call.given < 3 || arguments::is_undefined(js, params)? {
        ask(None)?
    } else {
        let mut scratch = call.own.environment().scratch().borrow();
        arguments::with_data(js, params, "params", &mut scratch, |_before, kind, data| {
            ask(Some((kind, data)))
        })??
    };
    questions.asked(number, place.ok_or_else(too_many_waits)?);
    js.number(f64::from(number)).map(Some)
}

/// `takeResult(number): string | Buffer | string[] | undefined`: takes what came with an answer: the result of a call, or
/// the code of its error, and the reason if there is one.
pub(crate) fn take_result<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let js = call.js;
    let number = arguments::whole(js, call.arguments[0], "number")?;
    let value = match call.own.questions().take_result(number) {
        Some(Reply::Said(Kind::Text, text)) => js.string(&String::from_utf8_lossy(&text))?,
        Some(Reply::Said(Kind::Binary, bytes)) => js.buffer(&bytes)?,
        Some(Reply::Failed(code, reason)) => {
            let list = js.array(1)?;
            js.set_element(list, 0, js.string(&code)?)?;
            if let Some(reason) = reason {
                js.set_element(list, 1, js.string(&reason)?)?;
            }
            list
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}
