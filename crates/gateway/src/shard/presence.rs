//! What subscribers are told of the members of their channels: one shard has it collected, and each shard encodes it once for
//! all its connections whose protocol says such things.

use std::rc::Rc;
use std::time::Duration;

use millrace_core::{Batch, Info, MemberId, News, SocketId};

use super::Shard;
use super::recipients::Local;
use crate::frame::{Encodings, Frame, Frames};
use crate::socket::connection::{Io, Phase};
use crate::socket::{MemberChange, Presence};

/// Has what changes among members told, some time after it has changed, for as long as the shard lives that runs it.
pub(super) async fn tell(shard: Rc<Shard>) {
    loop {
        // also at first: what was noted before the shard ran has asked for it once
        shard.hub.tell_presence();
        shard.presence_is_due.notified().await;
        tokio::time::sleep(PERIOD).await;
    }
}

/// A message to be encoded: the number, or a part of what has changed.
struct Told<'a>(Presence<'a>);

/// Members, each with what it says of itself.
type Members = [(MemberId, Option<Info>)];

impl Shard {
    /// Tells the recipients of a channel on this shard; not virtual sockets, whose real socket may not be subscribed.
    pub(super) fn tell_presence(&self, batch: &Batch) {
        let left;
        let told: Vec<Told<'_>> = match &batch.news {
            News::Count(count) => vec![Told(Presence::Count(*count))],
            News::Members(changes) => {
                left = changes
                    .left
                    .iter()
                    .map(|id| (*id, None))
                    .collect::<Vec<_>>();
                [
                    (MemberChange::Left, &left[..]),
                    (MemberChange::Joined, &changes.joined),
                    (MemberChange::Updated, &changes.updated),
                ]
                .into_iter()
                .flat_map(|(change, members)| parts(change, members))
                .collect()
            }
        };
        let frames = Frames::new();
        let recipients = self.recipients.borrow();
        if let Some(list) = recipients.of(batch.list) {
            let real = |local: &&Local| local.subscriber == local.socket;
            for local in list.locals.iter().filter(real) {
                self.tell_of_members(batch, (&told, &frames), (local.slot, local.socket));
            }
        }
        for route in &batch.behind {
            if route.shard == self.index {
                self.tell_of_members(batch, (&told, &frames), (route.slot, route.socket));
            }
        }
    }

    /// Tells one connection; of itself it is not told.
    fn tell_of_members(
        &self,
        batch: &Batch,
        (told, frames): (&[Told<'_>], &Frames<Vec<Frame>>),
        (slot, socket): (u32, SocketId),
    ) {
        let connections = self.connections.borrow();
        let connection = connections.get(slot);
        let Some(connection) = connection.filter(|connection| connection.socket == socket) else {
            return;
        };
        let io = &mut *connection.io.borrow_mut();
        let encoding = io.encoding;
        if !io.is_live()
            || encoding == Encodings::LEAD
            || !self.hub.encodings().shows_marks(encoding)
        {
            return;
        }
        let name = batch.name.as_bytes();
        io.outbox.lend(|| self.spare_buffer());
        let Io {
            session, outbox, ..
        } = io;
        let frames = frames.get_or_make(encoding, || {
            let encode = |Told(presence): &Told<'_>| {
                let mut bytes = Vec::new();
                session.append_presence(name, presence, &mut bytes);
                Frame::uncounted(bytes)
            };
            told.iter().map(encode).collect()
        });
        for (told, frame) in told.iter().zip(frames) {
            match told.without(socket) {
                None => outbox.append_frame(self.ledger(), frame, 0),
                Some(Presence::Changed { members: [_], .. }) => {}
                Some(presence) => outbox.append_part(self.ledger(), |out| {
                    session.append_presence(name, &presence, out);
                }),
            }
        }
        if io.outbox.wants_flush() && matches!(io.phase, Phase::Open | Phase::Ending(_)) {
            self.flush(connection, io);
        }
        self.mark_dirty(connection);
    }
}

impl<'a> Told<'a> {
    /// What is left without a socket; `None`: it is not in there.
    fn without(&self, socket: SocketId) -> Option<Presence<'a>> {
        let Presence::Changed {
            change, members, ..
        } = self.0
        else {
            return None;
        };
        let own = MemberId::here(socket);
        let place = members.binary_search_by_key(&own, |(id, _)| *id);
        place.is_ok().then_some(Presence::Changed {
            change,
            members,
            without: Some(own),
        })
    }
}

/// Cuts members into parts of bounded length.
fn parts(change: MemberChange, members: &Members) -> Vec<Told<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (end, (_, info)) in members.iter().enumerate() {
        let more = MEMBER_BYTES + info.as_ref().map_or(0, |info| info.text().len());
        if bytes > 0 && bytes + more > PART_BYTES {
            parts.extend(members.get(start..end));
            (start, bytes) = (end, 0);
        }
        bytes += more;
    }
    parts.extend(members.get(start..).filter(|rest| !rest.is_empty()));
    let told = |members| {
        Told(Presence::Changed {
            change,
            members,
            without: None,
        })
    };
    parts.into_iter().map(told).collect()
}

/// From the first change to telling it, with all that have followed.
const PERIOD: Duration = Duration::from_millis(50);

/// About the length of a message, so that a member that is in it gets one of its own that is not long either.
const PART_BYTES: usize = 16 * 1024;

/// About the length of a member in a message, beside its info.
const MEMBER_BYTES: usize = 32;
