//! Which bytes may occur in each part of a head, and small functions that split one.

/// RFC 9110 §5.6.2.
const TOKEN: u8 = 1;
/// RFC 3986 §2, with the percent sign and without the fragment's `#`.
const TARGET: u8 = 2;
/// Characters that browsers leave unescaped in a query, in addition to `TARGET`.
const QUERY: u8 = 4;
/// RFC 3986 §3.2.2 with a port.
const HOST: u8 = 8;

static KINDS: [u8; 256] = kinds();

const fn kinds() -> [u8; 256] {
    let mut table = [0; 256];
    add(
        &mut table,
        TOKEN | TARGET | QUERY | HOST,
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    );
    add(&mut table, TOKEN, b"!#$%&'*+-.^_`|~");
    add(&mut table, TARGET | QUERY, b"-._~:/?[]@!$&'()*+,;=%");
    add(&mut table, QUERY, b"{}|\\^`");
    add(&mut table, HOST, b"-._~:[]!$&'()*+,;=%");
    table
}

#[expect(
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "const: runs in the compiler only"
)]
const fn add(table: &mut [u8; 256], kind: u8, bytes: &[u8]) {
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] |= kind;
        at += 1;
    }
}

#[inline]
fn all(bytes: &[u8], kind: u8) -> bool {
    bytes.iter().all(|&byte| {
        KINDS
            .get(usize::from(byte))
            .is_some_and(|is| is & kind != 0)
    })
}

/// Whether all bytes may occur in a token. True for no bytes.
#[inline]
pub(super) fn token_chars(bytes: &[u8]) -> bool {
    all(bytes, TOKEN)
}

/// Returns the token at the beginning, which may be empty, and what follows it.
#[inline]
pub(super) fn split_behind_token(bytes: &[u8]) -> (&[u8], &[u8]) {
    let is_of_token = |byte: &u8| {
        KINDS
            .get(usize::from(*byte))
            .is_some_and(|is| is & TOKEN != 0)
    };
    let length = bytes.iter().position(|byte| !is_of_token(byte));
    let length = length.unwrap_or(bytes.len());
    bytes.split_at_checked(length).unwrap_or((bytes, b""))
}

/// Whether the path of a target has only valid characters.
pub(super) fn path_chars(bytes: &[u8]) -> bool {
    all(bytes, TARGET)
}

/// Whether the query of a target has only valid characters.
pub(super) fn query_chars(bytes: &[u8]) -> bool {
    all(bytes, QUERY)
}

/// Whether a target has only characters that `node:http` accepts: visible ASCII.
pub(super) fn node_target_chars(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_graphic)
}

/// Whether a `Host` has only valid characters.
pub(super) fn host_chars(bytes: &[u8]) -> bool {
    all(bytes, HOST)
}

/// Whether a header's value has no control character except HTAB. Has no branches, so that the compiler can
/// vectorise it.
#[inline]
pub(super) fn is_value(bytes: &[u8]) -> bool {
    let bad = bytes.iter().fold(0, |bad, &byte| {
        bad | u8::from(byte < 0x20 && byte != b'\t') | u8::from(byte == 0x7f)
    });
    bad == 0
}

/// Removes blanks and tabs at both ends.
#[inline]
pub(super) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Returns the parts before and after the first `byte`.
#[inline]
pub(super) fn split_once(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let (before, rest) = bytes.split_at_checked(memchr::memchr(byte, bytes)?)?;
    Some((before, rest.get(1..)?))
}

/// Whether a header's value, which is a list of tokens, contains this token, ignoring case.
pub fn lists(value: &[u8], token: &[u8]) -> bool {
    // most lists have one element
    value.eq_ignore_ascii_case(token) || lists_among(value, token)
}

fn lists_among(value: &[u8], token: &[u8]) -> bool {
    value.len() > token.len()
        && value
            .split(|&byte| byte == b',')
            .any(|item| trim(item).eq_ignore_ascii_case(token))
}
