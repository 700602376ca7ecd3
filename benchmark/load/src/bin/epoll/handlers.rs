//! The handlers of the other peers, hard-coded in Rust: echo, headline, fan-out, channels; and counting, for
//! targets behind a multiplexer.

use super::client::Client;
use super::wire;

/// Which handler the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Echo,
    Headline,
    Fanout,
    Channels,
    Count,
}

/// The members of each channel.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    groups: Vec<Vec<usize>>,
    subscribers: Vec<usize>,
    /// By number: the many channels.
    many: Vec<Vec<usize>>,
}

const TEXT: u8 = 1;
const GROUP: usize = 10;
/// The bytes of a stamp, and the end of a headline message after it.
const STAMP: usize = 17;
const END: &[u8] = br#""}"#;

/// The connections, and those with output to flush.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    pub(crate) all: Vec<Option<Client>>,
    pub(crate) touched: Vec<usize>,
}

impl Clients {
    #[inline]
    pub(crate) fn queue(&mut self, id: usize, opcode: u8, parts: &[&[u8]]) {
        let Some(client) = self.all.get_mut(id).and_then(Option::as_mut) else {
            return;
        };
        wire::put(opcode, parts, &mut client.out);
        if !client.touched {
            client.touched = true;
            self.touched.push(id);
        }
    }

    /// Counts a message. If it asks, answers with `c`, the messages and the bytes so far.
    #[inline]
    fn count(&mut self, id: usize, opcode: u8, message: &[u8], asks: bool) {
        let Some(client) = self.all.get_mut(id).and_then(Option::as_mut) else {
            return;
        };
        client.messages += 1;
        client.bytes += u64::try_from(message.len()).unwrap_or(0);
        if asks {
            let answer = format!("c{:010}{:020}", client.messages, client.bytes);
            self.queue(id, opcode, &[answer.as_bytes()]);
        }
    }
}

impl Channels {
    pub(crate) fn handle(
        &mut self,
        kind: Kind,
        clients: &mut Clients,
        id: usize,
        opcode: u8,
        text: &[u8],
    ) {
        match (kind, text.first()) {
            (Kind::Echo, _) => clients.queue(id, opcode, &[text]),
            (Kind::Fanout, Some(b'e')) => clients.queue(id, TEXT, &[text]),
            (Kind::Count, letter) => clients.count(id, opcode, text, letter == Some(&b'q')),
            (Kind::Headline, _) => self.headline(clients, id, text),
            (Kind::Fanout, Some(b's')) => {
                self.subscribers.push(id);
                clients.queue(id, TEXT, &[text]);
            }
            (Kind::Fanout, Some(b'p')) => {
                for &subscriber in &self.subscribers {
                    clients.queue(subscriber, TEXT, &[text]);
                }
            }
            (Kind::Channels, Some(b's')) => self.subscribe(clients, id, text),
            (Kind::Channels, Some(b'p')) => {
                // a stamp, a letter, and the channel's number
                let channel = text.get(STAMP + 1..STAMP + 6).map_or(0, number);
                for &member in self.many.get(channel).map_or(&[][..], |list| list) {
                    clients.queue(member, TEXT, &[text]);
                }
            }
            (Kind::Fanout | Kind::Channels, _) => {}
        }
    }

    pub(crate) fn leave(&mut self, kind: Kind, client: &Client, id: usize) {
        match kind {
            Kind::Echo | Kind::Count => {}
            Kind::Channels => {
                for list in &mut self.many {
                    list.retain(|member| *member != id);
                }
            }
            Kind::Fanout => self.subscribers.retain(|member| *member != id),
            Kind::Headline => {
                if let Some(group) = self.groups.get_mut(client.channel) {
                    group.retain(|member| *member != id);
                }
            }
        }
    }

    /// Parses `s<first>,<step>,<count>` and subscribes to these channels.
    fn subscribe(&mut self, clients: &mut Clients, id: usize, text: &[u8]) {
        let mut numbers = text[1..].split(|byte| *byte == b',').map(number);
        let mut next = || numbers.next().unwrap_or(0);
        let (first, step, count) = (next(), next(), next());
        for channel in (0..count).map(|index| first + index * step) {
            if channel >= self.many.len() {
                self.many.resize_with(channel + 1, Vec::new);
            }
            if !self.many[channel].contains(&id) {
                self.many[channel].push(id);
            }
        }
        clients.queue(id, TEXT, &[text]);
    }

    #[inline]
    fn headline(&mut self, clients: &mut Clients, id: usize, text: &[u8]) {
        // {"type":"sub"} or {"type":"req","channel":"…","t":"…"}
        if text.get(9) == Some(&b's') {
            if self.groups.last().is_none_or(|group| group.len() >= GROUP) {
                self.groups.push(Vec::with_capacity(GROUP));
            }
            let channel = self.groups.len() - 1;
            self.groups[channel].push(id);
            if let Some(client) = clients.all.get_mut(id).and_then(Option::as_mut) {
                client.channel = channel;
            }
            let name = format!("g{channel}");
            let head = br#"{"type":"sub-ack","ch":""#;
            clients.queue(id, TEXT, &[head, name.as_bytes(), END]);
            return;
        }
        let end = text.len().saturating_sub(END.len());
        let stamp = &text[end.saturating_sub(STAMP)..end];
        let name = text.get(26..).unwrap_or_default();
        if let Some(group) = self.groups.get(number(name)) {
            for &member in group {
                clients.queue(member, TEXT, &[br#"{"type":"evt","t":""#, stamp, END]);
            }
        }
        clients.queue(id, TEXT, &[br#"{"type":"ack","t":""#, stamp, END]);
    }
}

/// The number at the beginning of the text.
fn number(text: &[u8]) -> usize {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'))
}
