//! The server's side of the wire: the handshake's answer, masked frames in, unmasked frames out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The answer to an upgrade request and the request's length; `None` while it is incomplete.
pub(crate) fn answer(request: &[u8]) -> Option<(String, usize)> {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&request[..end]);
    let key = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let found = name.eq_ignore_ascii_case("sec-websocket-key");
        found.then(|| value.trim().to_owned())
    })?;
    let mut hash = sha1_smol::Sha1::new();
    hash.update(key.as_bytes());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = STANDARD.encode(hash.digest().bytes());
    let text = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    Some((text, end))
}

/// Unmasks the frame at the front of `bytes` in place: opcode, payload's range, length on the wire.
#[inline]
pub(crate) fn take(bytes: &mut [u8]) -> Option<(u8, std::ops::Range<usize>)> {
    let [first, second, ..] = *bytes else {
        return None;
    };
    let (length, head) = match second & 0x7f {
        127 => {
            let field: [u8; 8] = bytes.get(2..10)?.try_into().ok()?;
            (usize::try_from(u64::from_be_bytes(field)).ok()?, 10)
        }
        126 => (
            usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?])),
            4,
        ),
        short => (usize::from(short), 2),
    };
    let key: [u8; 4] = bytes.get(head..head + 4)?.try_into().ok()?;
    let range = head + 4..head + 4 + length;
    unmask(bytes.get_mut(range.clone())?, key);
    Some((first & 0x0f, range))
}

#[inline]
fn unmask(payload: &mut [u8], key: [u8; 4]) {
    let wide = u64::from_ne_bytes([
        key[0], key[1], key[2], key[3], key[0], key[1], key[2], key[3],
    ]);
    let mut words = payload.chunks_exact_mut(8);
    for word in &mut words {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        word.copy_from_slice(&(u64::from_ne_bytes(bytes) ^ wide).to_ne_bytes());
    }
    let rest = words.into_remainder().iter_mut();
    rest.zip(key.iter().cycle()).for_each(|(a, b)| *a ^= b);
}

/// Appends an unmasked frame.
#[inline]
pub(crate) fn put(opcode: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.push(0x80 | opcode);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..=125), _) => out.push(short),
        (_, Ok(medium)) => {
            out.push(126);
            out.extend_from_slice(&medium.to_be_bytes());
        }
        _ => {
            out.push(127);
            let long = u64::try_from(length).unwrap_or(u64::MAX);
            out.extend_from_slice(&long.to_be_bytes());
        }
    }
    for part in parts {
        out.extend_from_slice(part);
    }
}
