//! All connections of a node: one, or one to each master of a Redis cluster. Owns which connection a name
//! uses.

use std::collections::BTreeSet;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::config::{Config, Protocol, Server};
use crate::link::Link;
use crate::link_error::LinkError;
use crate::sentinel;
use crate::tls::Encryption;
use crate::wire::{Event, SlotRange};

/// See the module.
#[derive(Debug)]
pub(crate) struct Links {
    links: Vec<Link>,
    /// The link of each slot; `None` if there is only one link.
    slots: Option<Box<[u16]>>,
}

impl Links {
    /// Connects to a server, or to the master that it knows if it is a Sentinel, and to the other masters of its
    /// cluster.
    pub(crate) async fn connect(
        config: &Config,
        server: &Server,
        encryption: Option<&Encryption>,
    ) -> Result<Self, LinkError> {
        let server = sentinel::resolve(config, server, encryption).await?;
        let server = &server;
        let is_cluster = config.protocol == Protocol::RedisCluster;
        let mut first = Link::connect(config, server, encryption).await?;
        let ranges = first.ready(is_cluster).await?;
        let mut all = Self {
            links: vec![first],
            slots: None,
        };
        if is_cluster {
            for other in masters(&ranges, server) {
                if other != *server {
                    let mut link = Link::connect(config, &other, encryption).await?;
                    link.ready(true).await?;
                    all.links.push(link);
                }
            }
            if !all.remap(&ranges) {
                return Err(LinkError::NoCluster(server.clone()));
            }
        }
        Ok(all)
    }

    /// Applies another distribution of the slots. Returns false if that needs another connection, or the
    /// distribution is empty.
    pub(crate) fn remap(&mut self, ranges: &[SlotRange]) -> bool {
        let Some(asked) = self.links.first().map(|link| link.server().clone()) else {
            return false;
        };
        let mut slots = vec![NOBODY; SLOTS];
        for range in ranges {
            let server = server_of(range, &asked);
            let place = self.links.iter().position(|link| *link.server() == server);
            let Some(place) = place.and_then(|place| u16::try_from(place).ok()) else {
                return false;
            };
            let (first, last) = (usize::from(range.first), usize::from(range.last));
            slots.get_mut(first..=last).unwrap_or_default().fill(place);
        }
        let is_whole = !slots.contains(&NOBODY);
        self.slots = Some(slots.into());
        is_whole
    }

    /// The link for a name, which is given in parts.
    pub(crate) fn of(&mut self, name: &[&[u8]]) -> Option<&mut Link> {
        let place = match &self.slots {
            None => 0,
            Some(slots) => usize::from(*slots.get(slot(name))?),
        };
        self.links.get_mut(place)
    }

    /// Every link.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.iter_mut()
    }

    /// The link that is used for queries about the cluster.
    pub(crate) fn first(&mut self) -> Option<&mut Link> {
        self.links.first_mut()
    }

    /// Lets every link write and read.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        reads: bool,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Poll<Result<(), LinkError>> {
        let mut went_on = Poll::Pending;
        for link in &mut self.links {
            match link.poll(cx, reads, each) {
                Poll::Ready(Ok(())) => went_on = Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {}
            }
        }
        went_on
    }

    /// Sends a ping to every server.
    pub(crate) fn ping(&mut self, now: Instant) {
        for link in &mut self.links {
            link.ping(now);
        }
    }

    /// Returns a server that has not answered a ping in time, if what has come until now was read.
    pub(crate) fn silent(&self, now: Instant) -> Option<&Server> {
        let silent = self.links.iter().find(|link| link.is_silent(now));
        silent.map(Link::server)
    }

    /// The number of published messages that are not confirmed yet.
    pub(crate) fn unconfirmed(&self) -> u64 {
        self.links.iter().map(Link::unconfirmed).sum()
    }

    /// Whether all output is written.
    pub(crate) fn is_written(&self) -> bool {
        self.links.iter().all(Link::is_written)
    }

    /// Whether so much output is pending that messages must wait elsewhere.
    pub(crate) fn is_full(&self) -> bool {
        self.links.iter().any(Link::is_full)
    }

    /// Closes all connections.
    pub(crate) async fn close(self) {
        for link in self.links {
            link.close().await;
        }
    }
}

/// The masters of a cluster.
pub(crate) fn masters(ranges: &[SlotRange], asked: &Server) -> BTreeSet<Server> {
    ranges
        .iter()
        .map(|range| server_of(range, asked))
        .take(MOST_MASTERS)
        .collect()
}

/// The master of these slots.
pub(crate) fn server_of(range: &SlotRange, asked: &Server) -> Server {
    let host = if range.host.is_empty() {
        &asked.host
    } else {
        &range.host
    };
    Server {
        host: host.clone(),
        port: range.port,
    }
}

/// The slot of a name: the hash of the part in its first braces, if that is not empty, otherwise of the whole
/// name.
pub(crate) fn slot(name: &[&[u8]]) -> usize {
    let name = name.concat();
    let tag = name.iter().position(|byte| *byte == b'{').and_then(|open| {
        let inside = name.get(open + 1..)?;
        let length = inside.iter().position(|byte| *byte == b'}')?;
        inside.get(..length).filter(|tag| !tag.is_empty())
    });
    usize::from(crc16(tag.unwrap_or(&name))) % SLOTS
}

/// CRC-16/XMODEM, which Redis uses for slots.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |mut crc, byte| {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            let carry = crc & 0x8000 != 0;
            crc <<= 1;
            if carry {
                crc ^= 0x1021;
            }
        }
        crc
    })
}

/// The number of slots of a cluster.
pub(crate) const SLOTS: usize = 16_384;

/// The place of a slot without a master.
pub(crate) const NOBODY: u16 = u16::MAX;

/// More than any cluster has.
const MOST_MASTERS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_redis() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot(&[b"foo"]), 12_182);
        assert_eq!(
            slot(&[b"{user", b"1000}.following"]),
            slot(&[b"{user1000}.followers"])
        );
        assert_eq!(
            slot(&[b"{user1000}.x"]),
            usize::from(crc16(b"user1000")) % SLOTS
        );
        assert_eq!(
            slot(&[b"foo{}{bar}"]),
            usize::from(crc16(b"foo{}{bar}")) % SLOTS
        );
        assert_eq!(
            slot(&[b"foo{{bar}}zap"]),
            usize::from(crc16(b"{bar")) % SLOTS
        );
    }
}
