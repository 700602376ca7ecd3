//! Bytes as text: hexadecimal digits, and base32 as the keys of NATS have it (RFC 4648 without padding). A library for both brings every
//! other encoding as well, 26 KB.

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(digit).collect()
}

/// Base32 without padding.
pub(crate) fn base32(bytes: &[u8]) -> String {
    let (mut text, mut waiting, mut bits) = (String::new(), 0_u32, 0);
    let letter = |value: u32| {
        let place = usize::try_from(value & 31).unwrap_or_default();
        LETTERS.get(place).copied().map_or('A', char::from)
    };
    for byte in bytes {
        waiting = (waiting << 8 | u32::from(*byte)) & 0xfff;
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(letter(waiting >> bits));
        }
    }
    if bits > 0 {
        text.push(letter(waiting << (5 - bits)));
    }
    text
}

/// The bytes of base32 without padding; `None`: it is none, or its last bits are not zero.
pub(crate) fn from_base32(text: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut waiting, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in text {
        let value = LETTERS.iter().position(|known| known == letter)?;
        waiting = (waiting << 5 | u32::try_from(value).ok()?) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(waiting >> bits & 0xff).ok()?);
        }
    }
    // five bits or more are a letter too many
    (bits < 5 && waiting & ((1 << bits) - 1) == 0).then_some(bytes)
}

const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_those_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
            assert_eq!(
                from_base32(text.as_bytes()),
                Some(bytes.as_bytes().to_vec())
            );
        }
        for wrong in ["M", "MZXW6Y", "mz", "MY======", "MZ", "M1"] {
            assert_eq!(from_base32(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(hex(b"\x00\x9f\xff"), "009fff");
    }

    proptest! {
        #[test]
        fn base32_leads_back_to_its_bytes(bytes: Vec<u8>) {
            prop_assert_eq!(from_base32(base32(&bytes).as_bytes()), Some(bytes));
        }

        #[test]
        fn what_is_accepted_is_what_is_written(text in "[A-Z2-7]{0,20}") {
            if let Some(bytes) = from_base32(text.as_bytes()) {
                prop_assert_eq!(base32(&bytes), text);
            }
        }
    }
}
