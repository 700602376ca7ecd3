//! `parse_http_request` of `millrace/sockets`. Owns the shape of its result.

use millrace_sockets::{BadRequest, HttpRequest};

use crate::arguments;
use crate::entry::Call;
use crate::environment::Environment;
use crate::failure::Outcome;

/// `parseHttpRequest(data): {method, target, version, headers, body} | null | false`: `headers` has names and values
/// alternately; `null` means empty input, `false` an invalid request.
pub(crate) fn parse_http_request<'s>(
    call: &Call<'s, Environment>,
) -> Outcome<Option<crate::js::Value<'s>>> {
    let js = call.js;
    let mut scratch = call.own.scratch().borrow();
    let parsed = arguments::with_data(
        js,
        call.arguments[0],
        "data",
        &mut scratch,
        |_before, _kind, bytes| HttpRequest::parse(bytes),
    )?;
    let request = match parsed {
        Ok(request) => request,
        Err(BadRequest::Empty) => return js.null().map(Some),
        Err(_) => return js.boolean(false).map(Some),
    };
    let object = js.object()?;
    let body = String::from_utf8_lossy(&request.body);
    for (name, text) in [
        (c"method", request.method.as_str()),
        (c"target", request.target.as_str()),
        (c"version", request.version),
        (c"body", &body),
    ] {
        js.set(object, name, js.string(text)?)?;
    }
    let headers = js.array(2 * request.headers.len())?;
    let parts = request
        .headers
        .iter()
        .flat_map(|(name, value)| [name, value]);
    for (index, part) in (0..).zip(parts) {
        js.scoped(|js| js.set_element(headers, index, js.string(part)?))?;
    }
    js.set(object, c"headers", headers)?;
    Ok(Some(object))
}
