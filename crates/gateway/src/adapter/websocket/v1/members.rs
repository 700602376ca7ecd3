//! How clients of `millrace.v1` ask for members, and are told of them. Pure.

use millrace_core::Info;
use millrace_protocol::v1::{self, MemberEvent};

use crate::contract::{Hub, MemberChange, Presence};

/// Which members a client asks for.
#[derive(Debug)]
pub(super) struct Looking {
    pub(super) channel: Box<[u8]>,
    pub(super) limit: Option<u64>,
    pub(super) after: Option<Box<str>>,
}

/// Appends the header that tells what has changed among members.
pub(super) fn append(hub: &Hub, channel: &[u8], presence: &Presence<'_>, out: &mut Vec<u8>) {
    let (change, members, without) = match *presence {
        Presence::Count(count) => {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            return v1::append_count(channel, count, out);
        }
        Presence::Changed {
            change,
            members,
            without,
        } => (change, members, without),
    };
    let event = match change {
        MemberChange::Joined => MemberEvent::Join,
        MemberChange::Left => MemberEvent::Leave,
        MemberChange::Updated => MemberEvent::Update,
    };
    let told = members.iter().filter(|(id, _)| Some(*id) != without);
    let told: Vec<_> = told
        .map(|(id, info)| (hub.member_name(*id), info.as_ref()))
        .collect();
    v1::append_members(event, channel, texts(&told), out);
}

/// The same members as text.
pub(super) fn texts<'m>(
    members: &'m [(String, Option<&'m Info>)],
) -> impl Iterator<Item = (&'m str, Option<&'m str>)> {
    let text = |(name, info): &'m (String, Option<&'m Info>)| (&name[..], info.map(Info::text));
    members.iter().map(text)
}
