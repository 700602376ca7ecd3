//! Late answers, silent servers, and what servers tell. Time is an argument: no test waits for a deadline.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::timeout;

use super::super::super::feed::{Entry, Feed, StoreError, StoredPast};
use super::super::responder::{config, link, run};
use super::super::worker::{Request, Worker};
use super::*;

/// The subject of a request that is not answered.
const LATE: &str = "late";

/// Long after every deadline.
const LATER: Duration = Duration::from_secs(60);

/// A link to a server that answers pings and all other requests.
async fn live() -> Link<&'static str> {
    let answer = |subject: &str| if subject == LATE { "" } else { "{}" };
    link(move |subject| answer(subject).to_owned()).await
}

fn ask(link: &mut Link<&'static str>, subject: &'static str, now: Instant) {
    link.request(subject, subject, &[], &[], now);
}

/// Writes, and reads what has come already: no answer.
async fn write(link: &mut Link<&'static str>) {
    poll_fn(|cx| {
        assert!(link.poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn a_question_that_is_late_on_a_live_link_ends_alone() {
    run(async {
        let (mut link, now) = (live().await, Instant::now());
        ask(&mut link, LATE, now);
        ask(&mut link, "prompt", now);
        let event = timeout(LATER, poll_fn(|cx| link.poll(cx))).await;
        assert!(matches!(event, Ok(Ok(Event::Answer("prompt", _)))));
        assert_eq!(link.overdue(now).unwrap(), None);
        assert_eq!(link.due(), Some(now + DEADLINE));
        assert_eq!(link.overdue(now + LATER).unwrap(), Some(LATE));
        assert_eq!(link.overdue(now + LATER).unwrap(), None);
        assert_eq!((link.due(), link.is_idle()), (None, true));
    });
}

#[test]
fn a_ping_that_was_answered_does_not_make_a_later_silence() {
    run(async {
        let (mut link, now) = (live().await, Instant::now());
        link.ping(now);
        let answered = poll_fn(|cx| {
            assert!(link.poll(cx).is_pending());
            if link.due().is_none() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        timeout(LATER, answered).await.expect("it is answered");
        assert_eq!(link.overdue(now + LATER).unwrap(), None);
    });
}

#[test]
fn a_server_that_says_nothing_after_a_question_is_lost() {
    run(async {
        let (mut link, now) = (live().await, Instant::now());
        ask(&mut link, LATE, now);
        write(&mut link).await;
        assert!(link.due().is_some_and(|due| due <= now + DEADLINE));
        assert_eq!(link.overdue(now).unwrap(), None);
        let lost = link.overdue(now + LATER);
        assert!(matches!(lost, Err(LinkError::Silent(_))));
    });
}

#[test]
fn a_server_does_not_owe_what_its_node_has_not_written() {
    run(async {
        let (mut link, now) = (live().await, Instant::now());
        ask(&mut link, LATE, now);
        link.ping(now);
        assert_eq!(link.overdue(now + LATER).unwrap(), Some(LATE));
        assert_eq!(link.overdue(now + LATER).unwrap(), None);
    });
}

#[test]
fn a_server_in_the_place_of_another_is_a_disturbance_and_another_order_is_none() {
    run(async {
        let mut link = link::<()>(|_| String::new()).await;
        let server = |port| Server {
            host: "10.0.0.1".to_owned(),
            port,
        };
        for (ports, disturbs) in [
            ([1, 2, 3], true),
            ([3, 1, 2], false),
            ([3, 1, 4], true),
            ([3, 1, 4], false),
        ] {
            link.heed_servers(ports.map(server).into());
            assert_eq!(link.was_disturbed(), disturbs, "{ports:?}");
        }
        // it says nothing about them
        link.heed_servers(Vec::new());
        assert!(!link.was_disturbed());
    });
}

/// A node that is told nothing.
struct Nobody;

impl Feed for Nobody {
    fn filled(&self, _: &[u8], _: StoredPast) {}
    fn next(&self, _: &[u8], _: Entry) {}
    fn failed(&self, _: &[u8], _: StoreError) {}
    fn flush(&self) {}
    fn report(&self, _: &str) {}
}

/// The next attempt to connect fails for the same reason, which was reported a second time.
#[test]
fn copies_that_this_server_cannot_keep_are_a_reason_that_lasts() {
    run(async {
        let mut link: Link<Request> = link(|_| String::new()).await;
        let config = config(link.server());
        let mut worker = Worker::new(&config, Arc::default(), (1, Arc::new(Nobody)));
        let payload = Bytes::from_static(b"{\"config\":{\"num_replicas\":3}}");
        let message = Message {
            payload,
            ..Message::default()
        };
        let answer = Event::Answer(Request::Leader(0), message);
        worker.handle(answer, &mut link, Instant::now());
        let ended = timeout(LATER, poll_fn(|cx| link.poll(cx))).await;
        assert!(matches!(ended, Ok(Err(LinkError::Unfit(..)))));
    });
}
