//! What is known about a connection's first request while it is incomplete.

use millrace_protocol::http::Inspector;

use crate::seen::small;

#[test]
fn a_first_request_of_http_1_0_is_recognised_as_soon_as_possible() {
    for (bytes, known) in [
        ("", false),
        ("GET / HTTP/1.", false),
        ("GET / HTTP/1.0", true),
        ("GET / HTTP/1.0\r", true),
        ("GET / HTTP/1.0\r\nHost: x\r\n", true),
        ("\r\nGET / HTTP/1.0\r\nHost", true),
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nX: HTTP/1.0\r\n", false),
        ("GET /HTTP/1.0", false),
        ("GET HTTP/1.0 ", false),
        ("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n", true),
        ("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhell", true),
        ("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello", false),
        (
            "POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.0",
            false,
        ),
        (
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell",
            false,
        ),
    ] {
        // in one piece, and byte by byte
        for stride in [bytes.len().max(1), 1] {
            let mut inspector = Inspector::new();
            let mut held = Vec::new();
            for read in bytes.as_bytes().chunks(stride) {
                held.extend_from_slice(read);
                let passed = inspector.inspect(&held, &small()).passed;
                held.drain(..passed);
            }
            assert_eq!(inspector.is_in_first_of_http_1_0(), known, "{bytes:?}");
        }
    }
}
