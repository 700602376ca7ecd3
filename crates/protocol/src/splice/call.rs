//! What a client says on the control channel. Owns what it asked for; looks at no URL and at no code.

use super::given::{GivenError, GivenHeaders, MOST_WRITTEN_BYTES, Subprotocols};
use super::json::{self, Object, Text, Value};
use super::prefix::MAX_INDEX;
use super::target::MAX_URL_BYTES;
use crate::websocket::close;

/// A message of the control channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// Something is to be done, and answered.
    Call(Call),
    /// An answer. Nobody asked, so it means nothing.
    Reply,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What the answer repeats; 0 if there was none.
    pub id: i64,
    /// What is to be done.
    pub method: Method,
}

/// What can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// A new target.
    Connect(ConnectParams),
    /// The end of a target: `terminate`, or `disconnect`.
    Terminate(TerminateParams),
    /// Something else.
    Unknown,
}

/// What `connect` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectParams {
    /// Where to; for [`Target::parse`](super::Target::parse). Empty if it was missing.
    pub url: String,
    /// What the handshake has beside what it must have.
    pub headers: GivenHeaders,
    /// What the target may choose from.
    pub subprotocols: Subprotocols,
    /// How long it may take, in milliseconds, more than 0.
    pub timeout: Option<u64>,
    /// The client gives its user a WebSocket, so that it has to be able to tell text from bytes and clean ends from others.
    /// It wants an [ASCII index](super::is_ascii_index) and
    /// [events that say if an end was unclean](super::Gone::unclean). An addition to wsplice.
    pub web_socket: bool,
}

/// What `terminate` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminateParams {
    /// Which target; `None`: none has such an index.
    pub index: Option<u16>,
    /// The code to close with, which is one that may be on the wire.
    pub code: Option<u16>,
    /// The reason to close with, at most 123 bytes.
    pub reason: String,
}

/// Why a message is no call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It is no JSON, not an object, or has an id, a type or a method of another kind. There is no id to answer to.
    #[error("no call")]
    Unparsable,
    /// Its params do not fit its method.
    #[error("{problem}")]
    Params {
        /// The call's id.
        id: i64,
        /// What is wrong.
        problem: ParamsError,
    },
}

/// What is wrong with params.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// They are missing, or no object.
    #[error("params must be an object")]
    NoObject,
    /// One of them is missing, is of another kind, or has a value that it cannot have.
    #[error("params.{0} must be {1}")]
    Field(&'static str, &'static str),
    /// A header or a subprotocol.
    #[error("params.{0}")]
    Given(#[from] GivenError),
}

/// Reads a message of the control channel, without the index in front.
///
/// # Example
///
/// ```
/// use millrace_protocol::splice::{Call, CallError, Incoming, Method, decode_call};
///
/// let unknown = Incoming::Call(Call { id: -4, method: Method::Unknown });
/// assert_eq!(decode_call(br#"{"method": "resolve", "id": -4}"#), Ok(unknown));
/// assert_eq!(decode_call(br#"{"id": 1, "type": "reply", "result": {}}"#), Ok(Incoming::Reply));
/// assert_eq!(decode_call(br#"{"id": 1.5}"#), Err(CallError::Unparsable));
/// ```
pub fn decode_call(document: &[u8]) -> Result<Incoming, CallError> {
    let Some(Value::Object(call)) = json::parse(document) else {
        return Err(CallError::Unparsable);
    };
    let mut fields = [None; 4];
    last_of(["id", "type", "method", "params"], call, &mut fields);
    let [id, kind, method, params] = fields;
    let id = match id {
        None => 0,
        Some(id) => id.integer().ok_or(CallError::Unparsable)?,
    };
    if text(kind)?.is_some_and(|kind| kind == *"reply") {
        return Ok(Incoming::Reply);
    }
    let method = match text(method)? {
        Some(name) if name == *"connect" => object(params).and_then(connect).map(Method::Connect),
        Some(name) if name == *"terminate" || name == *"disconnect" => {
            object(params).and_then(terminate).map(Method::Terminate)
        }
        _ => Ok(Method::Unknown),
    };
    match method {
        Ok(method) => Ok(Incoming::Call(Call { id, method })),
        Err(problem) => Err(CallError::Params { id, problem }),
    }
}

/// The members of these names. Of several with one name the last counts; null is as good as none.
fn last_of<'a, const N: usize>(
    names: [&str; N],
    object: Object<'a>,
    fields: &mut [Option<Value<'a>>; N],
) {
    for (name, value) in object.members() {
        for (wanted, field) in names.iter().zip(fields.iter_mut()) {
            if name == **wanted {
                *field = (!matches!(value, Value::Null)).then_some(value);
            }
        }
    }
}

fn text(value: Option<Value<'_>>) -> Result<Option<Text<'_>>, CallError> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(CallError::Unparsable),
    }
}

fn object(params: Option<Value<'_>>) -> Result<Object<'_>, ParamsError> {
    match params {
        Some(Value::Object(params)) => Ok(params),
        _ => Err(ParamsError::NoObject),
    }
}

fn connect(params: Object<'_>) -> Result<ConnectParams, ParamsError> {
    let mut fields = [None; 5];
    let names = ["url", "headers", "subprotocols", "timeout", "webSocket"];
    last_of(names, params, &mut fields);
    let [url, headers, subprotocols, timeout, web_socket] = fields;
    Ok(ConnectParams {
        url: string(url, "url", MAX_URL_BYTES)?,
        headers: given_headers(headers)?,
        subprotocols: given_subprotocols(subprotocols)?,
        timeout: milliseconds(timeout)?,
        web_socket: match web_socket {
            None => false,
            Some(Value::Bool(value)) => value,
            Some(_) => return Err(ParamsError::Field("webSocket", "true or false")),
        },
    })
}

fn terminate(params: Object<'_>) -> Result<TerminateParams, ParamsError> {
    let mut fields = [None; 3];
    last_of(["index", "code", "reason"], params, &mut fields);
    let [index, code, reason] = fields;
    let index = index
        .and_then(Value::integer)
        .ok_or(ParamsError::Field("index", "an integer"))?;
    let index = u16::try_from(index).ok();
    Ok(TerminateParams {
        index: index.filter(|index| *index <= MAX_INDEX),
        code: close_code(code)?,
        reason: string(reason, "reason", MOST_REASON_BYTES)?,
    })
}

/// What is in a close frame beside the code.
const MOST_REASON_BYTES: usize = 123;

/// 0 is what programs send that have no code.
fn close_code(code: Option<Value<'_>>) -> Result<Option<u16>, ParamsError> {
    let Some(code) = code else {
        return Ok(None);
    };
    let code = code.integer().and_then(|code| u16::try_from(code).ok());
    match code {
        Some(0) => Ok(None),
        Some(code) if close::is_sendable(code) => Ok(Some(code)),
        _ => Err(ParamsError::Field("code", "a code of close frames")),
    }
}

fn milliseconds(timeout: Option<Value<'_>>) -> Result<Option<u64>, ParamsError> {
    let Some(timeout) = timeout else {
        return Ok(None);
    };
    let timeout = timeout.integer();
    let timeout = timeout.ok_or(ParamsError::Field("timeout", "an integer"))?;
    Ok(u64::try_from(timeout).ok().filter(|timeout| *timeout > 0))
}

fn given_headers(headers: Option<Value<'_>>) -> Result<GivenHeaders, ParamsError> {
    let mut given = GivenHeaders::default();
    match headers {
        None => {}
        Some(Value::Object(headers)) => {
            for (name, value) in headers.members() {
                let Value::String(value) = value else {
                    return Err(ParamsError::Field("headers", "strings by their names"));
                };
                if name.written_bytes().max(value.written_bytes()) > MOST_WRITTEN_BYTES {
                    return Err(GivenError::TooManyHeaders.into());
                }
                given.set(&name.decode(), &value.decode())?;
            }
        }
        Some(_) => return Err(ParamsError::Field("headers", "an object")),
    }
    Ok(given)
}

fn given_subprotocols(subprotocols: Option<Value<'_>>) -> Result<Subprotocols, ParamsError> {
    let mut given = Subprotocols::default();
    match subprotocols {
        None => {}
        Some(Value::Array(names)) => {
            for name in names.values() {
                let Value::String(name) = name else {
                    return Err(ParamsError::Field("subprotocols", "strings"));
                };
                if name.written_bytes() > MOST_WRITTEN_BYTES {
                    return Err(GivenError::TooManySubprotocols.into());
                }
                given.add(&name.decode())?;
            }
        }
        Some(_) => return Err(ParamsError::Field("subprotocols", "an array")),
    }
    Ok(given)
}

fn string(
    value: Option<Value<'_>>,
    name: &'static str,
    most_bytes: usize,
) -> Result<String, ParamsError> {
    let text = match value {
        None => return Ok(String::new()),
        Some(Value::String(text)) => text,
        Some(_) => return Err(ParamsError::Field(name, "a string")),
    };
    // what is written with escapes has up to six times as many bytes
    let fits = text.written_bytes() <= most_bytes.saturating_mul(6);
    let text = fits.then(|| text.decode().into_owned());
    text.filter(|text| text.len() <= most_bytes)
        .ok_or(ParamsError::Field(name, "shorter"))
}
