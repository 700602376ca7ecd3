//! Low-level sockets connected to sockets of the standard library, on loopback.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use millrace_sockets::{Fault, Place, Table, Turn};

const OWNER: usize = 7;
const SYSTEM_BAD: Result<(), Fault> = Err(Fault::System(libc::EBADF));

/// Repeats a call until it is complete.
fn wait<T>(mut call: impl FnMut() -> Result<Turn<T>, Fault>) -> Result<Turn<T>, Fault> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match call()? {
            Turn::Waiting => assert!(Instant::now() < deadline, "the call waits for ever"),
            other => return Ok(other),
        }
    }
}

fn done<T>(result: Result<Turn<T>, Fault>) -> T {
    match result {
        Ok(Turn::Done(value)) => value,
        Ok(_) => panic!("the call would block"),
        Err(fault) => panic!("{fault:?}"),
    }
}

fn tcp(table: &Table) -> u32 {
    let made = table.socket(OWNER, libc::AF_INET, libc::SOCK_STREAM, 0);
    made.expect("the system has TCP")
}

/// A low-level listener, and its port.
fn listening(table: &Table) -> (u32, u16) {
    let listener = tcp(table);
    let listens = table
        .bind(listener, "127.0.0.1", 0)
        .and_then(|()| table.listen(listener, 8));
    let own = listens.and_then(|()| table.own_address(listener));
    (listener, own.expect("loopback is available").port)
}

fn received(table: &Table, number: u32, most: usize) -> Result<Turn<Vec<u8>>, Fault> {
    let mut room = Vec::new();
    let turn = wait(|| table.receive(number, &mut room, most, 0))?;
    Ok(match turn {
        Turn::Done(()) => Turn::Done(room),
        Turn::WouldBlock => Turn::WouldBlock,
        Turn::Waiting => Turn::Waiting,
    })
}

#[test]
fn a_listener_accepts_connections() {
    let table = Table::default();
    let (listener, port) = listening(&table);
    let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (number, place) = done(wait(|| table.accept(OWNER, listener)));
    assert_eq!(place.address, "127.0.0.1");
    assert_eq!(place.port, peer.local_addr().unwrap().port());
    assert_eq!(table.peer_address(number).unwrap(), place);
    peer.write_all(b"hello").unwrap();
    assert_eq!(done(received(&table, number, 100)), b"hello");
    assert_eq!(
        table.send(number, b"world", 0, None).unwrap(),
        (Turn::Done(()), 5)
    );
    let mut answer = [0; 5];
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"world");
    assert!(table.is_connected(number).unwrap());
    peer.shutdown(Shutdown::Write).unwrap();
    assert_eq!(done(received(&table, number, 100)), b"");
    table.close(number).unwrap();
    assert_eq!(peer.read(&mut answer).unwrap(), 0);
}

#[test]
fn a_stream_that_waits_sends_everything() {
    let table = Table::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = tcp(&table);
    let port = listener.local_addr().unwrap().port();
    assert_eq!(
        wait(|| table.connect(number, "127.0.0.1", port, false)),
        Ok(Turn::Done(()))
    );
    let (mut peer, _) = listener.accept().unwrap();
    let bytes: Vec<u8> = (0..20_000_000_u32).map(|i| i.to_le_bytes()[0]).collect();
    let mut sent = 0;
    let mut slices = 0;
    let reader = loop {
        let (turn, count) = table.send(number, &bytes[sent..], 0, None).unwrap();
        sent += count;
        slices += 1;
        // the peer has not read yet, so the call has to wait
        assert_eq!(turn, Turn::Waiting);
        if slices == 2 {
            break thread::spawn(move || {
                let mut all = Vec::new();
                peer.read_to_end(&mut all).map(|_| all)
            });
        }
    };
    while sent < bytes.len() {
        let (turn, count) = table.send(number, &bytes[sent..], 0, None).unwrap();
        sent += count;
        assert_eq!(turn == Turn::Done(()), sent == bytes.len());
    }
    table.close(number).unwrap();
    assert!(reader.join().unwrap().unwrap() == bytes);
}

#[test]
fn a_descriptor_that_does_not_wait_would_block() {
    let table = Table::default();
    let (listener, port) = listening(&table);
    table.set_nonblocking(listener).unwrap();
    assert_eq!(table.accept(OWNER, listener).unwrap(), Turn::WouldBlock);
    let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (number, _) = done(wait(|| match table.accept(OWNER, listener)? {
        Turn::WouldBlock => Ok(Turn::Waiting),
        other => Ok(other),
    }));
    let flag = libc::MSG_DONTWAIT;
    let mut room = Vec::new();
    assert_eq!(
        table.receive(number, &mut room, 10, flag),
        Ok(Turn::WouldBlock)
    );
    table.set_nonblocking(number).unwrap();
    assert_eq!(
        table.receive(number, &mut room, 10, 0),
        Ok(Turn::WouldBlock)
    );
    let bytes = vec![1; 10_000_000];
    let (turn, count) = table.send(number, &bytes, 0, None).unwrap();
    assert!(turn == Turn::Done(()) && count < bytes.len());
    while table.send(number, &bytes, 0, None).unwrap().0 != Turn::WouldBlock {}
    assert!(
        !table.is_connected(number).unwrap(),
        "the socket is not writable"
    );
    drop(table);
    assert!(peer.read_to_end(&mut room).is_ok());
}

#[test]
fn datagrams_have_their_senders_addresses() {
    let table = Table::default();
    let number = table
        .socket(OWNER, libc::AF_INET, libc::SOCK_DGRAM, 0)
        .unwrap();
    table.bind(number, "127.0.0.1", 0).unwrap();
    let own = table.own_address(number).unwrap();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = peer.local_addr().unwrap().port();
    let sent = table.send(number, b"ping", 0, Some(("127.0.0.1", port)));
    assert_eq!(sent, Ok((Turn::Done(()), 4)));
    let mut buffer = [0; 10];
    let (count, from) = peer.recv_from(&mut buffer).unwrap();
    assert_eq!((&buffer[..count], from.port()), (&b"ping"[..], own.port));
    for message in [&b""[..], b"a longer one"] {
        peer.send_to(message, from).unwrap();
        let mut room = Vec::new();
        // the length returned is that of the truncated message, whatever flag is set
        let place = done(wait(|| {
            table.receive_from(number, &mut room, 8, libc::MSG_TRUNC)
        }));
        assert_eq!(room, message[..message.len().min(8)]);
        let address = "127.0.0.1".to_owned();
        assert_eq!(place, Place { address, port });
    }
}

#[test]
fn bytes_that_a_stream_discards_are_not_counted() {
    let table = Table::default();
    let (listener, port) = listening(&table);
    let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (number, _) = done(wait(|| table.accept(OWNER, listener)));
    peer.write_all(b"hello").unwrap();
    let mut room = Vec::new();
    let turn = wait(|| table.receive(number, &mut room, 5, libc::MSG_TRUNC));
    assert_eq!((turn, room.as_slice()), (Ok(Turn::Done(())), &b"hello"[..]));
}

#[test]
fn failed_connections_return_the_reason() {
    let table = Table::default();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let number = tcp(&table);
    assert_eq!(
        wait(|| table.connect(number, "127.0.0.1", port, false)),
        Err(Fault::System(libc::ECONNREFUSED))
    );
    for address in ["", "127.1", "::1", "127.0.0.1\0"] {
        assert_eq!(
            table.connect(number, address, port, false),
            Err(Fault::Address),
            "{address}"
        );
    }
    assert_eq!(
        table.peer_address(number),
        Err(Fault::System(libc::ENOTCONN))
    );
    let unknown = table.socket(OWNER, libc::AF_APPLETALK, libc::SOCK_DGRAM, 0);
    assert_eq!(unknown, Err(Fault::System(libc::EAFNOSUPPORT)));
}

#[test]
fn unix_sockets_have_paths() {
    let folder = std::env::temp_dir().join(format!("millrace-sockets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let table = Table::default();
    let number = table
        .socket(OWNER, libc::AF_UNIX, libc::SOCK_STREAM, 0)
        .unwrap();
    assert!(!table.has_ports(number));
    let path = path.to_str().unwrap();
    done(wait(|| table.connect(number, path, 0, false)));
    assert_eq!(table.peer_address(number).unwrap().address, path);
    let (mut peer, _) = listener.accept().unwrap();
    peer.write_all(b"x").unwrap();
    assert_eq!(done(received(&table, number, 9)), b"x");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_call_that_waits_ends_when_its_descriptor_is_closed() {
    let table = Table::default();
    let (listener, port) = listening(&table);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(|| table.accept(OWNER, listener)).map(|_| ()));
        // the thread may not wait yet; then the call finds the descriptor closed
        assert_eq!(table.accept(OWNER, listener), Ok(Turn::Waiting));
        table.close(listener).unwrap();
        assert_eq!(waiting.join().unwrap(), SYSTEM_BAD);
    });
    // the listener no longer exists
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn options_are_integers() {
    let table = Table::default();
    let number = tcp(&table);
    let (level, name) = (libc::SOL_SOCKET, libc::SO_KEEPALIVE);
    assert_eq!(table.option(number, level, name), Ok(0));
    table.set_option(number, level, name, 1).unwrap();
    assert_ne!(table.option(number, level, name), Ok(0));
    assert_eq!(
        table.option(number, level, libc::SO_TYPE),
        Ok(libc::SOCK_STREAM)
    );
    assert!(table.set_option(number, level, 0x7fff, 1).is_err());
    // these options would take or return the system's descriptors
    #[cfg(target_os = "linux")]
    for refused in [libc::SO_ATTACH_BPF, libc::SO_ATTACH_REUSEPORT_EBPF, 77] {
        let error = Fault::System(libc::ENOPROTOOPT);
        assert_eq!(table.set_option(number, level, refused, 0), Err(error));
        assert_eq!(table.option(number, level, refused), Err(error));
    }
}

#[test]
fn poll_returns_events() {
    let table = Table::default();
    let (listener, port) = listening(&table);
    let mut entries = [(listener, libc::POLLIN)];
    assert_eq!(table.poll(&mut entries, 0), Ok(Turn::Done(())));
    assert_eq!(entries[0].1, 0);
    entries[0].1 = libc::POLLIN;
    assert_eq!(table.poll(&mut entries, -1), Ok(Turn::Waiting));
    let _peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    entries[0].1 = libc::POLLIN;
    done(wait(|| table.poll(&mut entries, 10_000)));
    assert_eq!(entries[0].1, libc::POLLIN);
    let mut unknown = [(5, libc::POLLIN)];
    assert_eq!(table.poll(&mut unknown, 0), Err(Fault::System(libc::EBADF)));
}

#[cfg(target_os = "linux")]
#[test]
fn epoll_returns_numbers_of_the_table() {
    let table = Table::default();
    let (listener, port) = listening(&table);
    let epoll = table.epoll_create(OWNER, 0).unwrap();
    let events = libc::EPOLLIN.cast_unsigned();
    let add = || table.epoll_control(epoll, libc::EPOLL_CTL_ADD, listener, events);
    add().unwrap();
    assert_eq!(add(), Err(Fault::System(libc::EEXIST)));
    assert_eq!(table.epoll_wait(epoll, 8, 0), Ok(Turn::Done(vec![])));
    assert_eq!(table.epoll_wait(epoll, 8, 60_000), Ok(Turn::Waiting));
    let _peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    assert_eq!(
        done(wait(|| table.epoll_wait(epoll, 8, -1))),
        vec![(listener, events)]
    );
    table.close(listener).unwrap();
    assert_eq!(table.epoll_wait(epoll, 8, 0), Ok(Turn::Done(vec![])));
    let invalid = Err(Fault::System(libc::EINVAL));
    assert_eq!(table.epoll_wait(epoll, 0, 0), invalid);
    assert_eq!(table.epoll_wait(tcp(&table), 1, 0), invalid);
    assert_eq!(table.listen(epoll, 1), Err(Fault::System(libc::ENOTSOCK)));
}

#[test]
fn a_peer_that_is_gone_raises_no_signal() {
    let table = Table::default();
    let (listener, port) = listening(&table);
    let peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (number, _) = done(wait(|| table.accept(OWNER, listener)));
    table.shutdown(number, libc::SHUT_WR).unwrap();
    assert_eq!(
        table.send(number, b"x", 0, None),
        Err(Fault::System(libc::EPIPE))
    );
    assert_eq!(table.shutdown(number, 9), Err(Fault::System(libc::EINVAL)));
    drop(peer);
}
