//! The lines of a valid head, one by one and as they were sent. Checks nothing.

use super::bytes::{path_chars, query_chars, split_once, trim};

/// Returns the target of a request, and the lines after its first line.
pub fn target(head: &[u8]) -> Option<(&[u8], HeadLines<'_>)> {
    let mut head = head;
    // skips an empty line before the request line
    while let Some(rest) = head.strip_prefix(b"\r\n") {
        head = rest;
    }
    let (line, rest) = split_once(head, b'\n')?;
    let (_, line) = split_once(line, b' ')?;
    let (target, _) = split_once(line, b' ')?;
    Some((target, HeadLines(rest)))
}

/// Changes a head that passed [`as_node`](super::InspectorConfig::as_node) for a stricter parser, which also answers
/// `Expect` itself. Every character of the target that RFC 3986 does not allow becomes a percent sign, so that the parser
/// accepts the path and cannot match it to one that it knows. `Expect` becomes `Xxpect`, because the listener of Node
/// answers it.
pub fn tame(head: &mut [u8]) {
    let start = head.iter().take_while(|&&byte| byte < b' ').count();
    let Some(head) = head.get_mut(start..) else {
        return;
    };
    let mut lines = head.split_mut(|&byte| byte == b'\n');
    if let Some(line) = lines.next() {
        tame_target(line);
    }
    for line in lines {
        if let Some((name, [b':', ..])) = line.split_at_mut_checked(EXPECT.len())
            && name.eq_ignore_ascii_case(EXPECT)
        {
            name.copy_from_slice(HIDDEN_EXPECT);
        }
    }
}

const EXPECT: &[u8] = b"expect";
const HIDDEN_EXPECT: &[u8] = b"xxpect";

fn tame_target(line: &mut [u8]) {
    let mut parts = line.split_mut(|&byte| byte == b' ');
    let Some(target) = parts.nth(1) else {
        return;
    };
    let mut in_query = false;
    for byte in target {
        let good = if in_query { query_chars } else { path_chars };
        if !good(std::slice::from_ref(byte)) {
            *byte = b'%';
        }
        in_query |= *byte == b'?';
    }
}

/// The remaining header lines: names, and values without surrounding blanks.
#[derive(Debug, Clone)]
pub struct HeadLines<'a>(&'a [u8]);

impl<'a> HeadLines<'a> {
    /// The header lines in `lines`, each with its line end.
    pub const fn of(lines: &'a [u8]) -> Self {
        Self(lines)
    }
}

impl<'a> Iterator for HeadLines<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (line, rest) = split_once(self.0, b'\n')?;
        self.0 = rest;
        let (name, value) = split_once(line.strip_suffix(b"\r").unwrap_or(line), b':')?;
        Some((name, trim(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_parsers_refuse_are_replaced_in_a_target() {
        let mut head = *b"\r\nGET /a<b\xc3%zz?c=\"^#d<> HTTP/1.1\r\nX: <\r\n\r\n";
        tame(&mut head);
        assert_eq!(head, *b"\r\nGET /a%b%%zz?c=%^%d%% HTTP/1.1\r\nX: <\r\n\r\n");
    }

    #[test]
    fn an_expectation_is_hidden_in_the_copy() {
        let mut head =
            *b"POST / HTTP/1.1\r\nExpect: a\r\neXPECT:b\r\nExpected: c\r\nX: expect:\r\n\r\n";
        tame(&mut head);
        let hidden =
            *b"POST / HTTP/1.1\r\nxxpect: a\r\nxxpect:b\r\nExpected: c\r\nX: expect:\r\n\r\n";
        assert_eq!(head, hidden);
    }

    #[test]
    fn a_head_yields_its_target_and_lines_unchanged() {
        let head = b"\r\nGET //a%2F?b HTTP/1.1\r\nHost: a\r\nX-Two:  b \r\nx-two:c\r\n\r\n";
        let (target, lines) = target(head).unwrap();
        assert_eq!(target, b"//a%2F?b");
        let lines: Vec<_> = lines.collect();
        let expected: [(&[u8], &[u8]); 3] = [(b"Host", b"a"), (b"X-Two", b"b"), (b"x-two", b"c")];
        assert_eq!(lines, expected);
    }
}
