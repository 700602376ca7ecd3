//! Input split at every position.

use millrace_protocol::splice::{CallError, Prefix, Target, decode_call};

const CALLS: [&str; 3] = [
    r#"{"id":-12,"type":"method","method":"connect","params":{"url":"wss://a.example/b?c","headers":{"a":"\u00e9\t","b":""},"subprotocols":["c","d"],"timeout":1500}}"#,
    r#" { "params" : { "index" : 3 , "code" : 1000, "reason":"\ud83d\ude00" } , "method":"terminate" , "id" : 1 } "#,
    r#"{"id":1,"type":"reply","error":{"code":4000,"message":"a","more":[null,true,false,[1.5e-3]]}}"#,
];

#[test]
fn an_index_is_the_same_however_its_message_is_split() {
    for index in [0, 5, 0x7f80, 0x8000, 0xfffe, 0xffff_u16] {
        let message = [&index.to_be_bytes()[..], b"payload"].concat();
        for first in 0..=message.len() {
            for second in first..=message.len() {
                let (mut prefix, mut found, mut payload) = (Prefix::new(), None, Vec::new());
                for piece in [
                    &message[..first],
                    &message[first..second],
                    &message[second..],
                ] {
                    let mut rest = piece;
                    if found.is_none() {
                        found = prefix.take(&mut rest);
                    }
                    payload.extend_from_slice(rest);
                }
                assert_eq!((found, &payload[..]), (Some(index), &b"payload"[..]));
                assert_eq!(prefix, Prefix::new(), "ready for the next message");
            }
        }
    }
}

#[test]
fn a_truncated_call_is_invalid() {
    for call in CALLS {
        assert!(decode_call(call.as_bytes()).is_ok(), "{call}");
        let end = call.trim_end().len();
        for cut in 0..end {
            let seen = decode_call(&call.as_bytes()[..cut]);
            assert_eq!(seen, Err(CallError::Unparsable), "{call} at {cut}");
        }
        for cut in end..call.len() {
            let seen = decode_call(&call.as_bytes()[..cut]);
            assert_eq!(seen, decode_call(call.as_bytes()));
        }
    }
}

#[test]
fn a_missing_or_changed_byte_causes_no_panic() {
    for call in CALLS {
        for at in 0..call.len() {
            let mut lost = call.as_bytes().to_vec();
            lost.remove(at);
            let _ = decode_call(&lost);
            for other in (0..=255).step_by(3).chain(*b"\"\\{}[],:0-") {
                let mut changed = call.as_bytes().to_vec();
                changed[at] = other;
                let seen = decode_call(&changed);
                let is_text = std::str::from_utf8(&changed).is_ok();
                assert!(is_text || seen == Err(CallError::Unparsable));
            }
        }
    }
}

#[test]
fn a_truncated_url_keeps_its_host() {
    let url = "wss://me:secret@sub.example.com:8443/path%20a?query=b";
    for cut in 0..=url.len() {
        let Ok(target) = Target::parse(&url[..cut]) else {
            continue;
        };
        assert!(target.is_secure());
        assert!(target.path().is_ascii() && target.path().starts_with('/'));
        // without the sign that ends it, user information is parsed as the host
        let host = if cut <= url.find('@').unwrap() {
            "me"
        } else {
            "sub.example.com"
        };
        assert!(host.starts_with(target.host().name().unwrap()));
    }
}
