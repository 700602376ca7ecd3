//! What a worker tells the protocol of a socket in addition to messages and closes. Owns the argument lists and the
//! format of records; the protocol defines the operations.

use millrace_gateway::SocketId;

use crate::arguments;
use crate::entry::Call;
use crate::failure::Outcome;
use crate::handlers::HandlerThread;
use crate::js::Value;
use crate::numbers;

/// `tell(socketId, operation, fields, payload): boolean`: returns false if the socket is gone or the inbox of its I/O
/// thread is full.
pub(crate) fn tell<'s>(call: &Call<'s, HandlerThread>) -> Outcome<Option<Value<'s>>> {
    let (js, [socket, operation, fields, payload, _]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    let operation = arguments::whole(js, operation, "operation")?;
    let bound = call.own.bound();
    let tell = |fields: &[u8], payload: &[u8]| {
        bound.post(|gateway, dirty| gateway.tell(socket, operation, fields, payload, dirty))
    };
    let mut scratch = call.own.environment().scratch().borrow();
    let place = arguments::name(js, fields, "fields", &mut scratch)?;
    let told = if call.given < 4 || arguments::is_undefined(js, payload)? {
        tell(scratch.get(place).unwrap_or_default(), &[])?
    } else {
        arguments::with_data(
            js,
            payload,
            "payload",
            &mut scratch,
            |before, _kind, payload| tell(before.get(place).unwrap_or_default(), payload),
        )??
    };
    js.boolean(told).map(Some)
}

/// `keepBytes(bytes): number | undefined`: copies bytes for `tellShared`, until `forgetBytes`. Returns `undefined` if
/// too many bytes are kept already.
pub(crate) fn keep_bytes<'s>(call: &Call<'s, HandlerThread>) -> Outcome<Option<Value<'s>>> {
    let (js, [bytes, ..]) = (call.js, call.arguments);
    let all = call.own.kept_bytes();
    let kept = js.with_bytes(bytes, |bytes| all.keep(bytes))?;
    let number = kept.ok_or_else(|| arguments::wrong(js, bytes, "bytes", "bytes"))?;
    all.weigh(js);
    number
        .map(|number| js.number(f64::from(number)))
        .transpose()
}

/// `forgetBytes(number)`: releases bytes. Messages that were sent with them still hold them.
pub(crate) fn forget_bytes<'s>(call: &Call<'s, HandlerThread>) -> Outcome<Option<Value<'s>>> {
    let number = arguments::whole(call.js, call.arguments[0], "number")?;
    let all = call.own.kept_bytes();
    all.forget(number);
    all.weigh(call.js);
    Ok(None)
}

/// `tellShared(socketId, operation, fields, number): boolean`: does the same as `tell` with kept bytes as the payload,
/// without copying them. Also returns false if no bytes have that number.
pub(crate) fn tell_shared<'s>(call: &Call<'s, HandlerThread>) -> Outcome<Option<Value<'s>>> {
    let (js, [socket, operation, fields, number, _]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    let operation = arguments::whole(js, operation, "operation")?;
    let number = arguments::whole(js, number, "number")?;
    let Some(shared) = call.own.kept_bytes().get(number) else {
        return js.boolean(false).map(Some);
    };
    let mut scratch = call.own.environment().scratch().borrow();
    let place = arguments::name(js, fields, "fields", &mut scratch)?;
    let fields = scratch.get(place).unwrap_or_default();
    let told = call
        .own
        .bound()
        .post(|gateway, dirty| gateway.tell_shared(socket, operation, fields, &shared, dirty))?;
    js.boolean(told).map(Some)
}

/// `tellMany(records, bytes): number[] | undefined`: does the same as `tell` for each record. Returns the positions of
/// the records for which that failed, if there are any.
pub(crate) fn tell_many<'s>(call: &Call<'s, HandlerThread>) -> Outcome<Option<Value<'s>>> {
    let (js, [records, bytes, ..]) = (call.js, call.arguments);
    let bytes = usize::try_from(arguments::whole(js, bytes, "bytes")?).unwrap_or_default();
    let mut refused = Vec::new();
    let told = js.with_bytes(records, |records| {
        let records = records.get(..bytes).unwrap_or_default();
        call.own.bound().post(|gateway, dirty| {
            for (at, record) in Records::new(records) {
                let Record {
                    socket,
                    operation,
                    fields,
                    payload,
                } = record;
                if !gateway.tell(socket, operation, fields, payload, dirty) {
                    refused.push(at);
                }
            }
        })
    })?;
    told.ok_or_else(|| arguments::wrong(js, records, "records", "bytes"))??;
    if refused.is_empty() {
        return Ok(None);
    }
    let list = js.array(refused.len())?;
    for (index, at) in (0_u32..).zip(refused) {
        js.set_element(list, index, js.number(numbers::from_usize(at))?)?;
    }
    Ok(Some(list))
}

/// An instruction: socket id (8 bytes), operation, and the lengths of the fields and of the payload (4 bytes each, all
/// little-endian), then the fields and the payload, both padded to a multiple of four.
struct Record<'a> {
    socket: SocketId,
    operation: u32,
    fields: &'a [u8],
    payload: &'a [u8],
}

/// Iterates over consecutive records with their positions.
struct Records<'a> {
    whole: usize,
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            whole: bytes.len(),
            rest: bytes,
        }
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn bytes(&mut self, length: u32) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let (bytes, rest) = self
            .rest
            .split_at_checked(length.checked_next_multiple_of(4)?)?;
        self.rest = rest;
        bytes.get(..length)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (usize, Record<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.whole - self.rest.len();
        let (low, high) = (self.number()?, self.number()?);
        let socket = SocketId::new(u64::from(high) << 32 | u64::from(low))?;
        let (operation, fields, payload) = (self.number()?, self.number()?, self.number()?);
        let record = Record {
            socket,
            operation,
            fields: self.bytes(fields)?,
            payload: self.bytes(payload)?,
        };
        Some((at, record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_one_after_the_other() {
        let mut bytes = Vec::new();
        for (socket, operation, fields, payload) in [
            (1_u64, 7_u32, &b"ab"[..], &b"c"[..]),
            (1 << 33, 8, b"", b""),
        ] {
            bytes.extend_from_slice(&socket.to_le_bytes());
            for number in [
                operation,
                2 * u32::from(!fields.is_empty()),
                u32::from(!payload.is_empty()),
            ] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            for part in [fields, payload] {
                bytes.extend_from_slice(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
        }
        let read: Vec<_> = Records::new(&bytes)
            .map(|(at, one)| (at, one.socket.get(), one.operation, one.fields, one.payload))
            .collect();
        assert_eq!(
            read,
            [
                (0, 1, 7, &b"ab"[..], &b"c"[..]),
                (28, 1 << 33, 8, &b""[..], &b""[..])
            ]
        );
        // a truncated record is skipped
        let cut = bytes.get(..bytes.len() - 1).unwrap_or_default();
        assert_eq!(Records::new(cut).count(), 1);
    }
}
