//! A thread that does not run until a deadline is over, while a real peer answers.

use std::cell::Cell;
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream as Blocking};
use std::thread;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::join;
use tokio::net::TcpStream;
use tokio::task::coop::poll_proceed;

use super::*;

/// A link that has asked its peer for something, if it must be answered.
struct Asking {
    stream: TcpStream,
    /// The same connection.
    same: Blocking,
    due: Option<Instant>,
}

impl Line for Asking {
    type Event = ();

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        let mut room = [0; 8];
        let mut answer = ReadBuf::new(&mut room);
        let read = Pin::new(&mut self.stream).poll_read(cx, &mut answer);
        read.map(|read| {
            read.unwrap();
            assert!(!answer.filled().is_empty(), "the peer does not close");
            self.due = None;
            Ok(())
        })
    }

    fn due(&mut self) -> Option<Instant> {
        self.due
    }

    fn cut(&mut self) {}
}

/// Asks once, and blocks the thread until the answer has come and its deadline is over.
struct Stalling {
    listener: TcpListener,
    peer: Option<Blocking>,
    end: watch::Sender<Option<Instant>>,
    noted: Notify,
    losses: Arc<AtomicU64>,
}

impl Stalling {
    fn stall(&mut self, link: &mut Asking) {
        let due = Instant::now() + Duration::from_millis(20);
        link.due = Some(due);
        let mut peer = self.listener.accept().unwrap().0;
        peer.write_all(b"answer").unwrap();
        self.peer = Some(peer);
        let deadline = Instant::now() + HANG;
        while matches!(link.same.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
        {
            assert!(Instant::now() < deadline, "the answer comes");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // the task goes on before its runtime asks the system what has come
        self.noted.notify_one();
    }
}

impl Work for Stalling {
    type Link = Asking;
    type Command = ();

    fn connect(&self, _: Server, _: (Config, Option<Encryption>)) -> Connecting<Asking> {
        let same = Blocking::connect(self.listener.local_addr().unwrap()).unwrap();
        same.set_nonblocking(true).unwrap();
        let again = same.try_clone().unwrap();
        Box::pin(async move {
            Ok(Asking {
                stream: TcpStream::from_std(again).unwrap(),
                same,
                due: None,
            })
        })
    }

    fn up(&mut self, _: &mut Asking, _: Instant) {}

    fn down(&mut self, _: Option<Asking>) {}

    fn heed(&mut self, _: Option<&mut Asking>) {}

    fn tick(&mut self, link: &mut Asking, now: Instant, _: bool) -> Result<(), LinkError> {
        if self.peer.is_none() {
            self.stall(link);
        } else if link.due.is_some_and(|due| due <= now) {
            self.end.send_replace(Some(now));
            return Err(LinkError::Silent(server(1)));
        }
        Ok(())
    }

    fn handle(&mut self, (): (), _: &mut Asking, now: Instant) {
        self.end.send_replace(Some(now));
    }

    fn has_room(&self, _: &Asking) -> bool {
        true
    }

    fn take(&mut self, (): (), _: &mut Asking, _: Instant) {}

    fn refuse(&mut self, (): ()) {}

    fn is_away(&self) -> bool {
        false
    }

    fn is_done(&self, _: &Asking) -> bool {
        true
    }

    fn wakes_at(&self) -> Option<Instant> {
        None
    }

    fn flush(&mut self) {}

    fn signals(&self) -> (&Notify, &AtomicU64) {
        (&self.noted, &*self.losses)
    }

    const LOST: &'static str = "lost";

    fn report_loss(&self, _: &LinkError) {}
}

/// Uses up with each turn what the runtime lets the tasks of a thread do in one.
async fn busy(is_over: &Cell<bool>) {
    poll_fn(|cx| {
        if is_over.get() {
            return Poll::Ready(());
        }
        while let Poll::Ready(step) = poll_proceed(cx) {
            step.made_progress();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// How often the link is lost. `is_alone`: nothing else runs on the thread.
fn losses(is_alone: bool) -> u64 {
    let (end, ended) = watch::channel(None);
    let losses = Arc::<AtomicU64>::default();
    let stalling = Stalling {
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        peer: None,
        end,
        noted: Notify::new(),
        losses: Arc::clone(&losses),
    };
    let driver = Driver::new((config(), None), stalling, None, ended);
    let is_over = Cell::new(is_alone);
    let run = async {
        driver.run().await;
        is_over.set(true);
    };
    runtime().block_on(async { join!(run, busy(&is_over)) });
    losses.load(Ordering::Relaxed)
}

#[test]
fn what_lies_unread_in_the_socket_is_not_late() {
    assert_eq!(losses(true), 0);
}

#[test]
fn what_others_leave_no_time_to_read_is_not_late() {
    assert_eq!(losses(false), 0);
}

/// Only bounds a hang.
const HANG: Duration = Duration::from_secs(60);
