//! `CLIENT`: what a connection reports about itself, the list of all RESP connections, and how one closes another.

use std::sync::Arc;

use millrace_protocol::resp::parse_integer;

use super::call::{Call, Flow};
use super::clients::Client;
use super::limits::FixedRespLimits;
use super::session::Silence;
use super::table::shown;

pub(super) fn id(call: &mut Call<'_, '_>) -> Flow {
    let id = call.session.client.number();
    call.reply(|reply| reply.integer(id))
}

pub(super) fn get_name(call: &mut Call<'_, '_>) -> Flow {
    let name = call.session.client.told().name;
    call.reply(|reply| reply.optional((!name.is_empty()).then_some(&name)))
}

pub(super) fn set_name(call: &mut Call<'_, '_>) -> Flow {
    match rename(call, call.argument(2)) {
        Ok(()) => call.ok(),
        Err(text) => call.error(text),
    }
}

/// Sets the name of the connection.
pub(super) fn rename(call: &Call<'_, '_>, name: &[u8]) -> Result<(), &'static str> {
    if !is_name(name) {
        return Err("ERR Client names cannot contain spaces, newlines or special characters.");
    }
    if is_long(name) {
        return Err(TOO_LONG);
    }
    call.session.client.change(|told| told.name = name.to_vec());
    Ok(())
}

pub(super) fn set_info(call: &mut Call<'_, '_>) -> Flow {
    let (what, value) = (call.argument(2), call.argument(3));
    let is = |name: &[u8]| what.eq_ignore_ascii_case(name);
    if !is(b"lib-name") && !is(b"lib-ver") {
        return call.error([&b"ERR Unrecognized option '"[..], shown(what), b"'"].concat());
    }
    if !is_name(value) {
        let what = String::from_utf8_lossy(shown(what)).into_owned();
        return call.error(format!(
            "ERR {what} cannot contain spaces, newlines or special characters."
        ));
    }
    if is_long(value) {
        return call.error(TOO_LONG);
    }
    let value = value.to_vec();
    call.session.client.change(|told| {
        if is(b"lib-name") {
            told.library = value;
        } else {
            told.library_version = value;
        }
    });
    call.ok()
}

pub(super) fn no_evict(call: &mut Call<'_, '_>) -> Flow {
    let value = call.argument(2);
    if value.eq_ignore_ascii_case(b"on") || value.eq_ignore_ascii_case(b"off") {
        return call.ok();
    }
    call.error(SYNTAX)
}

pub(super) fn reply(call: &mut Call<'_, '_>) -> Flow {
    let silence = &mut call.session.silence;
    match call
        .request
        .get(2)
        .unwrap_or_default()
        .to_ascii_lowercase()
        .as_slice()
    {
        b"on" => {
            *silence = Silence::None;
            return call.ok();
        }
        b"off" => *silence = Silence::All,
        b"skip" if *silence != Silence::All => *silence = Silence::Next,
        b"skip" => {}
        _ => return call.error(SYNTAX),
    }
    Flow::Next
}

pub(super) fn info(call: &mut Call<'_, '_>) -> Flow {
    let own = Arc::clone(&call.session.client);
    show(call, &[own])
}

pub(super) fn list(call: &mut Call<'_, '_>) -> Flow {
    let all = call.session.terms.common.clients.list(None);
    let Some(what) = call.request.get(2) else {
        return show(call, &all);
    };
    let is = |name: &[u8]| what.eq_ignore_ascii_case(name);
    if is(b"type") && call.request.count() == 4 {
        return match Kind::read(call.argument(3)) {
            Ok(kind) => {
                let of_kind = |client: &Arc<Client>| kind.has(call, client);
                let some: Vec<_> = all.into_iter().filter(of_kind).collect();
                show(call, &some)
            }
            Err(text) => call.error(text),
        };
    }
    if is(b"id") && call.request.count() > 3 {
        let ids: Option<Vec<i64>> = call.arguments(3).map(parse_integer).collect();
        let Some(ids) = ids else {
            return call.error("ERR Invalid client ID");
        };
        // no socket id is below 1
        let ids: Vec<u64> = ids
            .into_iter()
            .filter_map(|id| u64::try_from(id).ok())
            .collect();
        let some = call.session.terms.common.clients.list(Some(&ids));
        return show(call, &some);
    }
    call.error(SYNTAX)
}

fn show(call: &mut Call<'_, '_>, clients: &[Arc<Client>]) -> Flow {
    let now = call.now();
    let core = call.hub().core();
    let (mut text, mut line) = (call.long(), String::new());
    for client in clients {
        line.clear();
        client.append_line(core.tally(client.id), now, &mut line);
        line.push('\n');
        if let Err(unfit) = text.append(line.as_bytes()) {
            return call.error(unfit.text("ERR the list is too long: ask for fewer"));
        }
    }
    let length = text.len();
    if let Err(unfit) = text.append(b"\r\n") {
        return call.error(unfit.text("ERR the list is too long: ask for fewer"));
    }
    let whole = text.finish(|reply| reply.verbatim_head(b"txt", length));
    call.reply_whole(whole)
}

pub(super) fn kill(call: &mut Call<'_, '_>) -> Flow {
    let (wanted, is_old) = match call.request.count() {
        3 => (Wanted::at(call.argument(2)), true),
        _ => match Wanted::read(call) {
            Ok(wanted) => (wanted, false),
            Err(text) => return call.error(text),
        },
    };
    let mut all = call.session.terms.common.clients.list(None);
    all.retain(|client| wanted.has(call, client));
    let own = call.session.client.id;
    let ends = all.iter().any(|client| client.id == own);
    for client in all.iter().filter(|client| client.id != own) {
        // a client that left meanwhile is closed as well
        let _there = call.post(|hub, _, dirty| hub.close(client.id, KILLED, "", dirty));
        call.session.terms.common.clients.leave(client.id);
    }
    if !is_old {
        call.integer(all.len());
    } else if all.is_empty() {
        call.error("ERR No such client");
    } else {
        call.ok();
    }
    if ends { Flow::End } else { Flow::Next }
}

/// The criteria of `CLIENT KILL`: a connection is closed that meets all of them.
#[derive(Default)]
struct Wanted<'c> {
    id: Option<i64>,
    kind: Option<Kind>,
    address: Option<&'c [u8]>,
    local: Option<&'c [u8]>,
    user: Option<&'c [u8]>,
    spares_itself: bool,
}

impl<'c> Wanted<'c> {
    /// The old form: the connection from this address, even if it is the caller's own.
    fn at(address: &'c [u8]) -> Self {
        Self {
            address: Some(address),
            ..Self::default()
        }
    }

    fn read(call: &Call<'c, '_>) -> Result<Self, Vec<u8>> {
        let mut wanted = Self {
            spares_itself: true,
            ..Self::default()
        };
        let mut words = call.arguments(2);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(SYNTAX)?;
            match word.to_ascii_lowercase().as_slice() {
                b"id" => {
                    let id = parse_integer(value).filter(|id| *id > 0);
                    wanted.id = Some(id.ok_or("ERR client-id should be greater than 0")?);
                }
                b"type" => wanted.kind = Some(Kind::read(value)?),
                b"addr" => wanted.address = Some(value),
                b"laddr" => wanted.local = Some(value),
                b"user" if call.session.terms.access.knows(value) => wanted.user = Some(value),
                b"user" => return Err([&b"ERR No such user '"[..], shown(value), b"'"].concat()),
                b"skipme" if value.eq_ignore_ascii_case(b"yes") => wanted.spares_itself = true,
                b"skipme" if value.eq_ignore_ascii_case(b"no") => wanted.spares_itself = false,
                _ => return Err(SYNTAX.into()),
            }
        }
        Ok(wanted)
    }

    fn has(&self, call: &Call<'_, '_>, client: &Client) -> bool {
        !(self.spares_itself && client.id == call.session.client.id)
            && self.id.is_none_or(|id| id == client.number())
            && self
                .address
                .is_none_or(|address| client.address().as_bytes() == address)
            && self
                .local
                .is_none_or(|local| client.local_address().as_bytes() == local)
            && self
                .user
                .is_none_or(|user| client.told().user.as_bytes() == user)
            && self.kind.is_none_or(|kind| kind.has(call, client))
    }
}

/// The types of clients that Redis knows.
#[derive(Clone, Copy)]
enum Kind {
    Asking,
    Listening,
    /// Other servers: there are none here.
    Server,
}

impl Kind {
    fn read(name: &[u8]) -> Result<Self, Vec<u8>> {
        match name.to_ascii_lowercase().as_slice() {
            b"normal" => Ok(Self::Asking),
            b"pubsub" => Ok(Self::Listening),
            b"master" | b"replica" | b"slave" => Ok(Self::Server),
            _ => Err([&b"ERR Unknown client type '"[..], shown(name), b"'"].concat()),
        }
    }

    fn has(self, call: &Call<'_, '_>, client: &Client) -> bool {
        let listens = || call.hub().core().tally(client.id).total() > 0;
        match self {
            Self::Asking => !listens(),
            Self::Listening => listens(),
            Self::Server => false,
        }
    }
}

/// Whether Redis accepts the name: it has to be visible ASCII.
fn is_name(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_graphic)
}

fn is_long(name: &[u8]) -> bool {
    name.len() > FixedRespLimits::default().client_name_bytes
}

const TOO_LONG: &str = "ERR the name is too long";

const SYNTAX: &str = "ERR syntax error";

/// RFC 6455's code for a connection that is closed on purpose by the other side.
const KILLED: u16 = 1008;
