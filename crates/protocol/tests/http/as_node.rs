//! The additional requests that are accepted for a listener of Node, and those that are refused for
//! it, too.

use millrace_protocol::http::{Inspector, InspectorConfig, Outcome, Refusal, apart};

fn outcome(line: &str, as_node: bool) -> Outcome {
    let config = InspectorConfig {
        as_node,
        ..InspectorConfig::default()
    };
    let request = format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n");
    Inspector::new()
        .inspect(request.as_bytes(), &config)
        .outcome
}

#[test]
fn methods_and_targets_of_node_are_accepted_only_for_node() {
    for (line, refusal) in [
        ("PROPFIND /", Refusal::MethodUnknown),
        ("M-SEARCH /", Refusal::MethodUnknown),
        ("GET /%zz", Refusal::Target),
        ("GET /%", Refusal::Target),
        ("GET /<a>\"`{b}|^\\#c?<d>\"#", Refusal::Target),
        ("GET http://a/%zz", Refusal::Target),
    ] {
        assert_eq!(outcome(line, true), Outcome::More, "{line}");
        assert_eq!(outcome(line, false), Outcome::Refused(refusal), "{line}");
    }
}

#[test]
fn requests_that_node_refuses_are_refused_for_node_too() {
    for (line, refusal) in [
        ("BREW /", Refusal::MethodUnknown),
        ("propfind /", Refusal::MethodUnknown),
        ("GET /\u{e9}", Refusal::Target),
        ("GET /\u{7f}", Refusal::Target),
        ("GET a", Refusal::Target),
        ("GET http://a b/", Refusal::RequestLine),
        ("CONNECT /", Refusal::Target),
    ] {
        assert_eq!(outcome(line, true), Outcome::Refused(refusal), "{line}");
    }
}

#[test]
fn every_expectation_is_accepted_only_for_node() {
    for (fields, refusal) in [
        ("Expect: 100-continue", Refusal::LengthMissing),
        ("Expect: a pony", Refusal::Expectation),
        (
            "Content-Length: 1\r\nExpect: 100-continue, b",
            Refusal::Expectation,
        ),
    ] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        for (as_node, outcome) in [(true, Outcome::More), (false, Outcome::Refused(refusal))] {
            let config = InspectorConfig {
                as_node,
                ..InspectorConfig::default()
            };
            let progress = Inspector::new().inspect(request.as_bytes(), &config);
            assert_eq!(progress.outcome, outcome, "{fields}, {as_node}");
        }
    }
}

#[test]
fn separate_parts_are_checked_like_a_request_line() {
    let config = InspectorConfig {
        as_node: true,
        ..InspectorConfig::default()
    };
    assert_eq!(apart::judge(b"LOCK", b"/%zz<", 1, &config), Ok(()));
    let judged = apart::judge(b"BREW", b"/", 1, &config);
    assert_eq!(judged, Err(Refusal::MethodUnknown));
}

#[test]
fn heads_are_shown_with_their_positions() {
    let bytes = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxxGET /b HTTP/1.1\r\nHost: b\r\n\r\nGET /c";
    let mut heads = Vec::new();
    let progress =
        Inspector::new().inspect_heads(bytes, &InspectorConfig::default(), |at, head| {
            assert_eq!(&bytes[at..at + head.len()], head);
            heads.push((at, head.len()));
        });
    assert_eq!(heads, [(0, 48), (50, 28)]);
    assert_eq!(progress.passed, 78);
}
