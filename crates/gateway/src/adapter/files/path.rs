//! Decodes and normalises a request's path, and says which paths may name a file. Accesses no file system.

use std::borrow::Cow;

/// Decodes and normalises. The result starts with a slash and has no empty segment, no `.` and no `..`; it ends with a
/// slash if the request asked for a directory. `None`: the path cannot name a file.
pub(super) fn normalise(path: &str) -> Option<Cow<'_, str>> {
    if !path.starts_with('/') {
        return None;
    }
    if is_plain(path.as_bytes()) {
        return Some(Cow::Borrowed(path));
    }
    let decoded = decode(path)?;
    if decoded.contains(['\0', '\\']) {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            // a path that leads above the root names no file
            ".." => drop(kept.pop()?),
            _ => kept.push(segment),
        }
    }
    let mut normal = String::with_capacity(decoded.len() + 1);
    for segment in &kept {
        normal.push('/');
        normal.push_str(segment);
    }
    if kept.is_empty() || DIRECTORY.iter().any(|end| decoded.ends_with(end)) {
        normal.push('/');
    }
    Some(Cow::Owned(normal))
}

/// The rest of a normalised path below `prefix` (`""`, `"/assets"`): empty, or starting with a slash.
pub(super) fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(prefix)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Whether a segment starts with a dot, apart from `.well-known`.
pub(super) fn is_hidden(path: &str) -> bool {
    path.contains("/.")
        && path
            .split('/')
            .any(|segment| segment.starts_with('.') && segment != ".well-known")
}

/// Whether Windows would take a segment for something other than the name of a file: a drive, a stream, a device, or a
/// name without its trailing dots.
pub(super) fn is_windows_trap(path: &str) -> bool {
    path.split('/').any(|segment| {
        let stem = segment.split('.').next().unwrap_or_default().trim_end();
        segment.ends_with(['.', ' '])
            || segment.contains(|character: char| {
                character.is_control() || "<>:\"|?*".contains(character)
            })
            || DEVICES.iter().any(|name| stem.eq_ignore_ascii_case(name))
            || is_port(stem)
    })
}

/// Encodes a path for `Location`. The result can only lead to the same host.
pub(super) fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            for digit in [byte >> 4, byte & 15] {
                let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                encoded.push(digit.to_ascii_uppercase());
            }
        }
    }
    encoded
}

/// Whether decoding and normalising would change nothing, as is the case for nearly every path.
fn is_plain(path: &[u8]) -> bool {
    let mut before = 0;
    path.iter().all(|&byte| {
        let fine = match byte {
            b'%' | b'\\' | 0 => false,
            b'/' | b'.' => before != b'/',
            _ => true,
        };
        before = byte;
        fine
    })
}

/// Decodes percent escapes; `None` for a broken escape, an escaped slash, or bytes that are not UTF-8.
fn decode(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        let byte = u8::try_from(high << 4 | low).ok()?;
        if byte == b'/' {
            return None;
        }
        decoded.push(byte);
    }
    String::from_utf8(decoded).ok()
}

/// Whether this is a port: `com1` to `lpt9`.
fn is_port(stem: &str) -> bool {
    let (Some(kind), Some(number)) = (stem.get(..3), stem.get(3..)) else {
        return false;
    };
    (kind.eq_ignore_ascii_case("com") || kind.eq_ignore_ascii_case("lpt"))
        && (matches!(number.as_bytes(), [b'0'..=b'9']) || ["¹", "²", "³"].contains(&number))
}

/// Ends of a path that ask for a directory.
const DIRECTORY: [&str; 3] = ["/", "/.", "/.."];

/// Names that are devices in every directory on Windows.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_are_left_alone() {
        for path in ["/", "/a", "/a/b.js", "/a/", "/a.b/c-d_e~f", "/a..b", "/a."] {
            assert!(matches!(normalise(path), Some(Cow::Borrowed(same)) if same == path));
        }
    }

    #[test]
    fn escapes_are_decoded_once_and_segments_normalised() {
        for (path, normal) in [
            ("/%61.js", "/a.js"),
            ("/a%20b", "/a b"),
            ("/%C3%A9", "/é"),
            ("/%252e%252e/a", "/%2e%2e/a"),
            ("//a///b", "/a/b"),
            ("/./a/./b/.", "/a/b/"),
            ("/a/../b", "/b"),
            ("/a/%2e%2E/b", "/b"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/.hidden", "/.hidden"),
            ("//evil.example/", "/evil.example/"),
        ] {
            assert_eq!(normalise(path).as_deref(), Some(normal), "{path}");
        }
    }

    #[test]
    fn paths_that_cannot_name_a_file_are_refused() {
        for path in [
            "",
            "*",
            "a",
            "/..",
            "/../a",
            "/a/../../b",
            "/%2e%2e/a",
            "/a%2fb",
            "/a%2F..%2Fb",
            "/a%5cb",
            "/..\\a",
            "/a%00",
            "/%",
            "/%4",
            "/%zz",
            "/%c0%ae%c0%ae/a",
            "/%ff",
        ] {
            assert_eq!(normalise(path), None, "{path}");
        }
    }

    #[test]
    fn a_prefix_ends_at_a_segment() {
        assert_eq!(below("/a/b", ""), Some("/a/b"));
        assert_eq!(below("/a/b", "/a"), Some("/b"));
        assert_eq!(below("/a", "/a"), Some(""));
        assert_eq!(below("/ab", "/a"), None);
    }

    #[test]
    fn names_that_start_with_a_dot_are_hidden() {
        for path in ["/.env", "/a/.git/config", "/.well-known/.x", "/..."] {
            assert!(is_hidden(path), "{path}");
        }
        for path in ["/", "/a.b", "/.well-known/acme", "/a./b"] {
            assert!(!is_hidden(path), "{path}");
        }
    }

    #[test]
    fn names_that_windows_reads_as_something_else_are_refused() {
        for path in [
            "/c:/x",
            "/c:",
            "/a::$DATA",
            "/a.js.",
            "/a.js ",
            "/con",
            "/NUL.txt",
            "/aux .js",
            "/com1",
            "/LPT9.x",
            "/com\u{b9}",
            "/a*",
            "/a\u{1}",
            "/a?b",
        ] {
            assert!(is_windows_trap(path), "{path}");
        }
        for path in [
            "/",
            "/a/b.js",
            "/console.js",
            "/com",
            "/com10",
            "/a b.js",
            "/nulls",
        ] {
            assert!(!is_windows_trap(path), "{path}");
        }
    }

    #[test]
    fn a_location_is_encoded() {
        assert_eq!(encode("/a b/é?#%/"), "/a%20b/%C3%A9%3F%23%25/");
    }
}
