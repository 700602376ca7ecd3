//! Entering a channel at a position, and reading on in its past. Owns the change from behind to live, which happens
//! under the channel's lock with the step that reads the newest message.

use super::{Core, EnterError};
use crate::channels::ChannelTable;
use crate::history::{
    Cursor, Entered, Entering, InStore, Kept, Position, Progress, Room, Start, Step,
};
use crate::id::{ChannelId, SocketId};
use crate::name::{Name, Space, Topic};
use crate::name_map::Hashed;
use crate::post::{Post, Recipient};
use crate::registry::Target;
use crate::route::Route;

/// How a socket enters a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entrance {
    /// Where it begins. Without history every start is [`Start::Next`].
    pub start: Start,
    /// What the caller knows of the store of a [followed](Core::fill) channel: the socket may begin in front of what is kept
    /// here.
    pub known: Option<InStore>,
    /// By how much the application's references rise.
    pub references: u16,
    /// Whether the socket's own client subscribes itself; refused if it has already.
    pub own: bool,
    /// Passed on to its shard; see [`Entering::tag`].
    pub tag: u64,
}

impl<K> Core<K> {
    /// Subscribes a client to a channel at a position, unless it has `most` subscriptions, and has its shard told by
    /// [`Post::enter`]. A client that is subscribed already begins anew there.
    pub fn enter_at<P: Post<Kept = K>>(
        &self,
        id: SocketId,
        channel: &[u8],
        entrance: Entrance,
        most: usize,
        post: &mut P,
    ) -> Result<Entered, EnterError> {
        let topic = Topic::Channel(channel);
        if self.tally(id).total() >= most && !self.is_subscribed(id, topic) {
            return Err(EnterError::TooMany { most });
        }
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        self.enter_in(&mut table, key, id, entrance, post)
    }

    /// Subscribes the real sockets in `who` to a channel at a position; others are left out. Returns how each entered,
    /// in the order of `who`, which is read once before anything changes. Fails only with [`EnterError::Unknown`], before
    /// anything changes.
    pub fn subscribe_at<P: Post<Kept = K>>(
        &self,
        who: &[Target<'_>],
        channel: &[u8],
        mut entrance: Entrance,
        post: &mut P,
    ) -> Result<Vec<(SocketId, Entered)>, EnterError> {
        let key = self.hashed(Space::Channel, channel);
        let mut all = Vec::new();
        for ids in self.expand(who).chunks(IDS_PER_LOCK) {
            let mut table = self.channel_table(key);
            for id in ids {
                let entered = match self.enter_in(&mut table, key, *id, entrance, post) {
                    // what was kept here for the others went meanwhile, and the store still had it
                    Err(EnterError::Unknown(oldest)) if !all.is_empty() => {
                        let is_all = true;
                        entrance.known = Some(InStore { oldest, is_all });
                        self.enter_in(&mut table, key, *id, entrance, post)
                    }
                    entered => entered,
                };
                match entered {
                    Ok(entered) => all.push((*id, entered)),
                    Err(error @ EnterError::Unknown(_)) => return Err(error),
                    Err(_) => {}
                }
            }
        }
        Ok(all)
    }

    /// The message for which the store of a [followed](Self::fill) channel has to be asked before a subscriber can begin
    /// there; `None`: none.
    pub fn unknown_in_store(
        &self,
        channel: &[u8],
        start: Start,
        known: Option<InStore>,
    ) -> Option<Position> {
        let key = self.hashed(Space::Channel, channel);
        let table = self.channel_table(key);
        table.pasts()?.get(key)?.first_for(start, known).err()
    }

    /// Makes a real socket a subscriber of a channel, whose table is locked.
    fn enter_in<P: Post<Kept = K>>(
        &self,
        table: &mut ChannelTable<K>,
        key: Hashed<'_>,
        id: SocketId,
        entrance: Entrance,
        post: &mut P,
    ) -> Result<Entered, EnterError> {
        let start = (entrance.start, entrance.known);
        if let Some(past) = table.pasts().and_then(|pasts| pasts.get(key)) {
            past.first_for(start.0, start.1)
                .map_err(EnterError::Unknown)?;
        }
        let seat = self.take_seat(table, key, id, entrance)?;
        let now = post.unix_ms();
        let stamp = table.pasts().map_or(0, |pasts| pasts.totals().stamp());
        let place = table
            .pasts_mut()
            .and_then(|pasts| pasts.begin(key, start, now));
        let next = place.as_ref().and_then(|place| place.missing);
        let entering = Entering {
            list: seat.list,
            entered: Entered {
                position: place.as_ref().map(|place| place.position),
                recovered: place.and_then(|place| place.recovered),
                is_new: seat.begins,
            },
            cursor: next.map(|next| Cursor { id: stamp, next }),
            goes_on: !seat.is_new && entrance.start == Start::Next,
            tag: entrance.tag,
        };
        Self::be_seated(table, key, (id, &seat, entrance), &entering, post);
        Ok(entering.entered)
    }

    /// Finds a socket's subscription and raises its count, or records a new one on the socket's side.
    fn take_seat(
        &self,
        table: &mut ChannelTable<K>,
        key: Hashed<'_>,
        id: SocketId,
        entrance: Entrance,
    ) -> Result<Seat, EnterError> {
        let channel = table.get_or_make(key);
        let (list, name) = (channel.id, channel.name.clone());
        if let Some(member) = channel.members.get_mut(&id) {
            // a virtual socket cannot be behind
            if member.route().socket != id {
                return Err(EnterError::NoSocket);
            }
            if entrance.own && member.own() {
                return Err(EnterError::Already);
            }
            let (route, own) = (member.route(), member.is_own());
            let seat = Seat {
                list,
                name,
                route,
                is_new: false,
                begins: entrance.own || (member.count == 0 && entrance.references > 0),
                own,
            };
            member.count = member.count.saturating_add(entrance.references);
            return Ok(seat);
        }
        let is_first = channel.members.is_empty();
        let mut sockets = self.socket_table(id);
        let is_real = sockets
            .resolve(id)
            .is_some_and(|(route, _)| route.socket == id);
        let joined = if is_real {
            sockets.join(id, &name)
        } else {
            None
        };
        drop(sockets);
        let Some((route, _)) = joined else {
            if is_first {
                table.discard(key);
            }
            return Err(EnterError::NoSocket);
        };
        Ok(Seat {
            list,
            name,
            route,
            is_new: true,
            begins: true,
            own: entrance.own,
        })
    }

    /// Puts a subscriber into its channel, live or behind, and has its shard told.
    fn be_seated<P: Post<Kept = K>>(
        table: &mut ChannelTable<K>,
        key: Hashed<'_>,
        (id, seat, entrance): (SocketId, &Seat, Entrance),
        entering: &Entering,
        post: &mut P,
    ) {
        let channel = table.get_or_make(key);
        let is_behind = entering.cursor.is_some();
        let mut joins = false;
        let is_first = channel.members.is_empty();
        if seat.is_new && is_behind {
            channel.insert_behind(id, seat.route, entrance.references);
        } else if seat.is_new {
            channel.insert(id, seat.route, entrance.references);
            joins = true;
        } else if entrance.start != Start::Next && channel.set_behind(id, is_behind).is_some() {
            joins = !is_behind;
            if is_behind {
                post.leave(seat.list, id, seat.route);
            }
        }
        if seat.own
            && let Some(member) = channel.members.get_mut(&id)
        {
            member.own();
        }
        table.count(usize::from(seat.is_new), 0);
        if let Some(pasts) = table.pasts_mut()
            && (seat.is_new || entrance.start != Start::Next)
        {
            pasts.set_cursor(key, id, entering.cursor);
        }
        if !is_behind {
            Self::tell_lost(table, key, seat.route.shard, post);
        }
        post.enter(&seat.name, seat.route, entering);
        if joins {
            post.join(seat.list, &seat.name, seat.recipient(id));
        }
        if is_first {
            post.wanted(seat.list, &seat.name, true);
        }
    }
}

impl<K: Clone> Core<K> {
    /// Takes the next kept messages for a subscriber that is behind, as many as it has room for, and adds them to `out`.
    /// The step that reaches the newest message makes the subscriber live: its [join](Post::join) is posted, and with it
    /// everything that is published later.
    pub fn read_on<P: Post<Kept = K>>(
        &self,
        (list, name): (ChannelId, &Name),
        (subscriber, cursor): (SocketId, Cursor),
        room: Room,
        out: &mut Vec<Kept<K>>,
        post: &mut P,
    ) -> Step {
        let key = self.hashed(Space::Channel, name.as_bytes());
        let mut table = self.channel_table(key);
        let ended = Step {
            gap: None,
            progress: Progress::Ended,
        };
        if table.get(key).is_none_or(|channel| channel.id != list) {
            return ended;
        }
        let now = post.unix_ms();
        let Some(pasts) = table.pasts_mut() else {
            return ended;
        };
        pasts.change(key, |past| past.expire(now));
        let Some(found) = pasts.get(key) else {
            return ended;
        };
        if found.behind.get(&subscriber) != Some(&cursor.id) {
            return ended;
        }
        let first = found.first();
        if cursor.next < first && found.is_followed {
            let from = found.at(cursor.next);
            return Step {
                gap: None,
                progress: Progress::Absent { from, until: first },
            };
        }
        let (mut next, mut bytes) = (cursor.next.max(first), 0);
        let gap = (next > cursor.next).then(|| found.at(next - 1));
        // what is told of a gap takes room, too
        let first = if gap.is_some() {
            room.first.min(room.all)
        } else {
            room.first
        };
        while let Some((kept, charge)) = found.get(next) {
            let (is_first, length) = (bytes == 0, charge.saturating_add(room.beside));
            bytes += length;
            if bytes > if is_first { first } else { room.all } {
                break;
            }
            out.push(kept);
            next += 1;
        }
        let is_behind = found.get(next).is_some();
        if is_behind {
            return Step {
                gap,
                progress: Progress::Behind(next),
            };
        }
        pasts.set_cursor(key, subscriber, None);
        let channel = table.get_or_make(key);
        if let Some(route) = channel.set_behind(subscriber, false) {
            let recipient = Recipient {
                subscriber,
                route,
                annotation: None,
                is_known: true,
            };
            let name = channel.name.clone();
            Self::tell_lost(&mut table, key, route.shard, post);
            post.join(list, &name, recipient);
        }
        Step {
            gap,
            progress: Progress::Live,
        }
    }
}

/// A subscriber's place in a channel.
struct Seat {
    list: ChannelId,
    name: Name,
    route: Route,
    is_new: bool,
    /// Whether this subscription is new, its client's own or the application's; the other one may be there already.
    begins: bool,
    /// Whether its client has subscribed itself.
    own: bool,
}

impl Seat {
    fn recipient(&self, subscriber: SocketId) -> Recipient {
        Recipient {
            subscriber,
            route: self.route,
            annotation: None,
            is_known: true,
        }
    }
}

/// The number of ids that are handled before the channel's lock is released for a moment.
const IDS_PER_LOCK: usize = 1024;
