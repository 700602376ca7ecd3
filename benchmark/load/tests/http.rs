//! The generator must detect every way in which an HTTP server can violate its guarantees. The tests
//! pass bytes to the scenario directly, without a socket.

use std::net::{Ipv4Addr, SocketAddr};

use millrace_load::io::{Ending, Handler, Io};
use millrace_load::scenario::http::Http;
use millrace_load::window::Windowed;

fn io() -> Io {
    Io::bare(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))).expect("an epoll instance")
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Two HTTP connections with two requests outstanding each.
fn http(io: &mut Io) -> Http {
    let mut http = Http::new(io, 2, 2, "/hello", b"hello");
    http.start(io).expect("it can start");
    http.stop();
    http
}

#[test]
fn answers_over_http_are_counted_however_they_are_cut() {
    let mut io = io();
    let mut http = http(&mut io);
    assert_eq!(http.outstanding(), 4);
    let two = [OK, OK].concat();
    assert_eq!(http.bytes(&mut io, 0, two.as_bytes()).unwrap(), two.len());
    let half = OK.len() + 10;
    let used = http.bytes(&mut io, 1, &two.as_bytes()[..half]).unwrap();
    assert_eq!(used, OK.len());
    assert_eq!(http.outstanding(), 1);
    http.bytes(&mut io, 1, OK.as_bytes()).unwrap();
    assert_eq!(http.outstanding(), 0);
    assert_eq!(http.meter().incoming, 4);
}

#[test]
fn wrong_or_unasked_answers_over_http_are_violations() {
    let mut io = io();
    let mut http = http(&mut io);
    let wrong = OK.replace("hello", "hallo");
    assert!(http.bytes(&mut io, 0, wrong.as_bytes()).is_err());
    let three = [OK; 3].concat();
    assert!(http.bytes(&mut io, 1, three.as_bytes()).is_err());
    assert!(http.closed(&mut io, 1, Ending::Cut).is_err());
    assert!(http.message(&mut io, 1, b"hello").is_err());
}
