//! Methods that no endpoint gets unless its listener allows it: CONNECT asks for a tunnel, and TRACE for an echo of the
//! request with its cookies. Code that was written for ordinary requests would do either by mistake.

use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, StatusCode};

use super::{Answer, Exchange, plain};

/// The answer to a request that is refused because of its method. A CONNECT for a WebSocket over HTTP/2 has become a
/// GET by now, and any other one was refused before.
pub(super) fn refuse_method(exchange: &Exchange, method: &Method) -> Option<Answer> {
    let status = status(method)?;
    // Node listeners treat TRACE as an ordinary method; other endpoints never get it
    let is_known = *method == Method::TRACE && exchange.shard.hub().workers().takes_node_requests();
    if exchange.client.service.raw_methods || is_known {
        return None;
    }
    if status == StatusCode::NOT_IMPLEMENTED {
        return Some(plain(status, "There are no tunnels here"));
    }
    let mut answer = plain(status, "TRACE is not answered here");
    answer.headers_mut().insert(ALLOW, ALLOWED);
    Some(answer)
}

fn status(method: &Method) -> Option<StatusCode> {
    match *method {
        Method::CONNECT => Some(StatusCode::NOT_IMPLEMENTED),
        Method::TRACE => Some(StatusCode::METHOD_NOT_ALLOWED),
        _ => None,
    }
}

/// The methods that may be used instead. Only the endpoint knows which ones this path supports.
const ALLOWED: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH");
