//! The subject of an X.509 certificate (RFC 5280). The caller has verified the certificate: this module reads one field
//! and checks nothing.

/// Returns the attributes of the subject in their order. Each has a short name such as `CN`, or its dotted OID if there
/// is no short name, and a text. Values that are not text or contain control characters are omitted. `None` if the
/// bytes are not a certificate.
pub fn subject(certificate: &[u8]) -> Option<Vec<(String, String)>> {
    let mut input = certificate;
    let mut certificate = expect(&mut input, SEQUENCE)?;
    let mut signed = expect(&mut certificate, SEQUENCE)?;
    if signed.first() == Some(&VERSION) {
        read(&mut signed)?;
    }
    expect(&mut signed, INTEGER)?;
    // skips the algorithm, the issuer and the validity
    for _ in 0..3 {
        expect(&mut signed, SEQUENCE)?;
    }
    let mut sets = expect(&mut signed, SEQUENCE)?;
    let mut attributes = Vec::new();
    while !sets.is_empty() {
        let mut set = expect(&mut sets, SET)?;
        while !set.is_empty() {
            let mut attribute = expect(&mut set, SEQUENCE)?;
            let name = name(expect(&mut attribute, OID)?);
            let (tag, value) = read(&mut attribute)?;
            let value = text(tag, value).filter(|value| !value.chars().any(char::is_control));
            if let (Some(name), Some(value)) = (name, value) {
                attributes.push((name, value));
            }
        }
    }
    Some(attributes)
}

const INTEGER: u8 = 0x02;
const OID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// Context-specific, constructed, number 0.
const VERSION: u8 = 0xa0;

/// Reads the content of the next value, which must have this tag.
fn expect<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (found, content) = read(input)?;
    (found == tag).then_some(content)
}

/// Reads the tag and the content of the next value.
fn read<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, first], rest) = input.split_first_chunk::<2>()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = digits
                .iter()
                .fold(0_usize, |length, &digit| length << 8 | usize::from(digit));
            (length, rest)
        }
        // 0x80 is the indefinite form, which certificates may not use; no certificate is longer than 16 MiB
        0x80 | 0x84..=0xff => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some((tag, content))
}

fn text(tag: u8, value: &[u8]) -> Option<String> {
    match tag {
        // UTF8String, NumericString, PrintableString, IA5String, VisibleString
        0x0c | 0x12 | 0x13 | 0x16 | 0x1a => String::from_utf8(value.to_vec()).ok(),
        // TeletexString, which is Latin-1 in practice
        0x14 => Some(value.iter().map(|&byte| char::from(byte)).collect()),
        // BMPString
        0x1e if value.len().is_multiple_of(2) => {
            let units = value.chunks_exact(2).filter_map(|unit| unit.first_chunk());
            char::decode_utf16(units.map(|unit| u16::from_be_bytes(*unit)))
                .collect::<Result<_, _>>()
                .ok()
        }
        _ => None,
    }
}

/// The short names of RFC 4514, and of other attributes that are common in certificates.
fn name(oid: &[u8]) -> Option<String> {
    let short = match oid {
        [0x55, 0x04, last] => match last {
            3 => "CN",
            4 => "SN",
            5 => "serialNumber",
            6 => "C",
            7 => "L",
            8 => "ST",
            9 => "street",
            10 => "O",
            11 => "OU",
            12 => "title",
            42 => "GN",
            _ => return dotted(oid),
        },
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 1] => "UID",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 25] => "DC",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01] => "emailAddress",
        _ => return dotted(oid),
    };
    Some(short.to_owned())
}

fn dotted(oid: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut arc = 0_u64;
    for &byte in oid {
        if arc > u64::MAX >> 7 {
            return None;
        }
        arc = arc << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        if text.is_empty() {
            let first = (arc / 40).min(2);
            text = format!("{first}.{}", arc - 40 * first);
        } else {
            text.push('.');
            text.push_str(&arc.to_string());
        }
        arc = 0;
    }
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        match u8::try_from(content.len()) {
            Ok(short) if short < 0x80 => bytes.push(short),
            Ok(long) => bytes.extend([0x81, long]),
            Err(_) => {
                bytes.push(0x82);
                bytes.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
            }
        }
        bytes.extend(content);
        bytes
    }

    fn attribute(oid: &[u8], tag: u8, text: &[u8]) -> Vec<u8> {
        value(SEQUENCE, &[value(OID, oid), value(tag, text)].concat())
    }

    /// Makes a certificate with one attribute in each set.
    fn certificate(attributes: &[Vec<u8>], version: bool) -> Vec<u8> {
        let sets: Vec<u8> = attributes
            .iter()
            .flat_map(|attribute| value(SET, attribute))
            .collect();
        let mut signed = Vec::new();
        if version {
            signed.extend(value(VERSION, &value(INTEGER, &[2])));
        }
        signed.extend(value(INTEGER, &[1]));
        for _ in 0..3 {
            signed.extend(value(SEQUENCE, b""));
        }
        signed.extend(value(SEQUENCE, &sets));
        signed.extend(value(SEQUENCE, b"the rest"));
        value(SEQUENCE, &value(SEQUENCE, &signed))
    }

    const CN: &[u8] = &[0x55, 0x04, 3];

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |&(name, text): &(&str, &str)| (name.to_owned(), text.to_owned());
        list.iter().map(owned).collect()
    }

    #[test]
    fn attributes_are_read_in_their_order() {
        let long = "x".repeat(300);
        let attributes = [
            attribute(&[0x55, 0x04, 10], 0x13, b"Example"),
            attribute(&[0x55, 0x04, 11], 0x0c, "Übung".as_bytes()),
            attribute(&[0x55, 0x04, 11], 0x14, b"\xdcbung"),
            attribute(CN, 0x1e, b"\0a\0b"),
            attribute(&[0x55, 0x04, 97], 0x0c, b"unusual"),
            attribute(&[0x2a, 0x86, 0x48], 0x16, long.as_bytes()),
        ];
        let expected = pairs(&[
            ("O", "Example"),
            ("OU", "Übung"),
            ("OU", "Übung"),
            ("CN", "ab"),
            ("2.5.4.97", "unusual"),
            ("1.2.840", &long),
        ]);
        for version in [true, false] {
            assert_eq!(
                subject(&certificate(&attributes, version)).as_ref(),
                Some(&expected)
            );
        }
    }

    #[test]
    fn values_with_control_characters_are_omitted() {
        let attributes = [
            attribute(CN, 0x0c, b"admin\0.example"),
            attribute(CN, 0x0c, b"admin\nCN=root"),
            attribute(CN, 0x0c, b"\xff"),
            attribute(CN, 0x1e, b"\0"),
            attribute(CN, 0x04, b"bytes"),
            attribute(CN, 0x0c, b"user"),
        ];
        assert_eq!(
            subject(&certificate(&attributes, true)),
            Some(pairs(&[("CN", "user")]))
        );
        assert_eq!(subject(&certificate(&[], true)), Some(pairs(&[])));
    }

    #[test]
    fn a_truncated_certificate_is_refused() {
        let whole = certificate(&[attribute(CN, 0x0c, b"user")], true);
        for end in 0..whole.len() {
            assert_eq!(subject(&whole[..end]), None, "{end}");
        }
        for byte in 0..whole.len() {
            for other in [0x00, 0x7f, 0x80, 0x84, 0xff] {
                let mut bytes = whole.clone();
                bytes[byte] = other;
                let _whatever = subject(&bytes);
            }
        }
    }
}
