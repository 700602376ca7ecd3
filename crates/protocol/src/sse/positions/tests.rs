//! What event streams of channels write, and that a client that comes back with an id is told of all that it has missed.

use proptest::prelude::*;

use super::*;

fn events(stream: &mut Positions, messages: &[&str]) -> String {
    let mut out = Vec::new();
    for message in messages {
        stream.append(true, message.as_bytes(), &mut out);
    }
    String::from_utf8(out).unwrap()
}

fn subscriptions(stream: &Positions) -> Vec<String> {
    let all = stream.subscriptions();
    all.map(|message| String::from_utf8(message).unwrap())
        .collect()
}

#[test]
fn a_channel_with_history_has_ids() {
    let mut stream = Positions::new(vec!["a".into()], None);
    assert_eq!(
        subscriptions(&stream),
        ["{\"t\":\"sub\",\"id\":0,\"c\":\"a\"}"]
    );
    let told = events(
        &mut stream,
        &[
            "{\"t\":\"hi\",\"v\":1}",
            "{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":3}",
            "{\"c\":\"a\",\"o\":4,\"ts\":9}\nx\ny",
            "{\"c\":\"a\",\"o\":5,\"x\":1}",
            "{}\ndirect",
            "{\"t\":\"gap\",\"c\":\"a\",\"e\":\"cd\",\"o\":1}",
        ],
    );
    let expected = [
        "id: ab:3\n\n",
        "id: ab:4\ndata: x\ndata: y\n\n",
        "id: ab:5\n\n",
        "data: direct\n\n",
        "event: gap\ndata: {\"c\":\"a\",\"e\":\"cd\",\"o\":1}\n\nid: cd:1\n\n",
    ];
    assert_eq!(told, expected.concat());
    let mut out = Vec::new();
    stream.append(false, b"{\"c\":\"a\",\"o\":2}\n\0", &mut out);
    assert_eq!(out, b"id: cd:2\nevent: binary\ndata: AA==\n\n");
}

#[test]
fn what_the_application_has_on_its_way_is_behind_the_first_id() {
    let mut stream = Positions::new(vec!["a".into()], None);
    let told = events(
        &mut stream,
        &[
            "{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":15,\"last\":10}",
            "{\"c\":\"a\",\"o\":6,\"ts\":9}\nx",
        ],
    );
    assert_eq!(told, "id: ab:5\n\nid: ab:6\ndata: x\n\n");
}

#[test]
fn several_channels_have_a_list_and_names() {
    let mut stream = Positions::new(vec!["a".into(), "b".into()], Some("ab:3,-"));
    let since = ",\"since\":{\"e\":\"ab\",\"o\":3}}";
    assert_eq!(
        subscriptions(&stream),
        [
            format!("{{\"t\":\"sub\",\"id\":0,\"c\":\"a\"{since}"),
            "{\"t\":\"sub\",\"id\":1,\"c\":\"b\",\"since\":{\"e\":\"-\",\"o\":0}}".into()
        ]
    );
    let told = events(
        &mut stream,
        &[
            "{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":4,\"recovered\":true}",
            "{\"t\":\"ok\",\"id\":1,\"recovered\":false}",
            "{\"c\":\"a\",\"o\":4}\nx",
            "{\"c\":\"b\"}\ny",
        ],
    );
    let expected = [
        "id: ab:3,-\n\n",
        "event: gap\ndata: {\"c\":\"b\"}\n\n",
        "id: ab:3,-\n\n",
        "id: ab:4,-\nevent: a\ndata: x\n\n",
        "id: ab:4,-\nevent: b\ndata: y\n\n",
    ];
    assert_eq!(told, expected.concat());
}

#[test]
fn what_is_no_position_is_a_gap() {
    for last in [
        "x",
        "a:b:c",
        "ab:-1",
        "ab:1,cd:2",
        ",",
        "ab:9007199254740992",
        "\"e\":1",
    ] {
        let mut stream = Positions::new(vec!["a".into()], Some(last));
        assert!(
            subscriptions(&stream)[0].contains("{\"e\":\"-\",\"o\":0}"),
            "{last}"
        );
        let told = events(
            &mut stream,
            &["{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":4,\"recovered\":false}"],
        );
        assert_eq!(
            told,
            "event: gap\ndata: {\"c\":\"a\",\"e\":\"ab\",\"o\":4}\n\nid: ab:4\n\n"
        );
    }
}

#[test]
fn a_subscription_that_fails_ends_the_stream() {
    let mut stream = Positions::new(vec!["a".into()], Some(""));
    let mut out = Vec::new();
    let answer = b"{\"t\":\"err\",\"id\":0,\"code\":\"limit\",\"reason\":\"full\"}";
    assert!(!stream.append(true, answer, &mut out));
    assert_eq!(out, b"event: close\ndata: 1013 full\n\n");
}

#[test]
fn a_stream_is_settled_by_its_last_answer_or_denied_by_a_refusal() {
    let refusal = |code| format!("{{\"t\":\"err\",\"id\":1,\"code\":\"{code}\"}}");
    for (answer, outcome) in [
        ("{\"t\":\"ok\",\"id\":1}".to_owned(), Outcome::Settled),
        (refusal("failed"), Outcome::Settled),
        (refusal("timeout"), Outcome::Settled),
        (refusal("denied"), Outcome::Denied),
        (refusal("limit"), Outcome::Settled),
        (refusal("busy"), Outcome::Settled),
    ] {
        let mut stream = Positions::new(vec!["a".into(), "b".into()], None);
        assert_eq!(stream.outcome(), Outcome::Open);
        stream.append(true, b"{\"t\":\"ok\",\"id\":0}", &mut Vec::new());
        assert_eq!(stream.outcome(), Outcome::Open);
        stream.append(true, answer.as_bytes(), &mut Vec::new());
        assert_eq!(stream.outcome(), outcome, "{answer}");
        stream.append(true, refusal("denied").as_bytes(), &mut Vec::new());
        assert_eq!(stream.outcome(), outcome, "it stays");
    }
}

#[test]
fn ids_begin_with_the_first_answer() {
    let names = || ["a", "b", "c"].map(String::from).to_vec();
    let answers = [
        "{\"t\":\"ok\",\"id\":1,\"e\":\"cd\",\"o\":7}",
        "{\"c\":\"b\",\"o\":8}\nx",
        "{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":2,\"recovered\":true}",
        "{\"c\":\"a\",\"o\":2}\ny",
        "{\"t\":\"ok\",\"id\":2}",
    ];
    let told = events(&mut Positions::new(names(), None), &answers);
    let expected = [
        "id: -,cd:7,-\n\n",
        "id: -,cd:8,-\nevent: b\ndata: x\n\n",
        "id: ab:2,cd:8,-\n\n",
        "id: ab:2,cd:8,-\nevent: a\ndata: y\n\n",
    ];
    assert_eq!(told, expected.concat(), "a new client");
    let told = events(&mut Positions::new(names(), Some("ab:1,x,ef:5")), &answers);
    let expected = [
        "id: ab:1,cd:7,ef:5\n\n",
        "id: ab:1,cd:8,ef:5\nevent: b\ndata: x\n\n",
        "id: ab:2,cd:8,ef:5\nevent: a\ndata: y\n\n",
        "id: ab:2,cd:8,-\n\n",
    ];
    assert_eq!(told, expected.concat(), "one that comes back");
}

#[test]
fn a_long_message_has_the_same_event_in_pieces() {
    let messages = [
        "{\"c\":\"a\",\"o\":4}\nx\r\ny\n\rz",
        "{\"c\":\"a\",\"o\":5}\n",
        "{\"c\":\"a\",\"o\":6,\"x\":1}",
        "{\"t\":\"join\",\"c\":\"a\",\"m\":[]}",
        "{\"t\":\"gap\",\"c\":\"a\",\"e\":\"ab\",\"o\":7}",
        "{}\nto you",
    ];
    for (names, is_text) in [("a", true), ("a", false), ("a b", true), ("a b", false)] {
        let stream = || {
            let names = names.split(' ').map(str::to_owned).collect();
            let mut stream = Positions::new(names, None);
            events(
                &mut stream,
                &["{\"t\":\"ok\",\"id\":0,\"e\":\"ab\",\"o\":3}"],
            );
            stream
        };
        let (mut whole, mut cut) = (stream(), stream());
        for message in messages.map(str::as_bytes) {
            let (mut expected, mut out) = (Vec::new(), Vec::new());
            assert!(whole.append(is_text, message, &mut expected));
            let mut pieces = cut.pieces(is_text, message, &mut out).unwrap();
            for byte in message.chunks(1) {
                assert_eq!(pieces.append(byte, usize::MAX, &mut out), 1);
            }
            assert!(pieces.is_done());
            assert_eq!(out, expected);
        }
        let over = b"{\"t\":\"err\",\"id\":1,\"code\":\"limit\"}";
        assert!(cut.pieces(true, over, &mut Vec::new()).is_none());
    }
}

/// One channel, and how far its client has got.
#[derive(Debug)]
struct Watched {
    has_history: bool,
    asked: Option<u64>,
    is_answered: bool,
    /// Up to here the client got everything, or was told a gap.
    known: Option<u64>,
}

impl Watched {
    /// What the server tells next, if it may tell that now.
    fn tell(&mut self, (index, step): (usize, u8), is_new: bool) -> Option<String> {
        let Self {
            has_history,
            is_answered,
            ..
        } = *self;
        if step == 0 && !is_answered {
            self.is_answered = true;
            let is_recovered = has_history && self.asked.is_some();
            if !is_recovered {
                self.known = has_history.then_some(NEWEST);
            }
            let position = format!(",\"e\":\"e{index}\",\"o\":{NEWEST}");
            let position = if has_history { &position } else { "" };
            let recovered = format!(",\"recovered\":{is_recovered}");
            let recovered = if is_new { "" } else { &recovered };
            return Some(format!(
                "{{\"t\":\"ok\",\"id\":{index}{position}{recovered}}}"
            ));
        }
        if !is_answered || step == 0 {
            return None;
        }
        if !has_history {
            return Some(format!("{{\"c\":\"c{index}\"}}\nx"));
        }
        let offset = self.known.unwrap() + u64::from(step);
        self.known = Some(offset);
        Some(match step {
            1 if offset.is_multiple_of(2) => {
                format!("{{\"c\":\"c{index}\",\"o\":{offset},\"x\":1}}")
            }
            1 => format!("{{\"c\":\"c{index}\",\"o\":{offset},\"ts\":5}}\nx"),
            _ => format!("{{\"t\":\"gap\",\"c\":\"c{index}\",\"e\":\"e{index}\",\"o\":{offset}}}"),
        })
    }

    /// What the client says of it when it comes back: its position, or none, so that it is told a gap.
    fn check(&self, (index, subscription): (usize, &str), is_fresh: bool) {
        let (_, since) = subscription.split_once("\"since\":").expect("a position");
        if since.starts_with("{\"e\":\"-\"") {
            assert!(
                !is_fresh || !self.is_answered || !self.has_history,
                "{self:?}"
            );
            return;
        }
        assert!(
            since.starts_with(&format!("{{\"e\":\"e{index}\"")),
            "{since}"
        );
        let (_, offset) = since.rsplit_once(':').unwrap();
        let offset: u64 = offset.trim_end_matches('}').parse().unwrap();
        let most = self.known.or(self.asked.filter(|_| !self.is_answered));
        assert!(
            most.is_some_and(|most| offset <= most),
            "{offset} of {self:?}"
        );
        assert!(!is_fresh || most == Some(offset), "{offset} of {self:?}");
    }
}

/// The newest offset of each channel when the stream begins.
const NEWEST: u64 = 10;

proptest! {
    #[test]
    fn a_client_that_comes_back_gets_all_or_is_told_a_gap(
        channels in proptest::collection::vec((any::<bool>(), 0_u64..4), 1..5),
        is_new: bool,
        steps in proptest::collection::vec((0_u8..4, any::<proptest::sample::Index>()), 0..40),
    ) {
        let names: Vec<_> = (0..channels.len()).map(|index| format!("c{index}")).collect();
        let mut channels: Vec<_> = channels
            .into_iter()
            .map(|(has_history, behind)| {
                let asked = (behind > 0 && !is_new).then_some(NEWEST - behind);
                let known = asked.filter(|_| has_history);
                Watched { has_history, asked, is_answered: false, known }
            })
            .collect();
        let given: Vec<_> = channels
            .iter()
            .enumerate()
            .map(|(index, channel)| channel.asked.map_or("x".into(), |asked| format!("e{index}:{asked}")))
            .collect();
        let given = (!is_new).then(|| given.join(","));
        let mut stream = Positions::new(names.clone(), given.as_deref());
        let mut last = given;
        for (step, index) in steps {
            let index = index.index(channels.len());
            let Some(message) = channels[index].tell((index, step), is_new) else {
                continue;
            };
            let told = events(&mut stream, &[&message]);
            let newest = told.lines().rev().find_map(|line| line.strip_prefix("id: "));
            let newest = newest.map(str::to_owned);
            let is_fresh = newest.is_some();
            last = newest.or(last);
            let last = last.as_deref();
            prop_assert!(last.is_some(), "something was told, and nothing says what");
            let back = subscriptions(&Positions::new(names.clone(), last));
            for (index, channel) in channels.iter().enumerate() {
                channel.check((index, &back[index]), is_fresh);
            }
        }
    }
}
