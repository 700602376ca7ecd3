//! Calls of the application to clients of `millrace.v1`: what is read meanwhile, and when a call is over.

use std::sync::Arc;

use millrace_core::{Kind, Pattern, ShardSet};

use super::v1::ask;
use crate::config::{ChannelTerms, ClientPublishing, ClientTerms};
use crate::doorbell::Doorbell;
use crate::event::{Answers, Handlers, Place, Reply};
use crate::shard::stage::{Actor, Speaks, Stage};

struct Silent;

impl Doorbell for Silent {
    fn ring(&self) {}
}

/// Who calls clients.
struct Caller {
    answers: Arc<Answers>,
    /// The places of its calls, which would be free without it.
    places: Vec<Arc<Place>>,
}

impl Caller {
    fn new() -> Self {
        Self {
            answers: Answers::new(Arc::new(Silent)),
            places: Vec::new(),
        }
    }

    /// Calls the client of a connection; the answer has this number.
    fn call(&mut self, stage: &Stage, actor: &Actor, number: u32) {
        let mut dirty = ShardSet::default();
        let asked = (number, &self.answers);
        let place = stage
            .hub
            .call_client(actor.socket, ("m", None), asked, &mut dirty);
        stage.hub.wake(&mut dirty);
        self.places.push(place.expect("few questions wait"));
    }
}

/// A stage whose worker is asked about everything, and answers nothing.
fn stage() -> Stage {
    let more = Handlers::PUBLISH | Handlers::CALL;
    let stage = Stage::handling(more, |_| {});
    let terms = ChannelTerms {
        pattern: Pattern::new(b"*").unwrap(),
        text: b"*"[..].into(),
        compress: true,
        presence: false,
        clients: ClientTerms {
            publish: ClientPublishing::Unnamed,
            ..ClientTerms::default()
        },
        history: None,
    };
    stage.hub.set_channel_terms(&[terms], &stage.shard.limits);
    stage
}

fn publish(actor: &Actor, ids: std::ops::Range<u32>) {
    for id in ids {
        ask(
            actor,
            &format!("{{\"t\":\"pub\",\"id\":{id},\"c\":\"a\"}}\nx"),
        );
    }
}

/// How often a text is in what a client has received since the last look.
fn count(actor: &Actor, text: &str) -> usize {
    String::from_utf8_lossy(&actor.got()).matches(text).count()
}

#[test]
fn a_client_that_is_called_is_read_however_much_of_it_waits() {
    let stage = stage();
    let actor = stage.open(Speaks::V1);
    actor.read_all();
    publish(&actor, 0..200);
    stage.run();
    assert_eq!(count(&actor, "\"limit\""), 0, "the rest is not read");
    let mut caller = Caller::new();
    caller.call(&stage, &actor, 7);
    stage.run();
    let got = String::from_utf8_lossy(&actor.got()).into_owned();
    assert!(
        got.contains("{\"t\":\"call\",\"id\":1,\"m\":\"m\"}"),
        "{got}"
    );
    assert_eq!(got.matches("\"limit\"").count(), 72, "{got}");
    // a subscription may end, once
    for id in ["\"first\"", "\"second\""] {
        let unsubscribe = format!("{{\"t\":\"unsub\",\"id\":{id},\"c\":\"a\"}}");
        ask(&actor, &unsubscribe);
    }
    stage.run();
    let got = String::from_utf8_lossy(&actor.got()).into_owned();
    assert!(
        got.contains("\"second\"") && !got.contains("\"first\""),
        "{got}"
    );
    ask(&actor, "{\"t\":\"ok\",\"id\":1}\nyes");
    stage.run();
    let said = Reply::Said(Kind::Text, b"yes"[..].into());
    assert_eq!(caller.answers.take(), [(7, said)]);
    // nothing is waited for any more, so the connection is not read
    publish(&actor, 200..300);
    stage.run();
    assert_eq!(count(&actor, "\"limit\""), 0);
    caller.call(&stage, &actor, 8);
    stage.run();
    assert_eq!(count(&actor, "\"limit\""), 100);
    stage.assert_nothing_left();
    assert_eq!(caller.answers.take(), [(8, Reply::Closed)]);
}

/// The client answers a call with a payload of this length, over 64 KiB.
fn answer(actor: &Actor, id: u32, length: u32) {
    let header = format!("{{\"t\":\"ok\",\"id\":{id}}}\n");
    let all = u64::from(length) + u64::try_from(header.len()).expect("short");
    let payload = vec![b'x'; usize::try_from(length).expect("it fits")];
    let mut peer = actor.peer.borrow_mut();
    // masked with zeros
    peer.feed(&[0x81, 0xff]);
    peer.feed(&all.to_be_bytes());
    peer.feed(&[0; 4]);
    peer.feed(header.as_bytes());
    peer.feed(&payload);
}

#[test]
fn answers_of_one_client_wait_for_the_caller_only_as_far_as_one_message_may_be_long() {
    let stage = stage();
    let (actor, other) = (stage.open(Speaks::V1), stage.open(Speaks::V1));
    let mut caller = Caller::new();
    for (client, numbers) in [(&actor, 1..=3), (&other, 4..=4), (&actor, 5..=5)] {
        client.read_all();
        for number in numbers {
            caller.call(&stage, client, number);
        }
    }
    stage.run();
    let long = u32::try_from(stage.listener.config.limits.message_bytes / 2).expect("16 MiB");
    for (client, id) in [(&actor, 1), (&actor, 2), (&other, 1)] {
        answer(client, id, long - 20);
        stage.run();
    }
    ask(
        &actor,
        &format!("{{\"t\":\"ok\",\"id\":3}}\n{}", "x".repeat(41)),
    );
    stage.run();
    let result = |(number, reply): (u32, Reply)| match reply {
        Reply::Said(_, payload) => (number, Ok(payload.len())),
        Reply::Failed(code, reason) => (number, Err((code, reason.is_some()))),
        other => panic!("{other:?}"),
    };
    let results: Vec<_> = caller.answers.take().into_iter().map(result).collect();
    let said = usize::try_from(long - 20).expect("it fits");
    let limited: Result<usize, (Box<str>, bool)> = Err(("limit".into(), true));
    let expected = [(1, Ok(said)), (2, Ok(said)), (4, Ok(said)), (3, limited)];
    assert_eq!(results, expected);
    // the caller has taken them
    ask(
        &actor,
        &format!("{{\"t\":\"ok\",\"id\":4}}\n{}", "x".repeat(41)),
    );
    stage.run();
    assert_eq!(caller.answers.take().len(), 1);
    assert!(!actor.is_done(), "the client has done nothing wrong");
    stage.assert_nothing_left();
}

#[test]
fn a_call_that_nobody_waits_for_any_more_lets_nothing_through() {
    let stage = stage();
    let actor = stage.open(Speaks::V1);
    actor.read_all();
    let mut caller = Caller::new();
    caller.call(&stage, &actor, 1);
    publish(&actor, 0..128);
    stage.run();
    let place = caller.places.remove(0);
    assert!(place.free(), "it is not answered");
    publish(&actor, 128..300);
    stage.run();
    // one that was read before the session knew
    assert_eq!(count(&actor, "\"limit\""), 1);
    // it is not read, so its end would only be noticed by a ping
    assert!(stage.close(&actor, 1000));
    stage.assert_nothing_left();
}

#[test]
fn calls_are_over_when_the_connection_begins_to_close() {
    let stage = stage();
    let actor = stage.open(Speaks::V1);
    actor.read_all();
    let mut caller = Caller::new();
    caller.call(&stage, &actor, 1);
    stage.run();
    // the peer does not answer the close
    assert!(stage.close(&actor, 4000));
    caller.call(&stage, &actor, 2);
    stage.run();
    assert!(!actor.is_done());
    let mut answers = caller.answers.take();
    answers.sort_by_key(|answer| answer.0);
    assert_eq!(answers, [(1, Reply::Closed), (2, Reply::Closed)]);
    stage.assert_nothing_left();
}

#[test]
fn calls_are_over_when_the_peer_has_closed_and_its_worker_is_busy() {
    let stage = stage();
    let actor = stage.open(Speaks::V1);
    actor.read_all();
    ask(&actor, "{\"t\":\"call\",\"id\":1,\"m\":\"m\"}");
    let mut caller = Caller::new();
    caller.call(&stage, &actor, 1);
    stage.run();
    actor.peer.borrow_mut().feed(b"\x88\x80\0\0\0\0");
    stage.run();
    assert_eq!(caller.answers.take(), [(1, Reply::Closed)]);
    // the socket is there until the worker has handled what came before
    caller.call(&stage, &actor, 2);
    stage.run();
    assert!(!actor.is_done());
    assert_eq!(caller.answers.take(), [(2, Reply::Closed)]);
    stage.assert_nothing_left();
}
