//! Tests sockets of tasks: their share of the thread, and events of sockets that are gone.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use mio::Events;
use tokio::task::LocalSet;

use super::*;

/// A watch with a stream of a task, and the other end of the stream.
fn watched() -> (Rc<Watch>, Waking, UnixStream) {
    let watch = Watch::new().unwrap();
    let (own, peer) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    let stream = watch.stream(RawStream::Unix(own));
    (watch, stream, peer)
}

fn take(watch: &Watch) -> Events {
    let mut events = Events::with_capacity(8);
    watch.selector().borrow_mut().take(&mut events).unwrap();
    events
}

/// Reads and finds nothing, which has the stream registered.
async fn wait_once(stream: &mut Waking) {
    poll_fn(|cx| {
        let read = Pin::new(&mut *stream).poll_read(cx, &mut ReadBuf::new(&mut [0]));
        assert!(read.is_pending());
        Poll::Ready(())
    })
    .await;
}

/// How often `step` succeeds in a row before another task runs, at most 200 times.
async fn in_a_row(mut step: impl FnMut(&mut Context<'_>) -> Poll<io::Result<()>>) -> u32 {
    let others = Rc::new(Cell::new(false));
    let other = Rc::clone(&others);
    tokio::task::spawn_local(async move { other.set(true) });
    let mut count = 0;
    poll_fn(move |cx| {
        while count < 200 && !others.get() {
            ready!(step(cx)).unwrap();
            count += 1;
        }
        Poll::Ready(count)
    })
    .await
}

#[tokio::test]
async fn a_task_that_always_finds_input_lets_others_run() {
    let (watch, mut stream, mut peer) = watched();
    peer.write_all(&[7; 1000]).unwrap();
    for event in &take(&watch) {
        assert!(watch.wake_tasks(event));
    }
    let mut byte = [0];
    let reading = in_a_row(|cx| Pin::new(&mut stream).poll_read(cx, &mut ReadBuf::new(&mut byte)));
    assert!(LocalSet::new().run_until(reading).await < 200);
}

#[tokio::test]
async fn a_task_that_always_finds_room_lets_others_run() {
    let (_watch, mut stream, _peer) = watched();
    let writing = in_a_row(|cx| Pin::new(&mut stream).poll_write(cx, b"x").map_ok(drop));
    assert!(LocalSet::new().run_until(writing).await < 200);
    let (_watch, mut stream, _peer) = watched();
    let pieces = [IoSlice::new(b"x"), IoSlice::new(b"y")];
    let writing = in_a_row(|cx| {
        Pin::new(&mut stream)
            .poll_write_vectored(cx, &pieces)
            .map_ok(drop)
    });
    assert!(LocalSet::new().run_until(writing).await < 200);
}

#[tokio::test]
async fn an_event_of_a_stream_that_is_gone_says_nothing_of_the_next() {
    let (watch, mut first, peer) = watched();
    wait_once(&mut first).await;
    // a descriptor that a child process has inherited keeps the registration of a closed one
    let inherited = first.as_fd().try_clone_to_owned().unwrap();
    drop((take(&watch), first));
    let (own, _other) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    let mut next = watch.stream(RawStream::Unix(own));
    wait_once(&mut next).await;
    drop(take(&watch));
    drop(peer);
    let events = take(&watch);
    assert!(!events.is_empty(), "the system still reports the first one");
    for event in &events {
        watch.wake_tasks(event);
    }
    assert!(!next.is_broken());
    drop(inherited);
}

#[tokio::test]
async fn a_stream_whose_request_is_there_is_registered_when_it_is_established() {
    let (watch, mut stream, mut peer) = watched();
    peer.write_all(b"request").unwrap();
    let mut bytes = [0; 64];
    let mut buffer = ReadBuf::new(&mut bytes);
    poll_fn(|cx| Pin::new(&mut stream).poll_read(cx, &mut buffer))
        .await
        .unwrap();
    assert_eq!(buffer.filled(), b"request");
    peer.write_all(b"more").unwrap();
    assert!(take(&watch).is_empty());
    let mut stream = stream.into_polled(Token(7)).unwrap();
    let events = take(&watch);
    assert!(events.iter().all(|event| event.token() == Token(7)));
    for event in &events {
        stream.report(event);
    }
    assert!(stream.is_readable(), "what came before is reported");
}

#[tokio::test]
async fn a_stream_that_has_waited_keeps_what_it_knows_when_it_is_established() {
    let (watch, mut stream, mut peer) = watched();
    wait_once(&mut stream).await;
    peer.write_all(b"more").unwrap();
    for event in &take(&watch) {
        assert!(watch.wake_tasks(event));
    }
    assert!(stream.into_polled(Token(7)).unwrap().is_readable());
    assert!(take(&watch).iter().all(|event| event.token() == Token(7)));
}
