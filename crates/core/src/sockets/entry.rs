//! What a table has for each socket. Every idle connection pays for an entry, so what few sockets have is boxed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::{Removed, SocketInfo, Token};
use crate::annotation::Annotation;
use crate::channel_list::ChannelList;
use crate::id::SocketId;
use crate::route::{Route, ShardIndex};

/// A real or virtual socket.
pub(crate) struct Entry {
    pub(super) channels: ChannelList,
    pub(crate) nature: Nature,
}

pub(crate) enum Nature {
    Real(Real),
    Virtual(Box<Alias>),
}

/// A connection's part. Its id is the key of its entry.
pub(crate) struct Real {
    extra: Option<Box<Extra>>,
    slot: u32,
    worker: u32,
    /// The address, if it is one of IPv4.
    v4: [u8; 4],
    shard: ShardIndex,
    family: Family,
    /// Its connection has been told to close.
    pub(super) is_closing: bool,
}

/// What few real sockets have.
#[derive(Default)]
struct Extra {
    token: Option<Token>,
    first_child: Option<SocketId>,
    /// The address, if it is one of IPv6.
    v6: Option<Ipv6Addr>,
}

/// The kind of a peer's address.
#[derive(Clone, Copy)]
enum Family {
    None,
    V4,
    /// The address is in [`Extra`].
    V6,
}

/// The part of an entry that only virtual sockets have.
pub(crate) struct Alias {
    /// Where its real socket lives.
    pub(super) route: Route,
    pub(super) first_child: Option<SocketId>,
    /// The immediate target. The target's entry exists as long as this one.
    pub(crate) target: SocketId,
    pub(super) next: Option<SocketId>,
    pub(super) previous: Option<SocketId>,
    pub(super) depth: u8,
    pub(super) state: AliasState,
    /// Whether `annotation` was given to this socket; otherwise it is the target's.
    pub(super) own: bool,
    pub(super) annotation: Option<Arc<Annotation>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AliasState {
    /// It resolves to its real socket.
    Live,
    /// It never resolves again, but was not deleted.
    Dangling,
    /// Deleted. The entry is kept while other virtual sockets have it as their target, because their chain leads
    /// through it.
    Deleted,
}

impl Entry {
    pub(super) fn new(nature: Nature) -> Self {
        Self {
            channels: ChannelList::default(),
            nature,
        }
    }

    pub(super) fn take_channels(&mut self, id: SocketId, removed: &mut Removed) {
        let channels = std::mem::take(&mut self.channels);
        if !channels.is_empty() {
            removed.push((id, channels));
        }
    }

    /// The link to the first virtual socket on this one.
    pub(super) fn first_child_mut(&mut self) -> &mut Option<SocketId> {
        match &mut self.nature {
            Nature::Real(real) => &mut real.extra.get_or_insert_default().first_child,
            Nature::Virtual(alias) => &mut alias.first_child,
        }
    }

    pub(super) fn first_child(&self) -> Option<SocketId> {
        match &self.nature {
            Nature::Real(real) => real.extra.as_deref().and_then(|extra| extra.first_child),
            Nature::Virtual(alias) => alias.first_child,
        }
    }

    pub(crate) fn channels(&self) -> &ChannelList {
        &self.channels
    }

    /// Where the socket with this id lives. For a virtual socket this is where its real socket lives.
    pub(crate) fn route(&self, id: SocketId) -> Route {
        match &self.nature {
            Nature::Real(real) => real.route(id),
            Nature::Virtual(alias) => alias.route,
        }
    }

    /// The route and the effective annotation, if the socket with this id resolves.
    pub(super) fn resolve(&self, id: SocketId) -> Option<(Route, Option<&Arc<Annotation>>)> {
        match &self.nature {
            Nature::Real(real) => Some((real.route(id), None)),
            Nature::Virtual(alias) if alias.state == AliasState::Live => {
                Some((alias.route, alias.annotation.as_ref()))
            }
            Nature::Virtual(_) => None,
        }
    }

    pub(super) fn exists(&self) -> bool {
        !matches!(&self.nature, Nature::Virtual(alias) if alias.state == AliasState::Deleted)
    }
}

impl Real {
    pub(super) fn new(shard: ShardIndex, slot: u32, info: SocketInfo) -> Self {
        let (family, v4, v6) = match info.address {
            None => (Family::None, [0; 4], None),
            Some(IpAddr::V4(address)) => (Family::V4, address.octets(), None),
            Some(IpAddr::V6(address)) => (Family::V6, [0; 4], Some(address)),
        };
        let extra = v6.map(|_| {
            Box::new(Extra {
                v6,
                ..Extra::default()
            })
        });
        Self {
            extra,
            slot,
            worker: info.worker,
            v4,
            shard,
            family,
            is_closing: false,
        }
    }

    /// Replaces its token and returns the one before.
    pub(super) fn set_token(&mut self, token: Token) -> Option<Token> {
        self.extra.get_or_insert_default().token.replace(token)
    }

    pub(super) fn take_token(&mut self) -> Option<Token> {
        self.extra.as_deref_mut()?.token.take()
    }

    pub(super) fn token(&self) -> Option<&Token> {
        self.extra.as_deref()?.token.as_ref()
    }

    /// What the socket was opened with.
    pub(crate) fn info(&self) -> SocketInfo {
        let address = match self.family {
            Family::None => None,
            Family::V4 => Some(IpAddr::V4(Ipv4Addr::from(self.v4))),
            Family::V6 => {
                let extra = self.extra.as_deref();
                extra.and_then(|extra| extra.v6).map(IpAddr::V6)
            }
        };
        SocketInfo {
            address,
            worker: self.worker,
        }
    }

    fn route(&self, socket: SocketId) -> Route {
        Route {
            shard: self.shard,
            slot: self.slot,
            socket,
        }
    }
}

impl Alias {
    /// The annotation this socket was created with.
    pub(crate) fn own_annotation(&self) -> Option<&Arc<Annotation>> {
        self.annotation.as_ref().filter(|_| self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_compact() {
        assert!(
            size_of::<Entry>() <= 40,
            "{}: every connection pays for this",
            size_of::<Entry>()
        );
    }

    #[test]
    fn addresses_are_kept_as_they_are() {
        let mapped = Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped();
        let addresses = [
            None,
            Some(IpAddr::from([192, 0, 2, 1])),
            Some(IpAddr::from([0; 4])),
            Some(IpAddr::V6(mapped)),
            Some(IpAddr::V6(Ipv6Addr::LOCALHOST)),
            Some(IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        ];
        let shard = ShardIndex::new(3).unwrap();
        for address in addresses {
            let info = SocketInfo { address, worker: 7 };
            let mut real = Real::new(shard, 9, info);
            assert_eq!(real.info(), info);
            assert_eq!(real.set_token(Token::default()), None);
            assert_eq!(real.info(), info, "with a token");
            assert_eq!(real.token(), Some(&Token::default()));
        }
    }
}
