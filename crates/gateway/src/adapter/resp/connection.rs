//! Commands about the connection itself: who it is, what it speaks, how it ends.

use std::time::Duration;

use millrace_protocol::resp::{Version, parse_integer};

use super::access::Denied;
use super::call::{Call, Flow, is_newer};
use super::server::REDIS_VERSION;
use super::throttle::Wait;

pub(super) fn ping(call: &mut Call<'_>) -> Flow {
    if call.request.count() > 2 {
        return call.wrong_arity();
    }
    let word = call.request.get(1);
    if call.session.only_listens() {
        return call.reply(|reply| {
            reply.array(2);
            reply.bulk(b"pong");
            reply.bulk(word.unwrap_or_default());
        });
    }
    call.reply(|reply| match word {
        None => reply.simple("PONG"),
        Some(word) => reply.bulk(word),
    })
}

pub(super) fn echo(call: &mut Call<'_>) -> Flow {
    let word = call.argument(1);
    call.reply(|reply| reply.bulk(word))
}

pub(super) fn select(call: &mut Call<'_>) -> Flow {
    match parse_integer(call.argument(1)) {
        None => call.error("ERR value is not an integer or out of range"),
        Some(0) => call.ok(),
        Some(_) => call.error("ERR DB index is out of range"),
    }
}

pub(super) fn quit(call: &mut Call<'_>) -> Flow {
    call.ok();
    Flow::End
}

pub(super) fn reset(call: &mut Call<'_>) -> Flow {
    let listened = call.session.listens();
    super::pubsub::exit_all(call);
    call.session.speak(Version::Resp2);
    let anyone = call.session.terms.access.anyone();
    call.session.become_user(anyone);
    call.session.client.change(|told| told.name = Vec::new());
    if listened {
        call.reply_behind(|reply| reply.simple("RESET"))
    } else {
        call.reply(|reply| reply.simple("RESET"))
    }
}

pub(super) fn auth(call: &mut Call<'_>) -> Flow {
    let (name, password) = match call.request.count() {
        2 => (None, call.argument(1)),
        3 => (Some(call.argument(1)), call.argument(2)),
        _ => return call.error("ERR syntax error"),
    };
    match identify(call, name, password) {
        Identity::Known(delay) => call.reply_after_or_now(delay, |reply| reply.simple("OK")),
        Identity::Unknown(flow) => flow,
    }
}

/// What became of a name and a password.
enum Identity {
    /// Right. What is said of it is said after this time.
    Known(Duration),
    /// Wrong, and that is said.
    Unknown(Flow),
}

fn identify(call: &mut Call<'_>, name: Option<&[u8]>, password: &[u8]) -> Identity {
    let found = call.session.terms.access.find(name, password);
    if let Err(Denied::NoPassword) = found {
        return Identity::Unknown(call.error(NO_PASSWORD));
    }
    let (ip, now) = (call.ip(), call.now());
    let throttle = &call.session.gateway.resp().throttle;
    let Wait::For(delay) = throttle.ask(ip, found.is_ok(), now) else {
        call.error("ERR too many wrong passwords from this address");
        return Identity::Unknown(Flow::Refuse);
    };
    if let Ok(user) = found {
        call.session.become_user(Some(user));
        return Identity::Known(delay);
    }
    tracing::warn!(
        target: "millrace::connection",
        socket = call.session.client.id.get(),
        address = ip.map(tracing::field::display),
        "wrong password"
    );
    let flow = call.reply_after(delay, |reply| {
        reply.error(b"WRONGPASS invalid username-password pair or user is disabled.");
    });
    Identity::Unknown(flow)
}

/// What `HELLO` was given.
#[derive(Default)]
struct Hello<'a> {
    version: Option<Version>,
    identity: Option<(&'a [u8], &'a [u8])>,
    name: Option<&'a [u8]>,
}

pub(super) fn hello(call: &mut Call<'_>) -> Flow {
    let given = match parse_hello(call) {
        Ok(given) => given,
        Err(text) => return call.error(text),
    };
    let mut delay = Duration::ZERO;
    if let Some((name, password)) = given.identity {
        match identify(call, Some(name), password) {
            Identity::Known(after) => delay = after,
            Identity::Unknown(flow) => return flow,
        }
    }
    if call.session.user.is_none() {
        return call.error(NO_HELLO);
    }
    if let Some(name) = given.name {
        call.session.client.change(|told| told.name = name.to_vec());
    }
    if let Some(version) = given.version {
        call.session.speak(version);
    }
    let id = i64::try_from(call.session.client.id.get()).unwrap_or(i64::MAX);
    call.reply_after_or_now(delay, |reply| {
        reply.map(7);
        for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
            reply.bulk(name.as_bytes());
            reply.bulk(value.as_bytes());
        }
        reply.bulk(b"proto");
        reply.integer(if is_newer(reply.version()) { 3 } else { 2 });
        reply.bulk(b"id");
        reply.integer(id);
        for (name, value) in [("mode", "standalone"), ("role", "master")] {
            reply.bulk(name.as_bytes());
            reply.bulk(value.as_bytes());
        }
        reply.bulk(b"modules");
        reply.array(0);
    })
}

fn parse_hello<'c>(call: &Call<'c>) -> Result<Hello<'c>, Vec<u8>> {
    let mut hello = Hello::default();
    let mut rest = call.arguments(1);
    let Some(version) = rest.next() else {
        return Ok(hello);
    };
    hello.version = match parse_integer(version) {
        Some(2) => Some(Version::Resp2),
        Some(3) => Some(Version::Resp3),
        Some(_) => return Err(b"NOPROTO unsupported protocol version".to_vec()),
        None => {
            return Err(b"ERR Protocol version is not an integer or out of range".to_vec());
        }
    };
    while let Some(option) = rest.next() {
        let wrong = || [&b"ERR Syntax error in HELLO option '"[..], option, b"'"].concat();
        if option.eq_ignore_ascii_case(b"auth") {
            let pair = rest.next().zip(rest.next());
            hello.identity = Some(pair.ok_or_else(wrong)?);
        } else if option.eq_ignore_ascii_case(b"setname") {
            let name = rest.next().ok_or_else(wrong)?;
            if !is_name(name) {
                return Err(BAD_NAME.as_bytes().to_vec());
            }
            hello.name = Some(name);
        } else {
            return Err(wrong());
        }
    }
    Ok(hello)
}

/// A command that has parts, without one.
pub(super) fn part(call: &mut Call<'_>) -> Flow {
    call.wrong_arity()
}

pub(super) fn id(call: &mut Call<'_>) -> Flow {
    let id = i64::try_from(call.session.client.id.get()).unwrap_or(i64::MAX);
    call.reply(|reply| reply.integer(id))
}

pub(super) fn get_name(call: &mut Call<'_>) -> Flow {
    let name = call.session.client.told().name;
    call.reply(|reply| reply.optional((!name.is_empty()).then_some(&name)))
}

pub(super) fn set_name(call: &mut Call<'_>) -> Flow {
    let name = call.argument(2);
    if !is_name(name) {
        return call.error(BAD_NAME);
    }
    call.session.client.change(|told| told.name = name.to_vec());
    call.ok()
}

pub(super) fn set_info(call: &mut Call<'_>) -> Flow {
    let (what, value) = (call.argument(2), call.argument(3));
    let is = |name: &[u8]| what.eq_ignore_ascii_case(name);
    if !is(b"lib-name") && !is(b"lib-ver") {
        return call.error([&b"ERR Unrecognized option '"[..], what, b"'"].concat());
    }
    if !is_name(value) {
        let what = String::from_utf8_lossy(what).into_owned();
        return call.error(format!(
            "ERR {what} cannot contain spaces, newlines or special characters."
        ));
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

pub(super) fn no_evict(call: &mut Call<'_>) -> Flow {
    let value = call.argument(2);
    if value.eq_ignore_ascii_case(b"on") || value.eq_ignore_ascii_case(b"off") {
        return call.ok();
    }
    call.error("ERR syntax error")
}

pub(super) fn info(call: &mut Call<'_>) -> Flow {
    let own = call.session.client.id.get();
    show(call, Some(&[own]))
}

pub(super) fn list(call: &mut Call<'_>) -> Flow {
    let Some(what) = call.request.get(2) else {
        return show(call, None);
    };
    let is = |name: &[u8]| what.eq_ignore_ascii_case(name);
    if is(b"type") && call.request.count() == 4 {
        let kind = call.argument(3);
        return match kind.to_ascii_lowercase().as_slice() {
            b"normal" | b"pubsub" => show(call, None),
            b"master" | b"replica" | b"slave" => show(call, Some(&[])),
            _ => call.error([&b"ERR Unknown client type '"[..], kind, b"'"].concat()),
        };
    }
    if is(b"id") && call.request.count() > 3 {
        let ids: Option<Vec<u64>> = call
            .arguments(3)
            .map(|id| parse_integer(id).and_then(|id| u64::try_from(id).ok()))
            .collect();
        return match ids.filter(|ids| !ids.contains(&0)) {
            Some(ids) => show(call, Some(&ids)),
            None => call.error("ERR Invalid client ID"),
        };
    }
    call.error("ERR syntax error")
}

fn show(call: &mut Call<'_>, ids: Option<&[u64]>) -> Flow {
    let now = call.now();
    let gateway = &call.session.gateway;
    let mut text = Vec::new();
    for client in gateway.resp().clients.list(ids) {
        client.append_line(gateway.core().tally(client.id), now, &mut text);
        text.push(b'\n');
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    call.reply(|reply| reply.verbatim(b"txt", &text))
}

/// As Redis allows: visible ASCII.
fn is_name(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_graphic)
}

const BAD_NAME: &str = "ERR Client names cannot contain spaces, newlines or special characters.";

const NO_PASSWORD: &str = "ERR AUTH <password> called without any password configured for the default user. Are you \
                           sure your configuration is correct?";

const NO_HELLO: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
                        <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP \
                        protocol version at the same time";
