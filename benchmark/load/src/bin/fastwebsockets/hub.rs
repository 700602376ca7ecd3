//! The handlers of the other peers, and the members of each channel.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::outbox::{Out, Outbox};

/// Which handler the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Echo,
    Headline,
    Fanout,
    Channels,
}

/// All connections and channels of the one thread.
#[derive(Debug)]
pub(crate) struct Hub {
    kind: Kind,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    next_id: usize,
    sockets: HashMap<usize, Rc<Outbox>>,
    channels: HashMap<String, HashMap<usize, Rc<Outbox>>>,
    /// The channels of each connection, so that it leaves them without a search.
    joined: HashMap<usize, Vec<String>>,
    group: usize,
}

const GROUP: usize = 10;
/// The position of the channel's name in a publication to one of many channels.
const NAME: std::ops::Range<usize> = 17..23;

impl Hub {
    pub(crate) fn new(kind: Kind) -> Self {
        let state = RefCell::default();
        Self { kind, state }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn add(&self, outbox: Rc<Outbox>) -> usize {
        let mut state = self.state.borrow_mut();
        state.next_id += 1;
        let id = state.next_id;
        state.sockets.insert(id, outbox);
        id
    }

    pub(crate) fn remove(&self, id: usize) {
        let mut state = self.state.borrow_mut();
        state.sockets.remove(&id);
        for name in state.joined.remove(&id).unwrap_or_default() {
            if let Some(members) = state.channels.get_mut(&name) {
                members.remove(&id);
                if members.is_empty() {
                    state.channels.remove(&name);
                }
            }
        }
    }

    pub(crate) fn handle(&self, id: usize, payload: &[u8]) {
        let text = str::from_utf8(payload).unwrap_or_default();
        let mut state = self.state.borrow_mut();
        match (self.kind, payload.first()) {
            (Kind::Headline, _) => state.headline(id, text),
            (Kind::Fanout, Some(b'p')) => state.publish("all", text),
            (Kind::Channels, Some(b'p')) => state.publish(text.get(NAME).unwrap_or_default(), text),
            (kind, first) => {
                match (kind, first) {
                    (Kind::Fanout, Some(b's')) => state.subscribe(id, "all".to_owned()),
                    (Kind::Channels, Some(b's')) => state.subscribe_many(id, &text[1..]),
                    _ => {}
                }
                state.send(id, text);
            }
        }
    }
}

impl State {
    fn send(&self, id: usize, text: &str) {
        if let Some(outbox) = self.sockets.get(&id) {
            outbox.push(Out::Text(text.as_bytes().into()));
        }
    }

    fn publish(&self, channel: &str, text: &str) {
        let text: Rc<[u8]> = text.as_bytes().into();
        for outbox in self
            .channels
            .get(channel)
            .into_iter()
            .flat_map(HashMap::values)
        {
            outbox.push(Out::Text(Rc::clone(&text)));
        }
    }

    fn subscribe(&mut self, id: usize, channel: String) {
        let Some(outbox) = self.sockets.get(&id) else {
            return;
        };
        let members = self.channels.entry(channel.clone()).or_default();
        if members.insert(id, Rc::clone(outbox)).is_none() {
            self.joined.entry(id).or_default().push(channel);
        }
    }

    /// Parses `<first>,<step>,<count>` and subscribes to these channels.
    fn subscribe_many(&mut self, id: usize, numbers: &str) {
        let mut numbers = numbers.split(',').map(|word| word.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        let (first, step, count): (usize, usize, usize) = (next(), next(), next());
        for index in 0..count {
            self.subscribe(id, format!("c{:05}", first + index * step));
        }
    }

    fn headline(&mut self, id: usize, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        if message["type"] == "sub" {
            let full = |members: &HashMap<_, _>| members.len() >= GROUP;
            let current = format!("g{}", self.group);
            self.group += usize::from(self.channels.get(&current).is_some_and(full));
            let name = format!("g{}", self.group);
            self.subscribe(id, name.clone());
            self.send(id, &format!(r#"{{"type":"sub-ack","ch":"{name}"}}"#));
        } else {
            let (channel, t) = (&message["channel"], &message["t"]);
            let channel = channel.as_str().unwrap_or_default();
            self.publish(channel, &format!(r#"{{"type":"evt","t":{t}}}"#));
            self.send(id, &format!(r#"{{"type":"ack","t":{t}}}"#));
        }
    }
}
