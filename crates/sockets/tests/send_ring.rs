//! The ring, on real sockets. If the kernel refuses `io_uring`, there is nothing to test: the
//! gateway works without it.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use millrace_sockets::{SendRing, Sent};

fn ring(most: u32) -> Option<SendRing> {
    match SendRing::new(most) {
        Ok(ring) => Some(ring),
        Err(error) => {
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::Unsupported | ErrorKind::OutOfMemory
                ),
                "{error}"
            );
            None
        }
    }
}

fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("the system makes socket pairs");
    ours.set_nonblocking(true).expect("the option can be set");
    (ours, theirs)
}

#[test]
fn every_socket_gets_its_own_bytes_however_many_there_are() {
    let Some(mut ring) = ring(8) else { return };
    let mut pairs: Vec<_> = (0..100).map(|_| pair()).collect();
    for round in 0..3 {
        let texts: Vec<String> = (0..pairs.len())
            .map(|index| format!("round {round} socket {index}"))
            .collect();
        let sent = ring
            .send_each(
                pairs
                    .iter()
                    .zip(&texts)
                    .map(|((ours, _), text)| (ours.as_fd(), text.as_bytes())),
            )
            .unwrap();
        let expected: Vec<_> = texts.iter().map(|text| Sent::Bytes(text.len())).collect();
        assert_eq!(sent, expected);
        for ((_, theirs), text) in pairs.iter_mut().zip(&texts) {
            let mut got = vec![0; text.len()];
            theirs.read_exact(&mut got).unwrap();
            assert_eq!(got, text.as_bytes());
        }
    }
    assert_eq!(ring.send_each([]).unwrap(), []);
}

#[test]
fn a_full_socket_and_a_dead_one_do_not_disturb_the_others() {
    let Some(mut ring) = ring(16) else { return };
    let (mut full, _keeps_full) = pair();
    let (dead, gone) = pair();
    drop(gone);
    let (well, mut reader) = pair();
    let stuffing = vec![0; 65_536];
    let mut stuffed = 0;
    while let Ok(count) = full.write(&stuffing) {
        stuffed += count;
    }
    assert!(stuffed > 0);
    let sent = ring
        .send_each([
            (full.as_fd(), &b"no room"[..]),
            (dead.as_fd(), &b"nobody"[..]),
            (well.as_fd(), &b"fine"[..]),
        ])
        .unwrap();
    assert_eq!(sent, [Sent::Nothing, Sent::Nothing, Sent::Bytes(4)]);
    let mut got = [0; 4];
    reader.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"fine");
}

#[test]
fn a_partial_send_returns_the_bytes_sent() {
    let Some(mut ring) = ring(2) else { return };
    let (ours, _theirs) = pair();
    let large = vec![7; 64 * 1024 * 1024];
    let sent = ring.send_each([(ours.as_fd(), &large[..])]).unwrap();
    assert!(
        matches!(sent, [Sent::Bytes(count)] if *count > 0 && *count < large.len()),
        "{sent:?}"
    );
}
