//! Raw connections: requests written by hand, answers read to their end, and small receive buffers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::SOON;
use super::client::{Client, request};

/// A connection whose kernel buffers little for a client that does not read.
pub(crate) fn narrow(address: &str) -> TcpStream {
    use socket2::{Domain, Protocol, Socket, Type};
    let address: SocketAddr = address.parse().unwrap();
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )
    .unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream: TcpStream = socket.into();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Sends a request and begins a WebSocket client once the 101 is there.
pub(crate) fn narrow_client(address: &str) -> Client {
    let mut stream = narrow(address);
    stream.write_all(request("/").as_bytes()).unwrap();
    Client::upgraded(stream)
}

/// Sends bytes and reads the whole answer.
pub(crate) fn exchange(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(bytes).unwrap();
    rest(&mut stream)
}

/// Everything until the stream ends or is cut.
pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}, after {}", String::from_utf8_lossy(&all)),
        }
    }
    String::from_utf8(all).unwrap()
}
