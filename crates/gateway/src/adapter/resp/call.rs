//! Commands, and one call of a command by one connection: checked as Redis checks it, run, and answered.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use millrace_core::{ShardSet, SocketId};
use millrace_protocol::resp::{Reply, Request, Version};

use super::access::User;
use super::long::{Long, SHORT_BYTES, Unfit, Whole};
use super::session::Session;
use crate::contract::{Context, Hub, LateReply};

/// A command or a subcommand: `client|id`.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    /// The number of arguments, the name included; negative: at least that many.
    pub(super) arity: i64,
    pub(super) run: fn(&mut Call<'_, '_>) -> Flow,
    /// The flags with which Redis describes the command.
    pub(super) flags: &'static str,
    pub(super) categories: &'static str,
    pub(super) uses: Uses,
    pub(super) group: &'static str,
    pub(super) since: &'static str,
    pub(super) summary: &'static str,
    /// Whether it may run before the client has authenticated.
    pub(super) for_unauthenticated: bool,
    /// Whether it may run while the connection has subscriptions, in version 2.
    pub(super) for_listeners: bool,
}

/// Which arguments the user needs permission for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uses {
    Nothing,
    /// The arguments from 1 to this one (negative: counted from the end), in steps of the second number.
    Keys(i64, usize),
    EveryKey,
    /// The first argument is a channel.
    Channel,
    /// All arguments are channels.
    Channels,
    /// All arguments are patterns.
    Patterns,
}

/// A call of a command.
pub(super) struct Call<'c, 'x> {
    pub(super) session: &'c mut Session,
    pub(super) request: Request<'c>,
    pub(super) command: &'static Command,
    /// All commands, ordered by name.
    pub(super) commands: &'static [Command],
    pub(super) cx: &'c mut Context<'x>,
}

/// What happens after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next command runs.
    Next,
    /// No further input is read until the answer to this command is written.
    Wait,
    /// The connection closes, as the peer asked.
    End,
    /// The connection closes because the gateway refuses the client.
    Refuse,
    /// The connection is cut at once.
    Cut,
}

impl Command {
    /// The arguments that the user needs permission for.
    pub(super) fn used<'r>(
        &self,
        request: &Request<'r>,
    ) -> impl Iterator<Item = &'r [u8]> + use<'r> {
        let count = request.count();
        let (end, step) = match self.uses {
            Uses::Nothing | Uses::EveryKey => (1, 1),
            Uses::Channel => (2, 1),
            Uses::Channels | Uses::Patterns => (count, 1),
            Uses::Keys(last, step) => {
                let last = usize::try_from(last).unwrap_or(count - 1);
                (last + 1, step)
            }
        };
        let taken = request.iter().take(end.min(count)).skip(1);
        taken.step_by(step)
    }
}

impl<'c, 'x> Call<'c, 'x> {
    /// An argument, empty if it is missing; the arguments that the command requires are there.
    pub(super) fn argument(&self, index: usize) -> &'c [u8] {
        self.request.get(index).unwrap_or_default()
    }

    /// The arguments from this index on.
    pub(super) fn arguments(&self, from: usize) -> impl Iterator<Item = &'c [u8]> + use<'c> {
        self.request.iter().skip(from)
    }

    pub(super) fn reply(&mut self, write: impl FnOnce(&mut Reply<'_>)) -> Flow {
        if self.session.silence.is_silent() {
            return Flow::Next;
        }
        let version = self.session.version;
        if self.session.stored.waits() {
            let mut reply = Vec::new();
            write(&mut Reply::new(version, &mut reply));
            self.session.stored.push(reply);
        } else {
            self.cx.reply(|out| write(&mut Reply::new(version, out)));
        }
        Flow::Next
    }

    pub(super) fn ok(&mut self) -> Flow {
        self.reply(|reply| reply.simple("OK"))
    }

    /// Answers with an error; the text starts with its code.
    pub(super) fn error(&mut self, text: impl AsRef<[u8]>) -> Flow {
        self.reply(|reply| reply.error(text.as_ref()))
    }

    pub(super) fn integer(&mut self, number: usize) -> Flow {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        self.reply(|reply| reply.integer(number))
    }

    /// Answers after everything that was posted to this shard so far.
    pub(super) fn reply_behind(&mut self, write: impl FnOnce(&mut Reply<'_>)) -> Flow {
        self.reply_after(Duration::ZERO, write)
    }

    /// Answers like `reply_behind`, but not before this time has passed.
    pub(super) fn reply_after(
        &mut self,
        delay: Duration,
        write: impl FnOnce(&mut Reply<'_>),
    ) -> Flow {
        let mut answer = Vec::new();
        if !self.session.silence.is_silent() {
            write(&mut Reply::new(self.session.version, &mut answer));
        }
        let answer = LateReply::Short(answer.into());
        let at = self.now().saturating_add(millis(delay));
        self.cx.reply_in_order(answer, at);
        Flow::Wait
    }

    /// Confirms with an encoded reply, after everything that was posted to this shard so far.
    pub(super) fn confirm_behind(&mut self, replies: Whole) -> Flow {
        let reply = match replies {
            Whole::Short(bytes) => LateReply::Short(bytes.into()),
            Whole::Long(frame) => LateReply::Long(frame),
        };
        self.cx.reply_in_order(reply, 0);
        Flow::Wait
    }

    /// Confirms with an encoded reply, even if the client turned replies off.
    pub(super) fn confirm(&mut self, replies: Whole) -> Flow {
        match replies {
            Whole::Short(bytes) => self.cx.reply(|out| out.extend_from_slice(&bytes)),
            Whole::Long(frame) => self.cx.reply_long(frame),
        }
        Flow::Next
    }

    /// Answers with an encoded reply.
    pub(super) fn reply_whole(&mut self, reply: Whole) -> Flow {
        if self.session.silence.is_silent() {
            return Flow::Next;
        }
        self.confirm(reply)
    }

    /// Reserves room for a value of this length if its reply is a long one.
    pub(super) fn room_for(&self, length: usize) -> Result<Option<Long>, Unfit> {
        if length <= SHORT_BYTES || self.session.silence.is_silent() {
            return Ok(None);
        }
        let version = self.session.version;
        Long::of_value(version, self.cx.charge(), length).map(Some)
    }

    /// Answers with a value for which room was reserved.
    pub(super) fn reply_value(&mut self, room: Option<Long>, value: Option<&[u8]>) -> Flow {
        let Some(mut long) = room else {
            return self.reply(|reply| reply.optional(value));
        };
        long.reply().optional(value);
        self.reply_whole(long.finish(|_| ()))
    }

    /// A reply of several parts that may become long.
    pub(super) fn long(&self) -> Long {
        Long::new(self.session.version, self.cx.charge())
    }

    /// Answers after this delay, or at once if it is zero.
    pub(super) fn reply_after_or_now(
        &mut self,
        delay: Duration,
        write: impl FnOnce(&mut Reply<'_>),
    ) -> Flow {
        if delay.is_zero() {
            return self.reply(write);
        }
        self.reply_after(delay, write)
    }

    /// Requires the client to authenticate from now on.
    pub(super) fn ask_who(&mut self) {
        let until = self.session.ask_who(self.cx.now());
        self.cx.wake_at(until);
    }

    /// Changes something in the core on behalf of this connection.
    pub(super) fn post<R>(&mut self, change: impl FnOnce(&Hub, SocketId, &mut ShardSet) -> R) -> R {
        self.cx.post(change)
    }

    /// Milliseconds since the gateway was made.
    pub(super) fn now(&self) -> u64 {
        self.cx.now()
    }

    pub(super) fn hub(&self) -> &'x Arc<Hub> {
        self.cx.hub()
    }

    pub(super) fn ip(&self) -> Option<IpAddr> {
        self.session.client.address.map(|address| address.ip())
    }

    /// Answers that the number of arguments is wrong.
    pub(super) fn wrong_arity(&mut self) -> Flow {
        let name = self.command.name;
        self.error(format!(
            "ERR wrong number of arguments for '{name}' command"
        ))
    }

    /// Why the command may not run. The checks are in the order of Redis.
    pub(super) fn objection(&self) -> Option<String> {
        let Command { name, arity, .. } = *self.command;
        let count = i64::try_from(self.request.count()).unwrap_or(i64::MAX);
        if arity >= 0 && count != arity || count < -arity {
            return Some(format!(
                "ERR wrong number of arguments for '{name}' command"
            ));
        }
        if !self.command.for_unauthenticated
            && let Some(objection) = self.session.not_allowed(name)
        {
            return Some(objection);
        }
        let user = self.session.user.as_ref();
        if let Some(objection) = user.and_then(|user| self.not_permitted(user)) {
            return Some(objection);
        }
        if !self.command.for_listeners
            && let Some(objection) = self.session.not_while_listening(name)
        {
            return Some(objection);
        }
        (self.command.flags.contains("denyoom") && self.is_full())
            .then(|| "OOM command not allowed when used memory > 'maxmemory'.".to_owned())
    }

    /// Whether the keys take too many bytes even after expired ones are removed.
    fn is_full(&self) -> bool {
        let hub = self.hub();
        let is_full = || hub.core().key_bytes() > self.session.terms.keys_bytes;
        is_full() && {
            hub.expire_keys();
            is_full()
        }
    }

    fn not_permitted(&self, user: &Arc<User>) -> Option<String> {
        let mut names = self.command.used(&self.request);
        let (permitted, what) = match self.command.uses {
            Uses::Nothing => (true, ""),
            Uses::EveryKey => (user.may_use_every_key(), "keys"),
            Uses::Keys(..) => (names.all(|key| user.may_use_key(key)), "keys"),
            Uses::Channel | Uses::Channels => (
                names.all(|channel| user.may_use_channel(channel)),
                "channels",
            ),
            Uses::Patterns => (
                names.all(|pattern| user.may_use_pattern(pattern)),
                "channels",
            ),
        };
        (!permitted).then(|| {
            format!(
                "NOPERM this user has no permissions to access one of the {what} used as arguments"
            )
        })
    }
}

fn millis(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
}

/// Whether the client speaks version 3.
pub(super) fn is_newer(version: Version) -> bool {
    version == Version::Resp3
}

pub(super) const NO_INTEGER: &str = "ERR value is not an integer or out of range";
