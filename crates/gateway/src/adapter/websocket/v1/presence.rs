//! Presence for clients of `millrace.v1`: what makes them members, and what they may ask.

use millrace_core::{Info, InfoError, Maker};
use millrace_protocol::v1::{self, Code, Id, Okay};
use millrace_protocol::websocket::{self, Opcode};

use super::asked::What;
use super::members::{Looking, texts};
use super::speaker::{Speaker, append_header, fail};
use crate::close::CloseReason;
use crate::contract::{Context, Readiness};

/// A client that may become a member, with what it says of itself.
pub(super) struct Member(Option<Info>);

/// What a client will be that subscribes to a channel; `None`: nothing, because the channel has no presence.
pub(super) fn member(
    channel: &[u8],
    info: Option<&str>,
    cx: &mut Context<'_>,
) -> Result<Option<Member>, InfoError> {
    let core = cx.hub().core();
    if !core.has_presence(channel) {
        return Ok(None);
    }
    let info = info.map(|info| core.info(&v1::compact(info)));
    Ok(Some(Member(info.transpose()?)))
}

/// Makes a client that has subscribed itself a member.
pub(super) fn enter(channel: &[u8], member: Option<Member>, cx: &mut Context<'_>) {
    if let Some(Member(info)) = member {
        let by = (Maker::Client, info.as_ref());
        cx.post(|hub, socket, dirty| hub.make_members(&[socket], channel, by, dirty));
    }
}

/// Replaces what a client says of itself.
pub(super) fn set_info(id: &Id<'_>, channel: &[u8], info: &str, cx: &mut Context<'_>) {
    if !cx.hub().core().has_presence(channel) {
        return fail(Some(id), Code::NotFound, NO_PRESENCE, cx);
    }
    let info = match cx.hub().core().info(&v1::compact(info)) {
        Ok(info) => info,
        Err(error) => return fail(Some(id), Code::Limit, &error.to_string(), cx),
    };
    match cx.post(|hub, socket, dirty| hub.set_info(socket, channel, &info, dirty)) {
        Ok(true) => {
            cx.reply(|out| append_header(|line| Okay::new(id).append(line), out));
        }
        Ok(false) => fail(Some(id), Code::NotFound, "it is no member", cx),
        Err(_) => fail(Some(id), Code::NotFound, NO_PRESENCE, cx),
    }
}

impl Speaker {
    /// Answers with a page of the members of a channel.
    pub(super) fn presence(
        &mut self,
        id: &Id<'_>,
        channel: &[u8],
        (limit, after): (Option<u64>, Option<&str>),
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let hub = cx.hub();
        let from = after.map(|name| hub.member_named(name));
        if from == Some(None) {
            return self.bad(Some(id), "after must be the id of a socket", cx);
        }
        if hub.rosters().is_on() && self.waits_for_members(id, channel, (limit, after), cx) {
            return Ok(());
        }
        let hub = cx.hub();
        let most = limit.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let most = most.min(MOST_MEMBERS);
        // one more than the page has, to see whether there are more
        let members = hub
            .core()
            .members(channel, hub.node(), from.flatten(), most + 1);
        let Ok(members) = members else {
            fail(Some(id), Code::NotFound, NO_PRESENCE, cx);
            return Ok(());
        };
        let mut bytes = 0;
        let fits = members.iter().take(most).take_while(|member| {
            let is_first = bytes == 0;
            bytes += 64 + member.info.as_ref().map_or(0, |info| info.text().len());
            is_first || bytes <= PAGE_BYTES
        });
        let page: Vec<_> = fits
            .map(|member| (hub.member_name(member.id()), member.info.as_ref()))
            .collect();
        let okay = Okay {
            // behind a page without members there is no next one
            more: !page.is_empty() && page.len() < members.len(),
            ..Okay::new(id)
        };
        let mut message = Vec::new();
        okay.append(&mut message);
        message.push(b'\n');
        v1::append_member_list(texts(&page), &mut message);
        cx.reply(|out| websocket::append_frame(out, Opcode::Text, &message));
        Ok(())
    }

    /// Whether the members of other nodes are not known yet. Then it is answered later, or was refused.
    fn waits_for_members(
        &mut self,
        id: &Id<'_>,
        channel: &[u8],
        (limit, after): (Option<u64>, Option<&str>),
        cx: &mut Context<'_>,
    ) -> bool {
        let is_full = self.is_full(cx);
        let asked = self.asked.get_or_insert_default();
        let number = asked.reserve();
        let readiness =
            cx.post(|hub, socket, _| hub.session_reads_members(channel, (socket, number)));
        match readiness {
            Readiness::Known => return false,
            // its answer belongs to nothing then
            Readiness::Awaited if is_full => {
                fail(Some(id), Code::Limit, "too many requests wait", cx);
            }
            Readiness::Awaited => {
                let looking = Looking {
                    channel: channel.into(),
                    limit,
                    after: after.map(Into::into),
                };
                asked.push_as(
                    number,
                    Some(id.clone().into_owned()),
                    What::Members(looking),
                );
            }
            Readiness::Unknown => fail(Some(id), Code::Failed, UNSEEN, cx),
        }
        true
    }
}

/// Why members cannot be read.
pub(super) const UNSEEN: &str = "the members of other nodes cannot be read now";

const NO_PRESENCE: &str = "the channel has no presence";

/// Members of an answer without a limit.
const PAGE: usize = 100;

/// The most members of an answer, and about their bytes if there are several.
const MOST_MEMBERS: usize = 1_000;
const PAGE_BYTES: usize = 256 * 1024;
