//! What the handlers of the other peers do in JavaScript, hard-coded: echo, headline, fan-out.

use super::client::Client;
use super::wire;

/// Which handler the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Echo,
    Headline,
    Fanout,
}

/// Who is in which channel.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    groups: Vec<Vec<usize>>,
    subscribers: Vec<usize>,
}

const TEXT: u8 = 1;
const GROUP: usize = 10;
/// Bytes of a stamp and of what follows it in a headline message.
const STAMP: usize = 17;
const END: &[u8] = br#""}"#;

/// The connections and those of them that have something to flush.
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
}

impl Channels {
    pub(crate) fn handle(&mut self, kind: Kind, clients: &mut Clients, id: usize, text: &[u8]) {
        match (kind, text.first()) {
            (Kind::Echo, _) | (Kind::Fanout, Some(b'e')) => clients.queue(id, TEXT, &[text]),
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
            (Kind::Fanout, _) => {}
        }
    }

    pub(crate) fn leave(&mut self, kind: Kind, client: &Client, id: usize) {
        match kind {
            Kind::Echo => {}
            Kind::Fanout => self.subscribers.retain(|member| *member != id),
            Kind::Headline => {
                if let Some(group) = self.groups.get_mut(client.channel) {
                    group.retain(|member| *member != id);
                }
            }
        }
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
        let digits = name.iter().take_while(|byte| byte.is_ascii_digit());
        let channel = digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
        if let Some(group) = self.groups.get(channel) {
            for &member in group {
                clients.queue(member, TEXT, &[br#"{"type":"evt","t":""#, stamp, END]);
            }
        }
        clients.queue(id, TEXT, &[br#"{"type":"ack","t":""#, stamp, END]);
    }
}
