//! The messages of a client on the control channel. Owns the parsed call; does not check URLs.

use super::given::{GivenError, GivenHeaders, MOST_WRITTEN_BYTES, Subprotocols};
use super::prefix::MAX_INDEX;
use super::target::MAX_URL_BYTES;
use crate::json::{self, Object, Text, Value};
use crate::websocket::close;

/// A message of the control channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A call, which needs a reply.
    Call(Call),
    /// A reply. It has no meaning, because the multiplexer sends no calls.
    Reply,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The id for the reply; 0 if the call has none.
    pub id: i64,
    /// The method and its params.
    pub method: Method,
}

/// The methods that a client can call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Opens a connection to a target.
    Connect(ConnectParams),
    /// Closes a connection to a target: `terminate` or `disconnect`.
    Terminate(TerminateParams),
    /// An unknown method.
    Unknown,
}

/// The params of `connect`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectParams {
    /// The URL of the target, for [`Target::parse`](super::Target::parse). Empty if it is missing.
    pub url: String,
    /// Additional headers of the handshake.
    pub headers: GivenHeaders,
    /// The subprotocols to offer to the target.
    pub subprotocols: Subprotocols,
    /// The deadline of the connection attempt in milliseconds, more than 0.
    pub timeout: Option<u64>,
    /// The client exposes the connection as a WebSocket, so it has to distinguish text from bytes and clean closes from
    /// others. It needs an [ASCII index](super::is_ascii_index) and [events that report an unclean
    /// close](super::Gone::unclean). This is an extension of wsplice.
    pub web_socket: bool,
}

/// The params of `terminate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminateParams {
    /// The index of the target; `None` if the value cannot be a target's index.
    pub index: Option<u16>,
    /// The close code, which is valid on the wire.
    pub code: Option<u16>,
    /// The close reason, at most 123 bytes.
    pub reason: String,
}

/// Why a message is not a valid call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It is not JSON or not an object, or its id, type or method has the wrong type. No id is known for a reply.
    #[error("not a call")]
    Unparsable,
    /// The params do not fit the method.
    #[error("{problem}")]
    Params {
        /// The call's id.
        id: i64,
        /// What is wrong.
        problem: ParamsError,
    },
}

/// What is wrong with the params.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// The params are missing or not an object.
    #[error("params must be an object")]
    NoObject,
    /// A param is missing, has the wrong type, or has an invalid value.
    #[error("params.{0} must be {1}")]
    Field(&'static str, &'static str),
    /// A header or a subprotocol is invalid.
    #[error("params.{0}")]
    Given(#[from] GivenError),
}

/// Parses a message of the control channel, without its index.
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

/// Returns the members with these names. If a name occurs several times, the last member counts. A null counts as
/// absent.
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

/// The most bytes of a close frame's reason.
const MOST_REASON_BYTES: usize = 123;

/// Parses a close code. Some programs send 0 for no code.
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
    // an escape is up to six times as long as its character
    let fits = text.written_bytes() <= most_bytes.saturating_mul(6);
    let text = fits.then(|| text.decode().into_owned());
    text.filter(|text| text.len() <= most_bytes)
        .ok_or(ParamsError::Field(name, "shorter"))
}
