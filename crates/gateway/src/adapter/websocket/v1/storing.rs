//! Operations of a client of `millrace.v1` for which a store of histories is asked first. What the store has holds up no other
//! operation; a subscription holds up those of its channel until the channel is followed.

use millrace_core::{HistoryTerms, Position};
use millrace_protocol::v1::{Code, Id, Start};

use super::asked::{State, What};
use super::entering::owned_start;
use super::history::say_history;
use super::operations::{begin, say_okay};
use super::presence::UNSEEN;
use super::speaker::{Speaker, fail};
use crate::close::CloseReason;
use crate::contract::{Context, Flow, Hub, Reading, StoreVerdict, Teller};

impl Speaker {
    /// Whether one more operation may wait for the store. It has no room only while input goes on because the application
    /// waits for the client; then the operation is refused with this code.
    pub(super) fn has_room_for_store(
        &self,
        id: Option<&Id<'_>>,
        code: Code,
        cx: &mut Context<'_>,
    ) -> bool {
        let has_room = !cx.hub().asks_store() || !self.is_full(cx);
        if !has_room && id.is_some() {
            fail(id, code, "too many requests wait", cx);
        }
        has_room
    }

    /// A number by which the store's answer to a publication is known.
    pub(super) fn number_for_store(&mut self, cx: &Context<'_>) -> u32 {
        if !cx.hub().asks_store() {
            return 0;
        }
        self.asked.get_or_insert_default().reserve()
    }

    /// The store has a message, and answers by this number.
    pub(super) fn is_stored(&mut self, number: u32, id: Option<&Id<'_>>, bytes: usize) {
        let id = id.cloned().map(Id::into_owned);
        let asked = self.asked.get_or_insert_default();
        asked.push_as(number, id, What::Stored(bytes));
    }

    /// Whether input may go on behind an operation for which the store may have been asked.
    pub(super) fn flow_with_store(&self, cx: &mut Context<'_>) -> Flow {
        if cx.hub().asks_store() {
            self.flow(cx)
        } else {
            Flow::Go
        }
    }

    /// Whether a subscription has to wait until its channel is followed.
    pub(super) fn follows_first(
        &mut self,
        id: &Id<'_>,
        channel: &[u8],
        (start, info): (Option<&Start<'_>>, Option<&str>),
        cx: &mut Context<'_>,
    ) -> bool {
        if !cx.hub().asks_store() {
            return false;
        }
        let asked = self.asked.get_or_insert_default();
        let number = asked.reserve();
        let place = (channel, begin(start));
        let waits = cx.post(|hub, socket, _| hub.session_waits(place, socket, number));
        if waits {
            let what = What::Subscribe {
                channel: channel.into(),
                start: start.cloned().map(owned_start),
                info: info.map(Into::into),
            };
            asked.push_first(number, id.clone().into_owned(), what);
        }
        waits
    }

    /// Asks the store for what a channel has kept.
    pub(super) fn look(
        &mut self,
        id: Id<'_>,
        (channel, terms): (&[u8], HistoryTerms),
        reading: Reading,
        cx: &mut Context<'_>,
    ) {
        let asked = self.asked.get_or_insert_default();
        let what = What::Look {
            channel: channel.into(),
        };
        let number = asked.push(Some(id.into_owned()), what);
        cx.post(|hub, socket, _| {
            let teller = Teller::Session(socket, number);
            hub.read_stored((channel, terms), reading, teller);
        });
    }

    /// The store has answered. What is unknown had its answer already.
    pub(super) fn store_answered(
        &mut self,
        (number, verdict): (u32, &StoreVerdict),
        payload: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let Some(asked) = self.asked.as_deref_mut() else {
            return Ok(());
        };
        let item = asked.take(number, State::Follows);
        let Some(item) = item.or_else(|| asked.take(number, State::Asked)) else {
            return Ok(());
        };
        let id = item.id.as_ref();
        match (verdict, &item.what, id) {
            (
                StoreVerdict::Followed,
                What::Subscribe {
                    channel,
                    start,
                    info,
                },
                Some(id),
            ) => self.subscribe(id, channel, (start.as_ref(), info.as_deref()), cx)?,
            (StoreVerdict::Published(position), What::Stored(_), id) => {
                say_published(id, *position, cx);
            }
            (StoreVerdict::Read, What::Look { channel }, Some(id)) => {
                match Hub::read_past(payload) {
                    Some(past) => say_history(id, channel, past, cx),
                    None => fail(Some(id), Code::Failed, AWAY, cx),
                }
            }
            (StoreVerdict::Followed, What::Members(looking), Some(id)) => {
                let (limit, after) = (looking.limit, looking.after.as_deref());
                self.presence(id, &looking.channel, (limit, after), cx)?;
            }
            (_, What::Members(_), Some(id)) => fail(Some(id), Code::Failed, UNSEEN, cx),
            (StoreVerdict::Unknown, _, Some(id)) => fail(Some(id), Code::Timeout, UNKNOWN, cx),
            (_, _, Some(id)) => fail(Some(id), Code::Failed, AWAY, cx),
            (_, _, None) => {}
        }
        self.done(&item, cx)
    }
}

fn say_published(id: Option<&Id<'_>>, position: Position, cx: &mut Context<'_>) {
    if let Some(id) = id {
        say_okay(id, Some(position), None, cx);
    }
}

const AWAY: &str = "the store of histories cannot be reached";
const UNKNOWN: &str = "whether the message was published is not known";
