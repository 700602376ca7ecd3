//! Posts what the core decides to the inboxes: the [`Post`] of this gateway. Messages are shared by reference; what is for
//! one socket is posted in the submodule.

mod direct;
mod lost;

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use millrace_core::{
    Annotation, Batch, ChannelId, Entering, HistoryTerms, Kind, Manner, Match, Name, News,
    Position, Post, Recipient, Route, ShardIndex, ShardSet, SocketId, Topic,
};

use super::clock::unix_ms;
use super::outgoing::{Marked, Outgoing, SMALL_BYTES};
use super::uplink::{Storing, Uplink};
use crate::frame::KeptMessage;
use crate::inbox::{AliasOf, COMMAND_CHARGE, Command, Enter, Inboxes, Mail, Matched, Numbered};

pub(crate) use lost::Lost;

/// The core's [`Post`] for this gateway.
pub(crate) struct Poster<'p, 'm> {
    inboxes: &'p Inboxes,
    dirty: &'p mut ShardSet,
    /// The uplink that tells other nodes, if there are any; `None` also for messages that came from another node.
    uplink: Option<&'p OnceLock<Arc<dyn Uplink>>>,
    noted: bool,
    lost: Lost,
    /// Whether the shards mark what goes to virtual sockets, because some connections show marks beside the payload.
    shows_marks: bool,
    message: PhantomData<&'m [u8]>,
}

impl<'p> Poster<'p, '_> {
    /// A poster that collects the shards to wake in `dirty`.
    pub(crate) fn new(
        inboxes: &'p Inboxes,
        dirty: &'p mut ShardSet,
        uplink: Option<&'p OnceLock<Arc<dyn Uplink>>>,
    ) -> Self {
        Self {
            inboxes,
            dirty,
            uplink,
            noted: false,
            lost: Lost::default(),
            shows_marks: false,
            message: PhantomData,
        }
    }

    /// Leaves marks to the shards if some connections show them beside the payload.
    pub(super) fn showing_marks(mut self, shows_marks: bool) -> Self {
        self.shows_marks = shows_marks;
        self
    }

    pub(crate) fn lost(&self) -> Lost {
        self.lost
    }

    /// A function of its own, so that publications on a node without others do not pay for it.
    #[cold]
    fn tell(&mut self, uplink: &'p Arc<dyn Uplink>, channel: Topic<'_>, message: &Outgoing<'_>) {
        uplink.publish(channel, &message.share());
        self.noted = true;
    }

    #[cold]
    fn wake_uplink(&self) {
        if let Some(uplink) = self.uplink.and_then(OnceLock::get) {
            uplink.wake();
        }
    }

    fn deliver(
        &mut self,
        shard: ShardIndex,
        payload: usize,
        count: u32,
        command: impl FnOnce(&mut Mail) -> Command,
    ) -> bool {
        let accepted = self
            .inboxes
            .deliver(shard, payload + COMMAND_CHARGE, count, command);
        self.lost.refused |= !accepted;
        accepted
    }

    /// Like [`deliver`](Self::deliver), for a message in its shared form. Its bytes are charged to shards that were not
    /// `charged` before; `beside` bytes are charged each time.
    #[inline]
    fn deliver_shared(
        &mut self,
        shard: ShardIndex,
        (charged, bytes): (&Cell<ShardSet>, usize),
        (count, beside): (u32, usize),
        command: impl FnOnce(&mut Mail) -> Command,
    ) -> bool {
        let mut charged_then = charged.get();
        let counts = bytes > NOT_WORTH_COUNTING;
        let bytes = if counts && !charged_then.insert(shard) {
            0
        } else {
            bytes
        };
        let accepted = self.deliver(shard, bytes + beside, count, command);
        if accepted && counts {
            charged.set(charged_then);
        }
        accepted
    }
}

impl<'m> Post for Poster<'_, 'm> {
    type Message = Outgoing<'m>;
    type Kept = KeptMessage;

    fn join(&mut self, channel: ChannelId, name: &Name, recipient: Recipient) {
        let Recipient {
            subscriber,
            route,
            annotation,
            is_known,
        } = recipient;
        self.dirty.insert(route.shard);
        let socket = route.socket;
        let alias = (socket != subscriber).then(|| Box::new(AliasOf { socket, annotation }));
        let command = Command::Join {
            channel,
            name: name.clone(),
            subscriber,
            slot: route.slot,
            alias,
            is_known,
        };
        self.inboxes.post(route.shard, command);
    }

    fn leave(&mut self, channel: ChannelId, subscriber: SocketId, route: Route) {
        self.dirty.insert(route.shard);
        self.inboxes.post(
            route.shard,
            Command::Leave {
                channel,
                subscriber,
            },
        );
    }

    fn publish(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        message: &Outgoing<'m>,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        self.dirty.insert(shard);
        let publication = message.share();
        let beside = size_of_val(except);
        let except = message.share_except(except);
        let once = (&message.charged, message.payload.len());
        self.deliver_shared(shard, once, (recipients, beside), |_| Command::Publish {
            channel,
            publication,
            except,
        })
    }

    fn publish_numbered(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        numbered: &millrace_core::Numbered<'_, Outgoing<'m>>,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        self.dirty.insert(shard);
        let millrace_core::Numbered {
            number,
            missed,
            message,
        } = *numbered;
        let numbered = Numbered {
            channel,
            number: *number,
            missed,
            publication: message.numbered(),
            except: message.share_except(except),
        };
        let once = (&message.charged, message.payload.len());
        let beside = size_of::<Numbered>() + size_of_val(except);
        self.deliver_shared(shard, once, (recipients, beside), |_| {
            Command::Numbered(Box::new(numbered))
        })
    }

    fn enter(&mut self, name: &Name, route: Route, entering: &Entering) {
        self.dirty.insert(route.shard);
        let enter = Enter {
            name: name.clone(),
            slot: route.slot,
            socket: route.socket,
            entering: *entering,
        };
        self.inboxes
            .post(route.shard, Command::Enter(Box::new(enter)));
    }

    fn gap(&mut self, shard: ShardIndex, channel: ChannelId, last: Position) {
        self.dirty.insert(shard);
        self.inboxes
            .post(shard, Command::Gap(Box::new((channel, last))));
    }

    fn presence_is_due(&mut self) {
        self.dirty.insert(FIRST);
        self.inboxes.post(FIRST, Command::PresenceIsDue);
    }

    fn presence(&mut self, shard: ShardIndex, batch: &Arc<Batch>) -> bool {
        self.dirty.insert(shard);
        let command = |_: &mut Mail| Command::Presence(Arc::clone(batch));
        let charge = COMMAND_CHARGE + batch_bytes(batch);
        self.inboxes.deliver(shard, charge, 0, command)
    }

    fn unsaved(&mut self, name: &Name) {
        if let Some(uplink) = self.uplink.and_then(OnceLock::get) {
            uplink.unsaved(name);
        }
    }

    fn has_room(&self, shard: ShardIndex) -> bool {
        self.inboxes.has_room(shard, FEW_COMMANDS)
    }

    fn unix_ms(&mut self) -> u64 {
        unix_ms()
    }

    fn keep(&mut self, message: &Outgoing<'m>) -> (KeptMessage, usize) {
        (message.keep(), message.payload.len())
    }

    fn is_keepable(&self, message: &Outgoing<'m>) -> bool {
        message.is_keepable()
    }

    fn make_keepable(&mut self, message: &Outgoing<'m>) {
        message.make_keepable();
    }

    fn publish_match(
        &mut self,
        shard: ShardIndex,
        matched: Match<'_>,
        message: &Outgoing<'m>,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        self.dirty.insert(shard);
        let matched = Matched {
            pattern: matched.pattern,
            channel: matched.channel.clone(),
            terms: matched.terms,
            publication: message.share(),
            except: message.share_except(except),
        };
        let once = (&message.charged, message.payload.len());
        let beside = size_of::<Matched>() + size_of_val(except);
        self.deliver_shared(shard, once, (recipients, beside), |_| {
            Command::Match(Box::new(matched))
        })
    }

    fn wanted(&mut self, list: ChannelId, name: &Name, wanted: bool) {
        if let Some(uplink) = self.uplink.and_then(OnceLock::get) {
            uplink.wanted(list.terms(), name, wanted);
            self.noted = true;
        }
    }

    #[inline]
    fn upstream(&mut self, channel: Topic<'_>, message: &Outgoing<'m>) {
        if let Some(uplink) = self.uplink.and_then(OnceLock::get) {
            self.tell(uplink, channel, message);
        }
    }

    fn direct(
        &mut self,
        route: Route,
        annotation: Option<&Arc<Annotation>>,
        message: &Outgoing<'m>,
    ) -> bool {
        self.send_one(route, annotation, message)
    }

    /// Copying a small payload takes no longer than a check would; large payloads take longer, and so does finding the
    /// place for user data in JSON.
    #[inline]
    fn is_ready(&self, message: &Outgoing<'m>, annotation: Option<&Arc<Annotation>>) -> bool {
        match annotation {
            None => message.is_light(),
            Some(_) if self.shows_marks => message.is_light(),
            Some(_) if message.kind == Kind::Binary && message.payload.len() <= SMALL_BYTES => true,
            Some(annotation) => message.is_marked_for(annotation),
        }
    }

    #[cold]
    fn make_ready(&mut self, message: &Outgoing<'m>, annotation: Option<&Arc<Annotation>>) {
        let Some(annotation) = annotation.filter(|_| !self.shows_marks) else {
            message.share();
            return;
        };
        let form = message.mark(annotation);
        let annotation = Arc::clone(annotation);
        message
            .marked
            .replace(Some(Box::new(Marked { annotation, form })));
    }

    fn has_upstream(&self) -> bool {
        self.uplink.and_then(OnceLock::get).is_some()
    }

    fn stores(&self) -> bool {
        let uplink = self.uplink.and_then(OnceLock::get);
        uplink.is_some_and(|uplink| uplink.stores())
    }

    fn store(
        &mut self,
        channel: &[u8],
        terms: HistoryTerms,
        message: &Outgoing<'m>,
        manner: &Manner<'_>,
    ) {
        if let Some(uplink) = self.uplink.and_then(OnceLock::get) {
            uplink.store(Storing {
                channel,
                terms,
                publication: message.share(),
                manner,
            });
        }
    }
}

impl Drop for Poster<'_, '_> {
    fn drop(&mut self) {
        if self.noted {
            self.wake_uplink();
        }
    }
}

/// About what a batch takes in an inbox.
fn batch_bytes(batch: &Batch) -> usize {
    let News::Members(changes) = &batch.news else {
        return size_of::<Batch>();
    };
    let told = changes.joined.iter().chain(&changes.updated);
    let infos =
        told.map(|(_, info)| MEMBER_CHARGE + info.as_ref().map_or(0, |info| info.text().len()));
    size_of::<Batch>() + changes.left.len() * MEMBER_CHARGE + infos.sum::<usize>()
}

/// What a member is charged in a batch beside its info.
const MEMBER_CHARGE: usize = 32;

/// The I/O shard that sees that presence is told.
const FIRST: ShardIndex = ShardIndex::FIRST;
/// Room for so many commands is a little.
const FEW_COMMANDS: usize = 4;

/// Payloads up to this size are charged each time, because the command beside them costs as much.
const NOT_WORTH_COUNTING: usize = 128;

#[cfg(test)]
mod tests;
