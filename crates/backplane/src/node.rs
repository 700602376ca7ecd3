//! What a node does with its links, without I/O: what to subscribe to, what to send next, how to handle what is
//! received. Owns every decision; the wire encodes and decodes, and time is an argument. The control messages of nodes
//! are in [`talk`], the behaviour when the link is lost and restored in [`comeback`].

mod comeback;
mod talk;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::config::Server;
use crate::control::Said;
use crate::envelope::{self, Arrived, Content};
use crate::gauges::{Gauges, count};
use crate::interest::Interest;
use crate::links::Links;
use crate::local::{Local, Trouble};
use crate::members::{HEARTBEAT, Members};
use crate::outlet::{Outgoing, Outlet};
use crate::publish_timeout::PublishTimeout;
use crate::sequence::{Seen, Tracker};
use crate::source::Source;
use crate::topic::{Prefix, Topic};
use crate::wire::{Event, SlotRange};
use comeback::Comeback;
use talk::ANSWERS;

/// See the module.
pub(crate) struct Node {
    outlet: Arc<Outlet>,
    gauges: Arc<Gauges>,
    local: Box<dyn Local>,
    prefix: Prefix,
    interest: Interest,
    tracker: Tracker,
    members: Members,
    /// Control messages, which are sent before other messages.
    said: VecDeque<Outgoing>,
    /// Messages taken from the outlet, to be written next.
    next: VecDeque<Outgoing>,
    controls: u64,
    comeback: Comeback,
    publish_timeout: PublishTimeout,
    beats_at: Duration,
    /// How many answers to other nodes may still be sent before the next heartbeat.
    answers_left: u32,
    /// The other servers that the server has reported, since they were taken.
    servers: Option<Vec<Server>>,
    /// The slots that the server has reported, not applied yet.
    slots: Option<Vec<SlotRange>>,
    /// A request was sent to the wrong server of a cluster.
    is_moved: bool,
    /// The server was asked for the slots. Until it answers, nothing is requested or sent.
    is_stale: bool,
    /// Unsubscribing waits for capacity of the link, not for a time.
    leaves_later: bool,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("outlet", &self.outlet)
            .finish_non_exhaustive()
    }
}

impl Node {
    pub(crate) fn new(
        outlet: Arc<Outlet>,
        gauges: Arc<Gauges>,
        local: Box<dyn Local>,
        prefix: &str,
    ) -> Self {
        let mut node = Self {
            outlet,
            gauges,
            local,
            prefix: Prefix::new(prefix, ':', ';'),
            interest: Interest::new(LINGER),
            tracker: Tracker::default(),
            members: Members::default(),
            said: VecDeque::new(),
            next: VecDeque::new(),
            controls: 0,
            comeback: Comeback::default(),
            publish_timeout: PublishTimeout::default(),
            beats_at: Duration::ZERO,
            answers_left: ANSWERS,
            servers: None,
            slots: None,
            is_moved: false,
            is_stale: false,
            leaves_later: false,
        };
        node.interest.change(Topic::Control, true, Duration::ZERO);
        node
    }

    /// Lets publishers go that have waited for too long.
    pub(crate) fn relieve(&mut self, now: Duration) {
        if self.publish_timeout.look(&self.outlet, now) {
            self.local.relieved();
        }
    }

    /// Handles changes on this node.
    pub(crate) fn heed(&mut self, now: Duration) {
        let notes = self.outlet.take_notes();
        if notes.is_incomplete {
            let mut wanted = HashSet::default();
            wanted.insert(Topic::Control);
            self.local.topics(&mut |topic| {
                wanted.insert(topic);
            });
            for topic in self.interest.replace(&wanted, now) {
                self.tracker.forget(&topic);
            }
        }
        for (topic, is_wanted) in notes.changes {
            if self.interest.change(topic.clone(), is_wanted, now) {
                self.tracker.forget(&topic);
            }
        }
    }

    /// Writes requests and messages as far as the links have capacity.
    pub(crate) fn pump(&mut self, links: &mut Links, now: Duration) {
        if std::mem::take(&mut self.is_moved)
            && !std::mem::replace(&mut self.is_stale, true)
            && let Some(link) = links.first()
        {
            let (wire, output) = link.parts();
            wire.refresh(output);
        }
        if now >= self.beats_at {
            self.beats_at = now + HEARTBEAT;
            self.answers_left = ANSWERS;
            self.say_here(false);
            let own = self.own();
            self.members.expire(own, now);
        }
        self.leaves_later = self.is_stale;
        if !self.is_stale {
            self.ask(links, now);
        }
        self.announce();
        self.send(links, now);
        for link in links.each() {
            let (wire, output) = link.parts();
            wire.settle(output);
        }
        self.show(links.unconfirmed());
    }

    /// Applies a new distribution of the slots. Returns false if it needs other links.
    pub(crate) fn fits(&mut self, links: &mut Links) -> bool {
        let Some(slots) = self.slots.take() else {
            return true;
        };
        self.is_stale = false;
        links.remap(&slots)
    }

    fn ask(&mut self, links: &mut Links, now: Duration) {
        self.leaves_later = true;
        while !links.is_full() {
            let Some(topic) = self.interest.next_to_leave(now) else {
                self.leaves_later = false;
                break;
            };
            if let Some(link) = links.of(&name_of(&self.prefix, &topic)) {
                let (wire, output) = link.parts();
                wire.unsubscribe(&topic, output);
            }
        }
        while !links.is_full() {
            let Some(topic) = self.interest.next_to_ask() else {
                return;
            };
            if let Some(link) = links.of(&name_of(&self.prefix, &topic)) {
                let (wire, output) = link.parts();
                if !wire.subscribe(&topic, output) {
                    count(&self.gauges.counters.refused, 1);
                    self.interest.refused(&topic);
                    self.local.report(
                        Trouble::Refused,
                        "a channel's name is too long for the server",
                    );
                }
            }
        }
    }

    fn send(&mut self, links: &mut Links, now: Duration) {
        while let Some(said) = self.said.pop_front() {
            self.put(&said, links);
        }
        if self.is_held(now) || self.is_stale || !self.interest.is_asked() {
            return;
        }
        while !links.is_full() {
            if self.next.is_empty() && self.outlet.take(BATCH, BATCH_BYTES, &mut self.next) {
                self.local.relieved();
            }
            let Some(message) = self.next.pop_front() else {
                return;
            };
            self.put(&message, links);
        }
    }

    fn put(&mut self, message: &Outgoing, links: &mut Links) {
        let front = match (message.content, message.is_sharded) {
            (Content::Control, _) => self.prefix.control(),
            (_, true) => self.prefix.sharded(),
            (_, false) => self.prefix.channels(),
        };
        let is_put = links.of(&[front, &message.channel]).is_some_and(|link| {
            let (wire, output) = link.parts();
            wire.publish(message, output)
        });
        if !is_put && message.content != Content::Control {
            count(&self.gauges.counters.refused, 1);
            self.local.report(
                Trouble::Refused,
                "a message or its channel's name is too large for the server, or no server accepts it",
            );
        }
    }

    /// Handles an event of a server.
    pub(crate) fn handle(&mut self, event: Event<'_>, now: Duration) {
        let counters = &self.gauges.counters;
        match event {
            Event::Ready => {}
            Event::Subscribed(topic) => self.interest.subscribed(&topic),
            Event::Unsubscribed(topic) => {
                if self.interest.unsubscribed(&topic) {
                    self.tracker.forget(&topic);
                }
            }
            Event::Message(source, payload) => self.arrive(source, payload, now),
            Event::TooLong => count(&counters.malformed, 1),
            Event::Published(more) => count(&counters.sent, more),
            Event::NotPublished(text) => {
                count(&counters.refused, 1);
                self.local.report(Trouble::Refused, text);
            }
            Event::Refused(topic, text) => {
                count(&counters.refused, 1);
                self.interest.refused(&topic);
                self.local.report(Trouble::Refused, text);
            }
            Event::Slots(ranges) => self.slots = Some(ranges),
            Event::Moved => self.is_moved = true,
            Event::Servers(servers) => self.servers = Some(servers),
        }
    }

    /// The other servers that a server has reported since the last call.
    pub(crate) fn take_servers(&mut self) -> Option<Vec<Server>> {
        self.servers.take()
    }

    /// Delivers the handled messages.
    pub(crate) fn flush(&mut self) {
        self.local.flush();
    }

    fn arrive(&mut self, source: Source<'_>, payload: &[u8], now: Duration) {
        let counters = &self.gauges.counters;
        match (envelope::open(payload), source) {
            (Arrived::Wrapped(_, stamp, _), _) if stamp.node == self.outlet.node() => {}
            (Arrived::Wrapped(Content::Control, stamp, body), Source::Control) => {
                match Said::decode(body) {
                    Some(said) => self.hear(stamp.node, said, now),
                    None => count(&counters.malformed, 1),
                }
            }
            (Arrived::Malformed | Arrived::Wrapped(Content::Control, ..), _)
            | (_, Source::Control) => count(&counters.malformed, 1),
            (Arrived::Wrapped(content, stamp, body), _) => match self.tracker.see(source, stamp) {
                Seen::Again => count(&counters.duplicates, 1),
                Seen::New { missed } => {
                    count(&counters.missed, missed);
                    count(&counters.received, 1);
                    if let Some((kind, socket)) = content.message() {
                        let from = socket.map(|socket| (stamp.node, socket));
                        let to = source.destination();
                        self.local.deliver(to, (kind, body), from);
                    }
                }
            },
            (Arrived::Plain(body), _) => {
                count(&counters.received, 1);
                count(&counters.foreign, 1);
                let kind = if envelope::is_text(body) {
                    millrace_core::Kind::Text
                } else {
                    millrace_core::Kind::Binary
                };
                self.local.deliver(source.destination(), (kind, body), None);
            }
        }
    }

    fn show(&self, unconfirmed: u64) {
        let counters = &self.gauges.counters;
        let confirmed = self.interest.confirmed();
        let pending = self.interest.len() - confirmed;
        let number = |value| u64::try_from(value).unwrap_or(u64::MAX);
        for (counter, value) in [
            (&counters.subscriptions, number(confirmed)),
            (&counters.pending_subscriptions, number(pending)),
            (&counters.in_flight, number(self.next.len()) + unconfirmed),
        ] {
            counter.store(value, Ordering::Relaxed);
        }
    }

    /// Whether messages that were taken from the outlet are not written yet.
    pub(crate) fn has_messages(&self) -> bool {
        !self.next.is_empty()
    }

    /// Whether messages or control messages are not written yet.
    pub(crate) fn has_next(&self) -> bool {
        !self.next.is_empty() || !self.said.is_empty()
    }

    /// Drops the messages that were taken from the outlet and will not be sent.
    pub(crate) fn abandon(&mut self) {
        let left = u64::try_from(self.next.len()).unwrap_or(u64::MAX);
        self.next.clear();
        self.outlet.abandon(left);
        self.show(0);
    }

    /// Tells the application that the link is up.
    pub(crate) fn tell_ready(&self) {
        self.local.is_ready();
    }

    /// Reports a problem to this node's application.
    pub(crate) fn report(&self, trouble: Trouble, message: &str) {
        self.local.report(trouble, message);
    }

    /// Whether this node has more deliveries than it can handle.
    pub(crate) fn is_congested(&self) -> bool {
        self.local.is_congested()
    }

    /// When there is something to do if nothing happens before; only while the link is up.
    pub(crate) fn wakes_at(&self, now: Duration) -> Duration {
        let mut at = self.beats_at;
        if let Some(leaves) = self.interest.wakes_at()
            && !self.leaves_later
        {
            at = at.min(leaves);
        }
        if let Some(expires) = self.members.wakes_at() {
            at = at.min(expires);
        }
        at = at.min(self.held_until(now));
        self.publish_timeout_ends(now)
            .map_or(at, |ends| at.min(ends))
    }

    /// When waiting publishers time out, if there are any.
    pub(crate) fn publish_timeout_ends(&self, now: Duration) -> Option<Duration> {
        self.publish_timeout.wakes_at(now)
    }
}

/// A topic's name on the server, in parts, as far as it decides the slot.
fn name_of<'t>(prefix: &'t Prefix, topic: &'t Topic) -> [&'t [u8]; 2] {
    match topic {
        Topic::Channel(name) | Topic::Pattern(name) => [prefix.channels(), name],
        Topic::Sharded(name) => [prefix.sharded(), name],
        Topic::Control => [prefix.control(), b""],
    }
}

/// How long a topic stays subscribed without a subscriber here.
const LINGER: Duration = Duration::from_secs(1);

/// The most messages and bytes that are taken from the outlet at once.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 256 * 1024;
