//! Which files never change under their name, so that browsers need not revalidate them.

use super::options::Immutable;

/// Whether the content of this file never changes under its name.
pub(super) fn covers(rule: &Immutable, path: &str) -> bool {
    match rule {
        Immutable::Never => false,
        Immutable::HashedNames => is_hashed(path),
        Immutable::Below(prefixes) => prefixes.iter().any(|prefix| path.starts_with(prefix)),
    }
}

/// Whether a name contains a hash of the content, as build tools write it: `app.3f9a2c1b.js`, `app-3f9a2c1b.png`,
/// `app-BcD12_x9.css`. A word or a date is not a hash.
fn is_hashed(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut parts = name.split('.');
    let (Some(stem), Some(extension)) = (parts.next(), parts.next_back()) else {
        return false;
    };
    if parts.any(is_hex_hash) {
        return true;
    }
    if stem
        .rsplit_once('-')
        .is_some_and(|(_, end)| is_hex_hash(end))
    {
        return true;
    }
    // a hash in base64 or base32 looks like a name, so it counts only with an extension that build tools write
    let at = stem.len().saturating_sub(MIXED_LENGTH + 1);
    BUILT.contains(&extension)
        && at > 0
        && stem
            .get(at..)
            .and_then(|end| end.strip_prefix('-'))
            .is_some_and(is_mixed_hash)
}

/// Eight or more hexadecimal digits, with both letters and numerals.
fn is_hex_hash(text: &str) -> bool {
    text.len() >= 8
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Capitals and numerals, with or without small letters.
fn is_mixed_hash(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// The length of such hashes in the tools that use them.
const MIXED_LENGTH: usize = 8;

/// Extensions of files that build tools write.
const BUILT: [&str; 8] = ["js", "mjs", "css", "map", "wasm", "woff", "woff2", "ttf"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_distinguished_from_words_and_dates() {
        for name in [
            "/app.3f9a2c1b.js",
            "/app.3f9a2c1b.js.map",
            "/a/b/app-3f9a2c1b0d.css",
            "/logo-3f9a2c1b.png",
            "/index-BcD12_x9.js",
            "/chunk-5HKCXJ4M.js",
            "/index-B-d12-x9.css",
        ] {
            assert!(is_hashed(name), "{name}");
        }
        for name in [
            "/app.js",
            "/3f9a2c1b",
            "/report-20240131.pdf",
            "/report.20240131.css",
            "/some-component.js",
            "/list-UserCard.js",
            "/trip-DSC00012.jpg",
            "/jquery-3.7.1.min.js",
            "/-BcD12_x9.js",
            "/deadbeef/app.js",
            "/a-facade.js",
            "/",
            "",
        ] {
            assert!(!is_hashed(name), "{name}");
        }
    }

    #[test]
    fn folders_can_be_named_instead() {
        let rule = Immutable::Below(vec!["/assets/".to_owned()]);
        assert!(covers(&rule, "/assets/a.js"));
        assert!(!covers(&rule, "/app.3f9a2c1b.js"));
        assert!(!covers(&Immutable::Never, "/app.3f9a2c1b.js"));
        assert!(covers(&Immutable::HashedNames, "/app.3f9a2c1b.js"));
    }
}
