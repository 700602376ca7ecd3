//! Commands about the connection itself: authentication, protocol version, database, end.

use std::time::Duration;

use millrace_protocol::resp::{Reply, Version, parse_integer};

use super::access::Denied;
use super::call::{Call, Flow, is_newer};
use super::client::rename;
use super::server::REDIS_VERSION;
use super::session::Silence;
use super::table::shown;
use super::throttle::Wait;

pub(super) fn ping(call: &mut Call<'_, '_>) -> Flow {
    if call.request.count() > 2 {
        return call.wrong_arity();
    }
    let word = call.request.get(1);
    let says_so = call.session.only_listens();
    let pong = |reply: &mut Reply<'_>| match word {
        _ if says_so => {
            reply.array(2);
            reply.bulk(b"pong");
            reply.bulk(word.unwrap_or_default());
        }
        None => reply.simple("PONG"),
        Some(word) => reply.bulk(word),
    };
    if call.session.listens() {
        // a client takes the answer as a sign that it has received everything that was published before
        return call.reply_behind(pong);
    }
    call.reply(pong)
}

pub(super) fn echo(call: &mut Call<'_, '_>) -> Flow {
    let word = call.argument(1);
    call.reply(|reply| reply.bulk(word))
}

pub(super) fn select(call: &mut Call<'_, '_>) -> Flow {
    match parse_integer(call.argument(1)) {
        None => call.error("ERR value is not an integer or out of range"),
        Some(0) => call.ok(),
        Some(_) => call.error("ERR DB index is out of range"),
    }
}

pub(super) fn quit(call: &mut Call<'_, '_>) -> Flow {
    call.ok();
    Flow::End
}

pub(super) fn reset(call: &mut Call<'_, '_>) -> Flow {
    let was_known = call.session.user.is_some();
    super::pubsub::exit_all(call);
    call.session.speak(Version::Resp2);
    let anyone = call.session.terms.access.anyone();
    call.session.become_user(anyone);
    call.session.client.change(|told| told.name = Vec::new());
    call.session.silence = Silence::None;
    if was_known && call.session.user.is_none() {
        call.ask_who();
    }
    // no message that was already on its way follows the answer
    call.reply_behind(|reply| reply.simple("RESET"))
}

pub(super) fn auth(call: &mut Call<'_, '_>) -> Flow {
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

/// The result of checking a name and a password.
enum Identity {
    /// They are right. The answer is sent after this delay.
    Known(Duration),
    /// They are wrong, and the answer says so.
    Unknown(Flow),
}

fn identify(call: &mut Call<'_, '_>, name: Option<&[u8]>, password: &[u8]) -> Identity {
    let found = call.session.terms.access.find(name, password);
    if let Err(Denied::NoPassword) = found {
        return Identity::Unknown(call.error(NO_PASSWORD));
    }
    let (ip, now) = (call.ip(), call.now());
    let throttle = &call.session.terms.common.throttle;
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

/// Handles `HELLO`. As in Redis, its options take effect one after the other, up to the first wrong one.
pub(super) fn hello(call: &mut Call<'_, '_>) -> Flow {
    let mut options = call.arguments(1);
    let version = match options.next().map(read_version).transpose() {
        Ok(version) => version,
        Err(text) => return call.error(text),
    };
    let mut delay = Duration::ZERO;
    while let Some(option) = options.next() {
        let is = |name: &[u8]| option.eq_ignore_ascii_case(name);
        let text = if is(b"auth")
            && let Some((name, password)) = options.next().zip(options.next())
        {
            match identify(call, Some(name), password) {
                Identity::Known(after) => delay = after,
                Identity::Unknown(flow) => return flow,
            }
            continue;
        } else if is(b"setname")
            && let Some(name) = options.next()
        {
            match rename(call, name) {
                Ok(()) => continue,
                Err(text) => text.into(),
            }
        } else {
            [
                &b"ERR Syntax error in HELLO option '"[..],
                shown(option),
                b"'",
            ]
            .concat()
        };
        return call.reply_after_or_now(delay, |reply| reply.error(&text));
    }
    if call.session.user.is_none() {
        return call.error(NO_HELLO);
    }
    if let Some(version) = version {
        call.session.speak(version);
    }
    greet(call, delay)
}

fn read_version(text: &[u8]) -> Result<Version, &'static str> {
    match parse_integer(text) {
        Some(2) => Ok(Version::Resp2),
        Some(3) => Ok(Version::Resp3),
        Some(_) => Err("NOPROTO unsupported protocol version"),
        None => Err("ERR Protocol version is not an integer or out of range"),
    }
}

/// Answers with the description of the server.
fn greet(call: &mut Call<'_, '_>, delay: Duration) -> Flow {
    let id = call.session.client.number();
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

/// Answers a command that was sent without its subcommand.
pub(super) fn part(call: &mut Call<'_, '_>) -> Flow {
    call.wrong_arity()
}

const NO_PASSWORD: &str = "ERR AUTH <password> called without any password configured for the default user. Are you \
                           sure your configuration is correct?";

const NO_HELLO: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH \
                        <user> <pass> option can be used to authenticate the client and select the RESP protocol \
                        version at the same time";
