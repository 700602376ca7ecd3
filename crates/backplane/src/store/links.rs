//! All links of a store: one, or one to each master of a Redis cluster. Owns which link a channel uses; if one is lost,
//! all are.

use std::task::{Context, Poll};
use std::time::Instant;

use redis::Cmd;

use super::link::{Event, Link};
use super::names::Names;
use crate::config::{Config, Protocol, Server};
use crate::link_error::LinkError;
use crate::links::{NOBODY, SLOTS, masters, server_of, slot};
use crate::tls::Encryption;
use crate::wire::SlotRange;

/// See the module.
pub(super) struct Links<R> {
    all: Vec<Link<R>>,
    names: Names,
    /// The link of each slot; `None` if there is only one link.
    slots: Option<Box<[u16]>>,
    /// The link that is polled first.
    turn: usize,
    /// Why the links end when everything is answered.
    retires: Option<String>,
    /// Why the links end now.
    fails: Option<&'static str>,
}

impl<R> Links<R> {
    /// Connects to a server, or to the master that it knows if it is a Sentinel, and to the other masters of its cluster.
    pub(super) async fn connect(
        config: &Config,
        server: &Server,
        encryption: Option<&Encryption>,
    ) -> Result<Self, LinkError> {
        let mut first = Link::connect(config, server, encryption).await?;
        let mut slots = None;
        let mut links = Vec::new();
        if config.protocol == Protocol::RedisCluster {
            let ranges = first.slots().await?;
            let mut servers = vec![server.clone()];
            for other in masters(&ranges, server) {
                if other != *server {
                    links.push(Link::connect(config, &other, encryption).await?);
                    servers.push(other);
                }
            }
            let places = places(&ranges, &servers);
            slots = Some(places.ok_or_else(|| LinkError::NoCluster(server.clone()))?);
        }
        links.insert(0, first);
        Ok(Self {
            all: links,
            names: Names::new(&config.prefix),
            slots,
            turn: 0,
            retires: None,
            fails: None,
        })
    }

    /// The server that was connected to first.
    pub(super) fn server(&self) -> Option<&Server> {
        self.all.first().map(Link::server)
    }

    /// The place of the link of a channel.
    pub(super) fn place(&self, channel: &[u8]) -> usize {
        let Some(slots) = &self.slots else {
            return 0;
        };
        let place = slots.get(slot(&[&self.names.stream(channel)]));
        place.map_or(0, |place| usize::from(*place))
    }

    /// How many links there are.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// For each link a tag whose slot it has.
    pub(super) fn tags(&self) -> Vec<(usize, Vec<u8>)> {
        let tag = |place| {
            let tags = (0..MOST_TAGS).map(|number| number.to_string().into_bytes());
            let tag = tags.into_iter().find(|tag| self.place(tag) == place)?;
            Some((place, tag))
        };
        (0..self.all.len()).filter_map(tag).collect()
    }

    /// Sends a command on the link at this place. `bytes` is what it counts of the bound.
    pub(super) fn send(
        &mut self,
        place: usize,
        what: R,
        (command, bytes): (Cmd, usize),
        now: Instant,
    ) {
        if let Some(link) = self.all.get_mut(place) {
            link.send(what, command, bytes, now);
        }
    }

    /// Puts the scripts into the store. Returns the number of answers, for which `what` is.
    pub(super) fn load(&mut self, what: impl Fn() -> R, now: Instant) -> usize {
        self.all.iter_mut().map(|link| link.load(&what, now)).sum()
    }

    /// Pings every server.
    pub(super) fn ping(&mut self, what: impl Fn() -> R, now: Instant) {
        for link in &mut self.all {
            link.send(what(), redis::cmd("PING"), 0, now);
        }
    }

    /// Whether another publication may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.retires.is_none() && self.all.iter().all(Link::has_room)
    }

    /// Whether another command about following may be sent. Half of the room is for publications.
    pub(super) fn has_much_room(&self) -> bool {
        self.retires.is_none() && self.all.iter().all(Link::has_much_room)
    }

    /// Whether every command is answered.
    pub(super) fn is_idle(&self) -> bool {
        self.all.iter().all(Link::is_idle)
    }

    /// When the next command must be answered, or when a server counts as lost if it says nothing before.
    pub(super) fn due(&self) -> Option<Instant> {
        self.all.iter().filter_map(Link::due).min()
    }

    /// Takes a command whose deadline has passed; fails if its server says nothing at all.
    pub(super) fn overdue(&mut self, now: Instant) -> Result<Option<R>, LinkError> {
        for link in &mut self.all {
            if let Some(what) = link.overdue(now)? {
                return Ok(Some(what));
            }
        }
        Ok(None)
    }

    /// Ends the links when everything is answered: a server is not fit any more.
    pub(super) fn retire(&mut self, why: String) {
        self.retires.get_or_insert(why);
    }

    /// Ends the links now: their answers cannot be trusted any more.
    pub(super) fn fail(&mut self, why: &'static str) {
        self.fails.get_or_insert(why);
    }

    /// Lets the system drop what it has not sent when the connections are closed.
    pub(super) fn cut(&self) {
        self.all.iter().for_each(Link::cut);
    }

    /// Takes everything that is not answered.
    pub(super) fn abandoned(self) -> impl Iterator<Item = R> {
        self.all.into_iter().flat_map(Link::abandoned)
    }

    /// Writes and reads, and returns what came. An error ends the links.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event<R>, LinkError>> {
        if let Some(why) = self.fails {
            return Poll::Ready(Err(self.refused(why.to_owned())));
        }
        for _ in 0..self.all.len() {
            self.turn = (self.turn + 1) % self.all.len();
            let link = self.all.get_mut(self.turn);
            if let Some(Poll::Ready(event)) = link.map(|link| link.poll(cx)) {
                return Poll::Ready(event);
            }
        }
        match self.retires.clone().filter(|_| self.is_idle()) {
            Some(why) => Poll::Ready(Err(self.refused(why))),
            None => Poll::Pending,
        }
    }

    fn refused(&self, why: String) -> LinkError {
        match self.all.first() {
            Some(link) => link.refused(why),
            None => LinkError::Closed(Server {
                host: String::new(),
                port: 0,
            }),
        }
    }
}

/// So many tags are in almost all slots.
const MOST_TAGS: usize = 16 * SLOTS;

/// The place of the master of each slot; `None`: one is missing. The first server was asked.
fn places(ranges: &[SlotRange], servers: &[Server]) -> Option<Box<[u16]>> {
    let asked = servers.first()?;
    let mut slots = vec![NOBODY; SLOTS];
    for range in ranges {
        let server = server_of(range, asked);
        let place = servers.iter().position(|known| *known == server)?;
        let (first, last) = (usize::from(range.first), usize::from(range.last));
        let place = u16::try_from(place).ok()?;
        slots.get_mut(first..=last)?.fill(place);
    }
    (!slots.contains(&NOBODY)).then(|| slots.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_needs_a_master() {
        let server = |port| Server {
            host: "h".to_owned(),
            port,
        };
        let range = |first, last, host: &str, port| SlotRange {
            first,
            last,
            host: host.to_owned(),
            port,
        };
        let servers = [server(1), server(2)];
        let whole = [range(0, 9999, "", 1), range(10_000, 16_383, "h", 2)];
        let found = places(&whole, &servers).unwrap();
        assert_eq!((found[0], found[9999], found[10_000]), (0, 0, 1));
        assert!(places(&whole[..1], &servers).is_none());
        assert!(places(&whole, &servers[..1]).is_none());
        assert!(places(&[range(9, 3, "h", 1)], &servers).is_none());
        assert!(places(&[range(0, u16::MAX, "h", 1)], &servers).is_none());
    }
}
