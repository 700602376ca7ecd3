//! What one side encodes, the other side decodes unchanged.

use std::fmt::Write as _;

use millrace_protocol::splice::{
    Allowlist, CONTROL, Call, CallError, ClosedName, Gone, Host, Incoming, Method, Prefix, Problem,
    Target, append_closed, append_connected, append_error, append_warning, decode_call,
};
use proptest::prelude::*;

/// Writes a JSON string with additional blanks, and with an escape for each character that `escaped`
/// selects.
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

fn token() -> impl Strategy<Value = String> {
    "x[a-zA-Z0-9!#$%&'*+.^_`|~-]{0,12}"
}

proptest! {
    #[test]
    fn a_connect_decodes_to_what_was_encoded(
        id in any::<i64>(),
        url in "\\PC{0,40}",
        headers in prop::collection::btree_map("x[a-z0-9-]{1,8}", "[!-~\u{e9}\u{1f600}]{0,12}", 0..5),
        names in prop::collection::btree_set(token(), 0..5),
        timeout in any::<i64>(),
        escaped in any::<bool>(),
    ) {
        let quoted = |text: &str| quoted(text, escaped);
        let members = headers.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
        let members = members.collect::<Vec<_>>().join(",");
        let list = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
        let document = format!(
            "{{\"method\" : {}, \"params\":\n{{ {}: {}, \"headers\": {{ {members} }}, \"subprotocols\": [ {list} ],\t\"timeout\":{timeout} }}, \"id\":{id}}}\r\n",
            quoted("connect"), quoted("url"), quoted(&url),
        );
        let seen = decode_call(document.as_bytes());
        let Ok(Incoming::Call(Call { id: same, method: Method::Connect(params) })) = seen else {
            panic!("{document}: {seen:?}");
        };
        prop_assert_eq!((same, params.url), (id, url));
        let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
        prop_assert!(params.headers.iter().eq(pairs));
        prop_assert!(params.subprotocols.iter().eq(names.iter().map(String::as_str)));
        prop_assert_eq!(params.timeout, u64::try_from(timeout).ok().filter(|timeout| *timeout > 0));
    }

    #[test]
    fn messages_are_valid_json_for_any_text(
        id in any::<i64>(),
        index in 0..CONTROL,
        code in any::<u16>(),
        text in any::<String>(),
        problem in prop::sample::select(&Problem::ALL[..]),
        unclean in any::<bool>(),
    ) {
        let gone = Gone { index, code, reason: &text, unclean };
        let (mut replies, mut events) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        append_connected(id, index, Some(&text), &mut replies[0]);
        append_error(id, problem, &text, &mut replies[1]);
        append_warning(problem, &text, &mut events[0]);
        append_closed(ClosedName::OnSocketDisconnect, gone, &mut events[1]);
        for message in &replies {
            let mut rest = &message[..];
            prop_assert_eq!(Prefix::new().take(&mut rest), Some(CONTROL));
            prop_assert_eq!(decode_call(rest), Ok(Incoming::Reply));
        }
        for message in &events {
            let mut rest = &message[..];
            prop_assert_eq!(Prefix::new().take(&mut rest), Some(CONTROL));
            let event = Call { id: 0, method: Method::Unknown };
            prop_assert_eq!(decode_call(rest), Ok(Incoming::Call(event)));
        }
    }

    #[test]
    fn a_parsed_url_parses_to_itself(
        url in "(ws|wss|WS|Wss)://([a-z@:.]{0,5}@)?([a-zA-Z0-9.-]{1,12}|\\[[0-9a-f:.]{2,12}\\]|[0-9.x]{1,12})(:[0-9]{0,5})?([/?][ -~\u{e9}]{0,16})?",
    ) {
        let Ok(target) = Target::parse(&url) else { return Ok(()) };
        let again = Target::parse(&target.to_string());
        prop_assert_eq!(again.as_ref(), Ok(&target), "{}", url);
        let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        prop_assert!(visible(target.path()) && visible(&target.authority()));
        prop_assert!(!target.authority().contains(['@', '/', '?', '#', '\\', '%']));
        prop_assert!(target.port() != 0);
        let list = Allowlist::parse([&*target.host().to_string()]).unwrap();
        prop_assert!(list.allows(target.host()));
    }

    #[test]
    fn a_name_is_never_a_valid_address(text in "[0-9a-fxA-FX.]{1,20}") {
        let Ok(Host::Name(name)) = Host::parse(&text) else { return Ok(()) };
        let last = name.rsplit('.').next().unwrap();
        let digits = last.strip_prefix("0x").unwrap_or(last);
        let radix = if digits.len() < last.len() { 16 } else { 10 };
        prop_assert!(!digits.chars().all(|one| one.is_digit(radix)), "{}", text);
        prop_assert!(name.parse::<std::net::IpAddr>().is_err());
    }

    #[test]
    fn any_bytes_are_a_call_or_an_error(document in prop::collection::vec(
        prop_oneof![4 => prop::sample::select(b"{}[]\",:0123eE+-.\\u \n".to_vec()), 1 => any::<u8>()], 0..60)) {
        let is_object = document.trim_ascii().starts_with(b"{") && std::str::from_utf8(&document).is_ok();
        prop_assert!(is_object || decode_call(&document) == Err(CallError::Unparsable));
    }
}
