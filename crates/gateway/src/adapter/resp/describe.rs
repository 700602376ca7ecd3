//! `COMMAND`: descriptions of commands, which clients ask for before they use them.

use millrace_protocol::resp::Reply;

use super::call::{Call, Command, Flow, Uses};
use super::table::{named, parts, whole};

pub(super) fn all(call: &mut Call<'_, '_>) -> Flow {
    if call.request.count() > 1 {
        return call.wrong_arity();
    }
    every(call, describe)
}

/// Answers with the descriptions of all commands.
fn every(call: &mut Call<'_, '_>, describe: Describe) -> Flow {
    let commands = call.commands;
    call.reply(|reply| {
        reply.array(whole(commands).count());
        whole(commands).for_each(|command| describe(reply, commands, command));
    })
}

pub(super) fn count(call: &mut Call<'_, '_>) -> Flow {
    call.integer(whole(call.commands).count())
}

pub(super) fn list(call: &mut Call<'_, '_>) -> Flow {
    if call.request.count() > 2 {
        return call.error("ERR syntax error");
    }
    every(call, |reply, _, command| {
        reply.bulk(command.name.as_bytes());
    })
}

pub(super) fn info(call: &mut Call<'_, '_>) -> Flow {
    if call.request.count() == 2 {
        return every(call, describe);
    }
    let (commands, mut list) = (call.commands, call.long());
    for name in call.arguments(2) {
        let written = list.write(DESCRIPTION_BYTES, |reply| match find(commands, name) {
            Some(command) => describe(reply, commands, command),
            None => reply.null(),
        });
        if let Err(unfit) = written {
            return call.error(unfit.text(TOO_LONG));
        }
    }
    let length = call.request.count() - 2;
    let whole = list.finish(|reply| reply.array(length));
    call.reply_whole(whole)
}

pub(super) fn docs(call: &mut Call<'_, '_>) -> Flow {
    let commands = call.commands;
    if call.request.count() == 2 {
        return call.reply(|reply| {
            reply.map(whole(commands).count());
            whole(commands).for_each(|command| document(reply, commands, command));
        });
    }
    let (mut list, mut length) = (call.long(), 0);
    for command in call.arguments(2).filter_map(|name| find(commands, name)) {
        length += 1;
        let written = list.write(DESCRIPTION_BYTES, |reply| {
            document(reply, commands, command);
        });
        if let Err(unfit) = written {
            return call.error(unfit.text(TOO_LONG));
        }
    }
    let whole = list.finish(|reply| reply.map(length));
    call.reply_whole(whole)
}

/// Writes the description of one command.
type Describe = fn(&mut Reply<'_>, &'static [Command], &'static Command);

/// The most bytes of one description.
const DESCRIPTION_BYTES: usize = 4096;

const TOO_LONG: &str = "ERR the answer is too long: ask for fewer";

fn find(commands: &'static [Command], name: &[u8]) -> Option<&'static Command> {
    named(commands, &name.to_ascii_lowercase())
}

/// Writes a command's name and its summary.
fn document(reply: &mut Reply<'_>, commands: &'static [Command], command: &'static Command) {
    reply.bulk(command.name.as_bytes());
    let count = parts(commands, command).count();
    reply.map(3 + usize::from(count > 0));
    for (name, value) in [
        ("summary", command.summary),
        ("since", command.since),
        ("group", command.group),
    ] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    if count > 0 {
        reply.bulk(b"subcommands");
        reply.map(count);
        parts(commands, command).for_each(|part| document(reply, commands, part));
    }
}

/// Writes the description of a command, in the ten parts of Redis 7.
fn describe(reply: &mut Reply<'_>, commands: &'static [Command], command: &'static Command) {
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.integer(command.arity);
    words(reply, command.flags);
    let keys = match command.uses {
        Uses::Keys(last, step) => [1, last, i64::try_from(step).unwrap_or(1)],
        Uses::Channel if command.name == "spublish" => [1, 1, 1],
        Uses::Channels if command.name == "ssubscribe" => [1, -1, 1],
        _ => [0; 3],
    };
    for number in keys {
        reply.integer(number);
    }
    words(reply, command.categories);
    // no tips and no key specifications
    reply.set(0);
    reply.set(0);
    match parts(commands, command).count() {
        0 => reply.set(0),
        count => reply.array(count),
    }
    parts(commands, command).for_each(|part| describe(reply, commands, part));
}

/// Writes the words of a text as a set.
fn words(reply: &mut Reply<'_>, text: &str) {
    reply.set(text.split_whitespace().count());
    text.split_whitespace().for_each(|word| reply.simple(word));
}

#[cfg(test)]
mod tests {
    use millrace_protocol::resp::Version;

    use super::*;
    use crate::adapter::resp::commands::COMMANDS;

    #[test]
    fn descriptions_of_commands_are_short() {
        for command in whole(&COMMANDS) {
            for tell in [describe, document] {
                let mut out = Vec::new();
                tell(
                    &mut Reply::new(Version::Resp2, &mut out),
                    &COMMANDS,
                    command,
                );
                assert!(out.len() <= DESCRIPTION_BYTES, "{}", command.name);
            }
        }
    }

    #[test]
    fn a_command_is_described_in_ten_parts() {
        let mut out = Vec::new();
        describe(
            &mut Reply::new(Version::Resp3, &mut out),
            &COMMANDS,
            find(&COMMANDS, b"GET").unwrap(),
        );
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "*10\r\n$3\r\nget\r\n:2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~3\r\n+@read\r\n+@string\r\n+@fast\r\n\
             ~0\r\n~0\r\n~0\r\n"
        );
    }
}
