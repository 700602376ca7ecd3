//! Channel names as subjects of NATS: a byte that a subject cannot contain is written as `%` and two hexadecimal
//! digits. So every name has one subject, and different names have different subjects. Dots between other
//! characters are kept.

/// Appends a name's subject.
pub(crate) fn encode(name: &[u8], out: &mut Vec<u8>) {
    if name.is_empty() {
        out.push(b'%');
        return;
    }
    let mut before = b'.';
    for (place, byte) in name.iter().enumerate() {
        let is_plain = match byte {
            b'.' => before != b'.' && name.get(place + 1).is_some_and(|next| *next != b'.'),
            b'%' | b'*' | b'>' => false,
            other => other.is_ascii_graphic() || !other.is_ascii(),
        };
        if is_plain {
            out.push(*byte);
        } else {
            out.push(b'%');
            out.extend([byte >> 4, byte & 15].map(hex));
        }
        before = *byte;
    }
}

/// A name's subject after a prefix.
pub(crate) fn behind(front: &[u8], name: &[u8]) -> Vec<u8> {
    let mut subject = front.to_vec();
    encode(name, &mut subject);
    subject
}

/// The name of a subject; `None` if no name has this subject.
pub(crate) fn decode(subject: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(subject.len());
    if subject != b"%" {
        let mut rest = subject;
        while let Some((first, behind)) = rest.split_first() {
            if *first != b'%' {
                name.push(*first);
                rest = behind;
                continue;
            }
            let (&[high, low], behind) = behind.split_first_chunk()?;
            name.push(unhex(high)? << 4 | unhex(low)?);
            rest = behind;
        }
    }
    let mut again = Vec::with_capacity(subject.len());
    encode(&name, &mut again);
    (again == subject).then_some(name)
}

fn hex(digit: u8) -> u8 {
    if digit < 10 {
        b'0' + digit
    } else {
        b'A' + digit - 10
    }
}

fn unhex(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'A'..=b'F' => Some(letter - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(name: &[u8]) -> String {
        let mut out = Vec::new();
        encode(name, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn ordinary_names_are_unchanged() {
        for name in ["room", "room:1", "room.1.2", "a/b-c_d", "raum-grün"] {
            assert_eq!(encoded(name.as_bytes()), name);
        }
        assert_eq!(encoded(b""), "%");
        assert_eq!(encoded(b"a b*>%"), "a%20b%2A%3E%25");
        assert_eq!(encoded(b".a..b."), "%2Ea%2E%2Eb%2E");
        assert_eq!(encoded(b"."), "%2E");
    }

    #[test]
    fn subjects_that_no_name_has_are_refused() {
        for subject in [&b"%4"[..], b"%41", b"%2a", b"a.%", b"", b"a..b"] {
            assert_eq!(decode(subject), None);
        }
    }

    proptest! {
        #[test]
        fn every_name_has_one_subject(name: Vec<u8>) {
            let mut subject = Vec::new();
            encode(&name, &mut subject);
            prop_assert!(!subject.is_empty());
            prop_assert!(subject.iter().all(|byte| !matches!(byte, b'*' | b'>' | 0..=b' ' | 127)));
            prop_assert!(subject.split(|byte| *byte == b'.').all(|token| !token.is_empty()));
            prop_assert_eq!(decode(&subject), Some(name));
        }

        #[test]
        fn any_subject_is_bounded(subject: Vec<u8>) {
            if let Some(name) = decode(&subject) {
                prop_assert!(name.len() <= subject.len());
            }
        }
    }
}
