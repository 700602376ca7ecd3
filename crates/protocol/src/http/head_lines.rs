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

/// Replaces every character of a target that RFC 3986 does not allow by a percent sign. A stricter parser then
/// accepts a head that passed [`as_node`](super::InspectorConfig::as_node), and cannot match the changed path to one
/// that it knows.
pub fn tame(head: &mut [u8]) {
    let start = head.iter().take_while(|&&byte| byte < b' ').count();
    let Some(line) = head.get_mut(start..) else {
        return;
    };
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
    fn a_head_yields_its_target_and_lines_unchanged() {
        let head = b"\r\nGET //a%2F?b HTTP/1.1\r\nHost: a\r\nX-Two:  b \r\nx-two:c\r\n\r\n";
        let (target, lines) = target(head).unwrap();
        assert_eq!(target, b"//a%2F?b");
        let lines: Vec<_> = lines.collect();
        let expected: [(&[u8], &[u8]); 3] = [(b"Host", b"a"), (b"X-Two", b"b"), (b"x-two", b"c")];
        assert_eq!(lines, expected);
    }
}
