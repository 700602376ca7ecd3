//! What a client encodes is read unchanged, however it writes its JSON; and any bytes are read without a panic.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use millrace_protocol::v1::{
    self, Id, Incoming, Okay, Operation, Publication, Since, Start, decode,
};
use proptest::prelude::*;

/// A JSON string, with an escape for each character that `escaped` selects.
fn quoted(text: &str, escaped: bool) -> String {
    let mut out = String::from("\"");
    for one in text.chars() {
        if escaped || matches!(one, '"' | '\\' | '\0'..='\x1f') {
            for unit in one.encode_utf16(&mut [0; 2]) {
                let _written = write!(out, "\\u{unit:04X}");
            }
        } else {
            out.push(one);
        }
    }
    out + "\" "
}

fn id() -> impl Strategy<Value = Id<'static>> {
    prop_oneof![
        (0u64..1 << 53).prop_map(Id::Number),
        "\\PC{0,12}".prop_map(|text| Id::Text(text.into())),
    ]
}

fn said(id: &Id<'_>, escaped: bool) -> String {
    match id {
        Id::Number(number) => number.to_string(),
        Id::Text(text) => quoted(text, escaped),
    }
}

/// A field with the name of a channel.
fn named(channel: &[u8], escaped: bool) -> String {
    match std::str::from_utf8(channel) {
        Ok(text) => format!("\"c\":{}", quoted(text, escaped)),
        Err(_) => format!("\"cb\":\"{}\"", BASE64_STANDARD.encode(channel)),
    }
}

fn channel() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "\\PC{0,20}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #[test]
    fn a_sub_decodes_to_what_was_encoded(
        id in id(), channel in channel(), epoch in "\\PC{0,16}", offset in 0u64..1 << 53, escaped in any::<bool>(),
    ) {
        let (name, e) = (named(&channel, escaped), quoted(&epoch, escaped));
        let header = format!(r#"{{"t":"sub", "since":{{"o": {offset},"e":{e}}},{name},"id":{} }}"#, said(&id, escaped));
        let incoming = decode(header.as_bytes());
        let start = Some(Start::Since(Since { epoch: epoch.into(), offset }));
        let operation = Operation::Subscribe { id, channel: channel.into(), start, info: None };
        prop_assert_eq!(incoming, Ok(Incoming { operation, payload: &[] }));
    }

    #[test]
    fn a_pub_decodes_to_what_was_encoded(
        id in prop::option::of(id()), channel in channel(), key in prop::option::of("\\PC{0,16}"),
        payload in prop::collection::vec(any::<u8>(), 0..40), escaped in any::<bool>(),
    ) {
        let mut header = format!("{{{}", named(&channel, escaped));
        if let Some(id) = &id {
            let _written = write!(header, ",\"id\":{}", said(id, escaped));
        }
        if let Some(key) = &key {
            let _written = write!(header, ",\"key\":{}", quoted(key, escaped));
        }
        let message = [header.as_bytes(), b",\"t\":\"pub\"}\n", &payload].concat();
        let incoming = decode(&message);
        let operation = Operation::Publish { id, channel: channel.into(), key: key.map(Into::into) };
        prop_assert_eq!(incoming, Ok(Incoming { operation, payload: &payload }));
    }

    #[test]
    fn headers_of_the_server_are_one_line_of_json(
        id in id(), channel in channel(), from in "\\PC{0,9}", epoch in "\\PC{0,16}", offset in 0u64..1 << 53,
    ) {
        let mut out = Vec::new();
        let publication = Publication {
            channel: &channel, offset: Some(offset), from: Some(&from), answers: Some(&id), ..Publication::default()
        };
        publication.append(&mut out);
        prop_assert!(!out.contains(&b'\n'));
        // the fields of a publication are those of an `unsub`, but for its kind and the name of the id
        let header = String::from_utf8(out).unwrap();
        let header = header.replacen('{', r#"{"t":"unsub","#, 1).replace(",\"re\":", ",\"id\":");
        let operation = Operation::Unsubscribe { id: id.clone(), channel: channel.into() };
        prop_assert_eq!(decode(header.as_bytes()), Ok(Incoming { operation, payload: &[] }));

        let mut out = Vec::new();
        Okay { position: Some((&epoch, offset)), ..Okay::new(&id) }.append(&mut out);
        prop_assert!(!out.contains(&b'\n'));
        prop_assert_eq!(decode(&out), Ok(Incoming { operation: Operation::Answer { id }, payload: &[] }));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _read = decode(&bytes);
    }

    #[test]
    fn any_fields_are_read_without_a_panic(
        fields in prop::collection::vec((
            prop::sample::select(vec!["t", "id", "c", "cb", "since", "last", "info", "key", "m", "limit", "reverse", "after", "code"]),
            prop::sample::select(vec!["\"sub\"", "\"pub\"", "\"hist\"", "1", "1.5", "null", "\"\\ud800\"", "\"YQ==\"", "{\"e\":\"\",\"o\":0}", "[[]]", "true", ""]),
        ), 0..8),
    ) {
        let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        let header = format!("{{{}}}", fields.join(","));
        if let Err(bad) = decode(header.as_bytes()) {
            prop_assert!(!bad.reason.is_empty());
        }
    }
}

#[test]
fn a_compact_value_has_only_the_spaces_of_its_texts() {
    for (value, compact) in [
        ("1", "1"),
        (" [ 1 ,\t2 ]\r", "[1,2]"),
        (r#"{ "a b" : " c \" d " }"#, r#"{"a b":" c \" d "}"#),
        (r#"[ "\\" , "\\\" x" ]"#, r#"["\\","\\\" x"]"#),
        ("\"\u{e9} \u{1f600}\"", "\"\u{e9} \u{1f600}\""),
    ] {
        assert_eq!(v1::compact(value), compact);
    }
}

#[test]
fn members_are_a_list() {
    let mut out = Vec::new();
    v1::append_member_list([], &mut out);
    v1::append_member_list([("1", None), ("2\"", Some("{}"))], &mut out);
    assert_eq!(out, br#"[][{"s":"1"},{"s":"2\"","info":{}}]"#);
}
