//! Splice sessions under random input of clients and targets: no panic, limited buffers, calls that are answered by the
//! protocol, and messages that reach the right target complete and in order. Over 400 lines because the steps and the
//! expected results are read together.

use std::collections::BTreeMap;

use millrace_protocol::splice::Problem;
use millrace_protocol::websocket::{Kind, Opcode, append_part};
use proptest::prelude::*;

use super::splice::{Scene, connect, control, message, play};

/// A step of a client or a target.
#[derive(Clone, Debug)]
enum Act {
    /// The client connects to a target that answers in this way.
    Connect(&'static str),
    /// The client makes a call that fails with this code.
    Fail(u16),
    Terminate(u16),
    /// The client sends something that is not a call, or is too short for one; the warning has this code.
    Nonsense(u16),
    /// The client sends to this index.
    Say(u16, usize, usize),
    /// This many bytes of the client arrive, regardless of where they are cut; 0: all.
    Feed(usize),
    ClientReads(bool),
    /// Arbitrary bytes.
    ClientRaw(Vec<u8>),
    ClientCloses,
    TargetSays(usize, usize, usize),
    TargetReads(usize, bool),
    TargetCloses(usize),
    TargetVanishes(usize),
    TargetRaw(usize, Vec<u8>),
    Settle,
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let length = prop_oneof![8..200_usize, 2_000..MOST_MESSAGE];
    let answer = prop_oneof![6 => Just("accept"), 1 => Just("refuse"), 1 => Just("vanish"), 1 => Just("hang")];
    let raw = prop::collection::vec(any::<u8>(), 1..40);
    let index = prop_oneof![20 => 0..TARGETS, 1 => Just(300_u16)];
    prop_oneof![
        6 => answer.prop_map(Act::Connect),
        2 => prop::sample::select(&[4000_u16, 4003, 4004, 4005, 4006][..]).prop_map(Act::Fail),
        2 => index.clone().prop_map(Act::Terminate),
        2 => prop::sample::select(&[4000_u16, 4001][..]).prop_map(Act::Nonsense),
        14 => (index, length.clone(), 1..4_usize).prop_map(|(i, l, f)| Act::Say(i, l, f)),
        10 => (0..300_usize).prop_map(Act::Feed),
        2 => any::<bool>().prop_map(Act::ClientReads),
        1 => raw.clone().prop_map(Act::ClientRaw),
        1 => Just(Act::ClientCloses),
        10 => (0..4_usize, length, 1..4_usize).prop_map(|(t, l, f)| Act::TargetSays(t, l, f)),
        3 => (0..4_usize, any::<bool>()).prop_map(|(t, reads)| Act::TargetReads(t, reads)),
        1 => (0..4_usize).prop_map(Act::TargetCloses),
        1 => (0..4_usize).prop_map(Act::TargetVanishes),
        1 => (0..4_usize, raw).prop_map(|(t, bytes)| Act::TargetRaw(t, bytes)),
        10 => Just(Act::Settle),
        2 => (1..100_u64).prop_map(Act::Pass),
    ]
}

const MOST_MESSAGE: usize = 6_000;
const TARGETS: u16 = 3;
const QUEUES: usize = 3;
const QUEUE: usize = 20_000;
const READ_PAUSE: usize = 5_000;

/// The expected state, and what both sides have received.
struct Life {
    scene: Scene,
    /// The client's bytes that have not arrived yet.
    unfed: Vec<u8>,
    /// The expected answers to calls by their ids, from 1; `None`: the call succeeds, or fails with one of the codes.
    calls: Vec<(&'static str, Option<u16>)>,
    /// Expected warnings by code.
    warnings: BTreeMap<u16, usize>,
    /// The index that each message was sent to; the number of a message is its place in this list.
    said: Vec<u16>,
    /// The number of messages of each target, by its call.
    of_targets: BTreeMap<i64, usize>,
    /// Calls of targets that have ended.
    ended_targets: Vec<i64>,
    /// Calls of targets that may have sent arbitrary bytes.
    raw_targets: Vec<i64>,
    /// Whether a target was closed in any way.
    has_ended: bool,
    /// Whether the client may have sent arbitrary bytes, or has closed.
    is_wild: bool,
}

impl Life {
    fn begin() -> Self {
        let limits = [
            ("targetsPerSession", u64::from(TARGETS)),
            ("targetQueueBytes", u64::try_from(QUEUE).unwrap()),
            ("controlBytes", 300),
        ];
        Self {
            scene: Scene::new(&limits, |limits| {
                limits.outbox_read_pause_bytes = READ_PAUSE;
            }),
            unfed: Vec::new(),
            calls: Vec::new(),
            warnings: BTreeMap::new(),
            said: Vec::new(),
            of_targets: BTreeMap::new(),
            ended_targets: Vec::new(),
            raw_targets: Vec::new(),
            has_ended: false,
            is_wild: false,
        }
    }

    fn call(&mut self, what: &'static str, code: Option<u16>) -> i64 {
        self.calls.push((what, code));
        i64::try_from(self.calls.len()).unwrap()
    }

    async fn act(&mut self, act: &Act) {
        match act {
            Act::Connect(answer) => {
                let code = matches!(*answer, "refuse" | "vanish").then_some(4007);
                let id = self.call(answer, code);
                self.unfed
                    .extend(connect(id, &format!("millrace:/{id}/{answer}")));
            }
            Act::Fail(code) => {
                let id = self.call("fail", Some(*code));
                self.unfed.extend(failing(id, *code));
            }
            Act::Terminate(index) => {
                let id = self.call("terminate", None);
                self.has_ended = true;
                let params = format!(r#"{{"index":{index},"code":4321}}"#);
                self.unfed.extend(control(&format!(
                    r#"{{"id":{id},"method":"terminate","params":{params}}}"#
                )));
            }
            Act::Nonsense(code) => {
                *self.warnings.entry(*code).or_default() += 1;
                let nonsense: &[u8] = match code {
                    4000 => b"\xff\xff{\"id\":1.5}",
                    _ => b"\xff",
                };
                let said = message(Kind::Binary, nonsense, 1, true);
                self.unfed.extend(said);
            }
            Act::Say(index, length, frames) => {
                let number = self.said.len();
                let text = format!("{index}:{number}:{:x<length$}", "");
                self.said.push(*index);
                let whole = [&index.to_be_bytes()[..], text.as_bytes()].concat();
                self.unfed
                    .extend(message(Kind::Binary, &whole, *frames, true));
            }
            Act::Feed(bytes) => self.feed(*bytes),
            Act::ClientReads(reads) => {
                let mut peer = self.scene.client.peer.borrow_mut();
                peer.room = 0;
                if *reads {
                    peer.give_room(usize::MAX);
                }
            }
            Act::ClientRaw(bytes) => {
                self.is_wild = true;
                self.unfed.extend(bytes);
            }
            Act::ClientCloses => {
                self.is_wild = true;
                append_part(&mut self.unfed, Opcode::Close, true, Some([0; 4]), b"");
            }
            Act::Settle => self.settle().await,
            Act::Pass(ms) => {
                self.scene.stage.pass(*ms);
                self.settle().await;
            }
            _ => self.act_of_target(act),
        }
    }

    fn act_of_target(&mut self, act: &Act) {
        let (Act::TargetSays(which, ..)
        | Act::TargetReads(which, _)
        | Act::TargetCloses(which)
        | Act::TargetVanishes(which)
        | Act::TargetRaw(which, _)) = act
        else {
            return;
        };
        // the last ones, because others may be gone
        let open = self.scene.targets.iter_mut().rev();
        let Some(target) = open.filter(|target| target.is_open).nth(*which) else {
            return;
        };
        match act {
            Act::TargetSays(_, length, frames) => {
                let number = self.of_targets.entry(target.call).or_default();
                let text = format!("{}:{number}:{:x<length$}", target.call, "");
                *number += 1;
                target.say(&message(Kind::Text, text.as_bytes(), *frames, false));
            }
            Act::TargetReads(_, reads) => target.reads = *reads,
            Act::TargetCloses(_) => {
                self.has_ended = true;
                self.ended_targets.push(target.call);
                target.say(b"\x88\x02\x0f\xa1");
            }
            Act::TargetVanishes(_) => {
                self.has_ended = true;
                self.ended_targets.push(target.call);
                target.vanish();
            }
            Act::TargetRaw(_, bytes) => {
                self.has_ended = true;
                self.raw_targets.push(target.call);
                target.say_raw(bytes);
            }
            _ => {}
        }
    }

    fn feed(&mut self, bytes: usize) {
        let bytes = if bytes == 0 { usize::MAX } else { bytes };
        let fed: Vec<u8> = self.unfed.drain(..bytes.min(self.unfed.len())).collect();
        self.scene.say(&fed);
    }

    async fn settle(&mut self) {
        self.scene.settle().await;
        let held = self.scene.stage.hub.ledgers().held();
        let begun = self.scene.stage.hub.inbound().bytes();
        // arbitrary bytes may be one long message
        if !self.is_wild && self.raw_targets.is_empty() {
            assert!(held <= MOST_HELD, "{held} bytes wait");
            assert!(
                begun <= 2 * (QUEUES + 1) * MOST_MESSAGE,
                "{begun} bytes are begun"
            );
        }
    }

    async fn end(mut self) {
        self.feed(0);
        self.scene.client.read_all();
        for target in &mut self.scene.targets {
            target.reads = true;
        }
        self.settle().await;
        // a target that the client waits for gets its time
        for _ in 0..20 {
            self.scene.stage.pass(60);
            self.settle().await;
        }
        let heard = Heard::of(&self);
        heard.judge_targets(&self);
        if !self.is_wild {
            assert_eq!(self.scene.heard.closed, None);
            heard.judge_replies(&self);
            heard.judge_messages(&self);
        }
        self.scene.end().await;
    }
}

/// The most bytes that wait for a client and its targets: each limit may be exceeded by the message that met it.
const MOST_HELD: usize = READ_PAUSE + 64 * 1024 + QUEUES * (QUEUE + 2 * MOST_MESSAGE + 200);

/// A call that fails with this code.
fn failing(id: i64, code: u16) -> Vec<u8> {
    match code {
        4000 => control(&format!(r#"{{"id":{id},"method":"connect"}}"#)),
        4003 => control(&format!(r#"{{"id":{id},"method":"resolve"}}"#)),
        4004 => control(&format!(
            r#"{{"id":{id},"method":"terminate","params":{{"index":65000}}}}"#
        )),
        4005 => connect(id, "http://a.example/"),
        _ => connect(id, "ws://a.example/"),
    }
}

/// The number after a name.
fn number(document: &str, name: &str) -> Option<i64> {
    let (_, value) = document.split_once(name)?;
    let end = value.find([',', '}'])?;
    value[..end].parse().ok()
}

/// What the client has received, in order.
#[derive(Default)]
struct Heard {
    /// Replies by the ids of calls: 0, or the code of the error.
    replies: BTreeMap<i64, i64>,
    warnings: BTreeMap<u16, usize>,
    /// The index of each target, by its call.
    indices: BTreeMap<i64, u16>,
    /// The number of messages received from each target.
    came: BTreeMap<i64, usize>,
    /// The targets that have an index at the end.
    open: BTreeMap<u16, i64>,
}

impl Heard {
    fn of(life: &Life) -> Self {
        let mut heard = Self::default();
        for (_, bytes) in &life.scene.heard.messages {
            let (index, payload) = bytes.split_first_chunk().unwrap();
            match u16::from_be_bytes(*index) {
                0xffff => heard.told(str::from_utf8(payload).unwrap()),
                index => heard.relayed(index, payload, life),
            }
        }
        heard
    }

    /// Takes a message of the control channel.
    fn told(&mut self, document: &str) {
        let code = number(document, r#""code":"#);
        if document.contains(r#""type":"reply""#) {
            let id = number(document, r#""id":"#).unwrap();
            let before = self.replies.insert(id, code.unwrap_or_default());
            assert_eq!(before, None, "one reply: {document}");
            if let Some(index) = number(document, r#""index":"#) {
                let index = u16::try_from(index).unwrap();
                assert_eq!(
                    self.open.insert(index, id),
                    None,
                    "the index was free: {document}"
                );
                self.indices.insert(id, index);
            }
        } else if document.contains("onSocketDisconnect") {
            let index = number(document, r#""index":"#).unwrap();
            let gone = self.open.remove(&u16::try_from(index).unwrap());
            assert!(gone.is_some(), "the target existed: {document}");
        } else {
            let code = u16::try_from(code.unwrap()).unwrap();
            assert!(document.contains(r#""method":"warn""#), "{document}");
            *self.warnings.entry(code).or_default() += 1;
        }
        let is_known = |code: i64| Problem::ALL.iter().any(|one| i64::from(one.code()) == code);
        let is_end = document.contains("onSocketDisconnect");
        assert!(is_end || code.is_none_or(is_known), "{document}");
    }

    /// Takes a message of a target: it has to be the next one of the target with its index.
    fn relayed(&mut self, index: u16, payload: &[u8], life: &Life) {
        let call = self.open[&index];
        if life.raw_targets.contains(&call) {
            return;
        }
        let text = str::from_utf8(payload).unwrap();
        let mut words = text.split(':');
        assert_eq!(
            words.next(),
            Some(&*call.to_string()),
            "the message is of another target"
        );
        let number: usize = words.next().unwrap().parse().unwrap();
        let came = self.came.entry(call).or_default();
        assert_eq!(number, *came, "in order, and none is missing");
        *came += 1;
    }

    /// Asserts that each target received the messages for its index, in order.
    fn judge_targets(&self, life: &Life) {
        for target in &life.scene.targets {
            let mut last = None;
            for (_, payload) in &target.got.messages {
                let Some(index) = self.indices.get(&target.call) else {
                    assert!(life.is_wild, "the client does not know the target");
                    continue;
                };
                let Some((for_index, number)) = place(payload) else {
                    assert!(life.is_wild, "the message was never sent");
                    continue;
                };
                assert_eq!(for_index, *index, "the message is for another target");
                assert!(last < Some(number), "in order, and once");
                last = Some(number);
            }
        }
    }

    /// Asserts that each call has one reply that follows the protocol.
    fn judge_replies(&self, life: &Life) {
        for (id, (what, code)) in (1_i64..).zip(&life.calls) {
            let reply = self.replies.get(&id).copied();
            match (*what, code) {
                // the dial is still in progress, or there were too many targets
                ("hang", _) => assert!(matches!(reply, None | Some(4007)), "{reply:?}"),
                ("accept", _) => assert!(matches!(reply, Some(0 | 4007)), "{reply:?}"),
                ("terminate", _) => assert!(matches!(reply, Some(0 | 4004)), "{reply:?}"),
                // there were too many targets before the call was examined
                ("fail", Some(4005 | 4006)) if reply == Some(4007) => {}
                (_, code) => assert_eq!(reply, code.map(i64::from), "{what} {id}"),
            }
        }
        let due = |code| life.warnings.get(&code).copied();
        assert_eq!(self.warnings.get(&4000).copied(), due(4000));
        assert_eq!(self.warnings.get(&4001).copied(), due(4001));
    }

    /// Asserts that a message to a target arrives, or that the client is warned.
    fn judge_messages(&self, life: &Life) {
        let targets = &life.scene.targets;
        let arrived: usize = targets.iter().map(|one| one.got.messages.len()).sum();
        let warned = self.warnings.get(&4004).copied().unwrap_or_default();
        let all = life.said.len();
        assert!(arrived + warned <= all);
        // a target whose queue is full is closed, too
        if !life.has_ended && self.open.len() == self.indices.len() {
            assert_eq!(arrived + warned, all);
        }
        for (index, call) in &self.open {
            let target = targets.iter().find(|target| target.call == *call).unwrap();
            // the answer of a target to a close may be invalid
            let is_ended = life.raw_targets.contains(call) || life.ended_targets.contains(call);
            if is_ended || target.got.closed.is_some() {
                continue;
            }
            let numbers = target.got.messages.iter();
            let numbers: Vec<_> = numbers.map(|(_, bytes)| place(bytes).unwrap().1).collect();
            let first = numbers.first().copied().unwrap_or(all);
            let sent = (first..all).filter(|number| life.said[*number] == *index);
            assert!(sent.eq(numbers), "all messages after the first");
            let came = self.came.get(call).copied().unwrap_or_default();
            let sent = life.of_targets.get(call).copied().unwrap_or_default();
            assert_eq!(came, sent, "all messages that it sent");
        }
    }
}

/// The index that a message is for, and the number of the message.
fn place(payload: &[u8]) -> Option<(u16, usize)> {
    let mut words = str::from_utf8(payload).ok()?.split(':');
    let index = words.next()?.parse().ok()?;
    Some((index, words.next()?.parse().ok()?))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn messages_reach_the_right_target_after_any_steps(
        acts in prop::collection::vec(act(), 0..120),
    ) {
        play(async {
            let mut life = Life::begin();
            for act in &acts {
                life.act(act).await;
            }
            life.end().await;
        });
    }
}
