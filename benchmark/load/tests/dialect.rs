//! Socket.IO's dialect over a real socket: the session is established as the server expects, pings
//! are answered, and a server that violates the protocol is detected.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use millrace_load::dialect::Dialect;
use millrace_load::failure::Failure;
use millrace_load::io::{Connect, Handler, Io};
use millrace_load::window::Deadline;

/// The texts that the server sends, and those that it waits for before it sends more.
#[derive(Debug, Clone, Copy)]
enum Step {
    Say(&'static str),
    Hear(&'static str),
}
use Step::{Hear, Say};

/// The messages that the generator's application got.
#[derive(Debug, Default)]
struct Heard {
    opened: bool,
    messages: Vec<String>,
}

impl Handler for Heard {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        self.opened = true;
        io.say(id, b"hello")
    }

    fn message(&mut self, _io: &mut Io, _id: usize, payload: &[u8]) -> Result<(), Failure> {
        assert!(self.opened);
        self.messages
            .push(String::from_utf8_lossy(payload).into_owned());
        Ok(())
    }
}

/// Talks to a server that follows a script, until so many messages came or there was an error.
fn talk(script: &'static [Step], messages: usize) -> Result<Vec<String>, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = listener.local_addr().expect("an address");
    let server = serve(listener, script);
    let mut io = Io::speaking(Dialect::SocketIo, target)?;
    io.open(0, Connect::default())?;
    let mut heard = Heard::default();
    let deadline = Deadline::within(30);
    let mut outcome = Ok(());
    while outcome.is_ok() && heard.messages.len() < messages {
        deadline.check("talking")?;
        outcome = io.turn(&mut heard, Duration::from_millis(20));
    }
    io.drop_connection(0);
    server.join().expect("the server heard what it waited for");
    outcome.map(|()| heard.messages)
}

fn serve(listener: TcpListener, script: &'static [Step]) -> JoinHandle<()> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a whole request");
            request.extend(byte);
        }
        let request = String::from_utf8(request).expect("a request is ASCII");
        assert!(request.starts_with("GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n"));
        let answer = "HTTP/1.1 101 Switching Protocols\r\n\
                      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        stream.write_all(answer.as_bytes()).expect("a client");
        for step in script {
            match step {
                Say(text) => {
                    let length = u8::try_from(text.len()).expect("a short text");
                    stream.write_all(&[0x81, length]).expect("a client");
                    stream.write_all(text.as_bytes()).expect("a client");
                }
                Hear(text) => assert_eq!(next_text(&mut stream), *text),
            }
        }
        // waits until the client disconnects
        let _ = stream.read(&mut [0]);
    })
}

/// The next masked text frame, a short one.
fn next_text(stream: &mut TcpStream) -> String {
    let mut head = [0; 6];
    stream.read_exact(&mut head).expect("a frame");
    assert_eq!((head[0], head[1] & 0x80), (0x81, 0x80));
    let mut payload = vec![0; usize::from(head[1] & 0x7f)];
    stream.read_exact(&mut payload).expect("a payload");
    let key = head[2..].iter().cycle();
    let plain = payload.iter().zip(key).map(|(a, b)| a ^ b).collect();
    String::from_utf8(plain).expect("a text")
}

const OPEN: Step = Say(r#"0{"sid":"a","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#);
const JOINED: Step = Say(r#"40{"sid":"b"}"#);

#[test]
fn a_session_is_established_kept_alive_and_understood() {
    let script = &[
        OPEN,
        Hear("40"),
        JOINED,
        Hear(r#"42["m","hello"]"#),
        Say("2"),
        Hear("3"),
        Say(r#"42["m","hello"]"#),
        Say(r#"42["m",{"type":"evt"}]"#),
    ];
    let messages = talk(script, 2).unwrap();
    assert_eq!(messages, ["hello", r#"{"type":"evt"}"#]);
}

#[test]
fn a_server_that_violates_the_session_is_detected() {
    let early: &[Step] = &[OPEN, Say(r#"42["m","early"]"#)];
    let twice: &[Step] = &[OPEN, JOINED, JOINED];
    let refused: &[Step] = &[OPEN, Say(r#"44{"message":"no"}"#)];
    let other: &[Step] = &[OPEN, JOINED, Say(r#"42["other","hello"]"#)];
    for script in [early, twice, refused, other] {
        let outcome = talk(script, usize::MAX);
        assert!(matches!(outcome, Err(Failure::Violation(_))), "{script:?}");
    }
}
