//! No bytes make the parsers of the splice multiplexer panic, hold more than their limits or much more than they were
//! given, read an index differently when it comes in pieces, accept a header that ends a line, or accept a host as a
//! name that is an address. Parsed values that can be encoded decode to themselves. The first byte chooses the parser
//! for the others.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_fuzz::cut;
use millrace_protocol::splice::{
    Allowlist, Call, ClosedName, ConnectParams, Gone, Host, Incoming, MAX_INDEX, Method, Prefix,
    Problem, Target, append_closed, append_connected, append_error, decode_call, is_ascii_index,
    is_text_index, local_target,
};

fuzz_target!(|bytes: &[u8]| {
    let [kind, rest @ ..] = bytes else { return };
    match kind % 4 {
        0 => message(rest),
        1 => call(rest),
        2 => std::str::from_utf8(rest).map_or((), url),
        _ => std::str::from_utf8(rest).map_or((), list),
    }
});

/// A message with any index, in pieces.
fn message(bytes: &[u8]) {
    let [step, other, message @ ..] = bytes else {
        return;
    };
    let steps = [usize::from(*step) + 1, usize::from(*other) + 1];
    let whole = read(&[message]);
    assert_eq!(read(&cut(message, steps)), whole);
    assert_eq!(read(&message.chunks(1).collect::<Vec<_>>()), whole);
    assert_eq!(whole.0.is_some(), message.len() >= 2);
    if let (Some(index), payload) = whole
        && std::str::from_utf8(&payload).is_ok()
    {
        assert_eq!(std::str::from_utf8(message).is_ok(), is_text_index(index));
        assert!(is_text_index(index) || !is_ascii_index(index));
    }
}

fn read(pieces: &[&[u8]]) -> (Option<u16>, Vec<u8>) {
    let (mut prefix, mut index, mut payload) = (Prefix::new(), None, Vec::new());
    for piece in pieces {
        let mut rest = *piece;
        if index.is_none() {
            index = prefix.take(&mut rest);
        }
        payload.extend_from_slice(rest);
    }
    (index, payload)
}

fn call(document: &[u8]) {
    let Ok(incoming) = decode_call(document) else {
        return;
    };
    assert!(std::str::from_utf8(document).is_ok());
    let Incoming::Call(Call { id, method }) = incoming else {
        return;
    };
    match method {
        Method::Connect(params) => {
            let held = held(&params);
            assert!(held <= 8 * document.len(), "{held} of {}", document.len());
            assert!(params.timeout != Some(0));
            for (name, value) in params.headers.iter() {
                assert!(name.bytes().all(|byte| byte.is_ascii_graphic()));
                assert!(!value.contains(['\r', '\n', '\0']));
                assert!(!name.to_ascii_lowercase().starts_with("sec-websocket-"));
            }
            let said = said(id, &params);
            let again = Call {
                id,
                method: Method::Connect(params),
            };
            assert_eq!(
                decode_call(said.as_bytes()),
                Ok(Incoming::Call(again)),
                "{said}"
            );
        }
        Method::Terminate(params) => {
            assert!(params.index.is_none_or(|index| index <= MAX_INDEX));
            assert!(params.reason.len() <= 123);
            says_json(&params.reason);
        }
        Method::Unknown => {}
    }
}

/// The memory that params hold, without the struct itself.
fn held(params: &ConnectParams) -> usize {
    let headers = params.headers.iter().map(|(a, b)| a.len() + b.len() + 48);
    let names = params.subprotocols.iter().map(|name| name.len() + 24);
    params.url.capacity() + headers.sum::<usize>() + names.sum::<usize>()
}

/// A document with the same values.
fn said(id: i64, params: &ConnectParams) -> String {
    let headers = params.headers.iter();
    let headers = headers.map(|(name, value)| format!("{}:{}", quoted(name), quoted(value)));
    let names = params.subprotocols.iter().map(quoted);
    format!(
        r#"{{"id":{id},"method":"connect","params":{{"url":{},"headers":{{{}}},"subprotocols":[{}],"timeout":{},"webSocket":{}}}}}"#,
        quoted(&params.url),
        headers.collect::<Vec<_>>().join(","),
        names.collect::<Vec<_>>().join(","),
        params.timeout.unwrap_or_default().min(i64::MAX as u64),
        params.web_socket,
    )
}

fn quoted(text: &str) -> String {
    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}

/// Checks that the messages of the multiplexer are valid JSON for any text in them.
fn says_json(text: &str) {
    let gone = Gone {
        index: 0,
        code: 1000,
        reason: text,
        unclean: true,
    };
    let mut out = [Vec::new(), Vec::new(), Vec::new()];
    append_connected(1, 0, Some(text), &mut out[0]);
    append_error(1, Problem::DialFailed, text, &mut out[1]);
    append_closed(ClosedName::OnSocketClosed, gone, &mut out[2]);
    for message in out {
        assert!(
            decode_call(&message[2..]).is_ok(),
            "{}",
            message.escape_ascii()
        );
    }
}

fn url(url: &str) {
    let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if let Some(Ok(path)) = local_target(url) {
        assert!(path.starts_with('/') && visible(&path) && path.len() <= 3 * url.len());
        assert!(Target::parse(url).is_err());
    }
    let Ok(target) = Target::parse(url) else {
        return;
    };
    assert!(target.path().starts_with('/') && visible(target.path()));
    assert!(target.path().len() <= 3 * url.len() && target.port() != 0);
    assert!(
        visible(&target.authority())
            && !target.authority().contains(['@', '/', '\\', '%', '?', '#'])
    );
    assert_eq!(Target::parse(&target.to_string()).as_ref(), Ok(&target));
    host(target.host());
}

fn host(host: &Host) {
    assert_eq!(Host::parse(&host.to_string()).as_ref(), Ok(host));
    let Some(name) = host.name() else { return };
    assert!(name.parse::<std::net::IpAddr>().is_err() && name.len() <= 253);
    let last = name.rsplit('.').next().unwrap_or_default();
    assert!(!last.bytes().all(|byte| byte.is_ascii_digit()));
    assert!(
        name.bytes().all(|byte| byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || b"-_.".contains(&byte))
    );
}

fn list(text: &str) {
    let Ok(list) = Allowlist::parse([text]) else {
        return;
    };
    for word in text.split([' ', ',', '\t', '\n']) {
        if let Ok(one) = Host::parse(word) {
            assert!(list.lists(&one) && list.allows(&one));
            host(&one);
        }
    }
}
