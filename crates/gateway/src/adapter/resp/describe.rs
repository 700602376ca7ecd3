//! `COMMAND`: what clients ask about commands before they use them.

use millrace_protocol::resp::Reply;

use super::call::{Call, Flow};
use super::long::Long;
use super::table::{Command, Uses, commands, named};

pub(super) fn all(call: &mut Call<'_, '_>) -> Flow {
    if call.request.count() > 1 {
        return call.wrong_arity();
    }
    call.reply(|reply| {
        reply.array(commands().count());
        commands().for_each(|command| describe(reply, command));
    })
}

pub(super) fn count(call: &mut Call<'_, '_>) -> Flow {
    call.integer(commands().count())
}

pub(super) fn list(call: &mut Call<'_, '_>) -> Flow {
    if call.request.count() > 2 {
        return call.error("ERR syntax error");
    }
    call.reply(|reply| {
        reply.array(commands().count());
        commands().for_each(|command| reply.bulk(command.name.as_bytes()));
    })
}

pub(super) fn info(call: &mut Call<'_, '_>) -> Flow {
    if call.request.count() == 2 {
        return call.reply(|reply| {
            reply.array(commands().count());
            commands().for_each(|command| describe(reply, command));
        });
    }
    let mut list = Long::new(call);
    for name in call.arguments(2) {
        let written = list.write(DESCRIPTION_BYTES, |reply| match find(name) {
            Some(command) => describe(reply, command),
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
    if call.request.count() == 2 {
        return call.reply(|reply| {
            reply.map(commands().count());
            commands().for_each(|command| document(reply, command));
        });
    }
    let (mut list, mut length) = (Long::new(call), 0);
    for command in call.arguments(2).filter_map(find) {
        length += 1;
        let written = list.write(DESCRIPTION_BYTES, |reply| document(reply, command));
        if let Err(unfit) = written {
            return call.error(unfit.text(TOO_LONG));
        }
    }
    let whole = list.finish(|reply| reply.map(length));
    call.reply_whole(whole)
}

/// Bytes of what is said of one command, at most.
const DESCRIPTION_BYTES: usize = 4096;

const TOO_LONG: &str = "ERR the answer is too long: ask for fewer";

fn find(name: &[u8]) -> Option<&'static Command> {
    named(&name.to_ascii_lowercase())
}

/// A command's name, and what it is for.
fn document(reply: &mut Reply<'_>, command: &Command) {
    reply.bulk(command.name.as_bytes());
    let parts = command.parts().count();
    reply.map(3 + usize::from(parts > 0));
    for (name, value) in [
        ("summary", command.summary),
        ("since", command.since),
        ("group", command.group),
    ] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    if parts > 0 {
        reply.bulk(b"subcommands");
        reply.map(parts);
        command.parts().for_each(|part| document(reply, part));
    }
}

/// What a command is like, in the ten parts of Redis 7.
fn describe(reply: &mut Reply<'_>, command: &Command) {
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
    // tips and specifications of keys: none
    reply.set(0);
    reply.set(0);
    match command.parts().count() {
        0 => reply.set(0),
        parts => reply.array(parts),
    }
    command.parts().for_each(|part| describe(reply, part));
}

/// A set of words.
fn words(reply: &mut Reply<'_>, text: &str) {
    reply.set(text.split_whitespace().count());
    text.split_whitespace().for_each(|word| reply.simple(word));
}

#[cfg(test)]
mod tests {
    use millrace_protocol::resp::Version;

    use super::*;

    #[test]
    fn what_is_said_of_a_command_is_short() {
        for command in commands() {
            for tell in [describe, document] {
                let mut out = Vec::new();
                tell(&mut Reply::new(Version::Resp2, &mut out), command);
                assert!(out.len() <= DESCRIPTION_BYTES, "{}", command.name);
            }
        }
    }

    #[test]
    fn a_command_is_described_in_ten_parts() {
        let mut out = Vec::new();
        describe(
            &mut Reply::new(Version::Resp3, &mut out),
            find(b"GET").unwrap(),
        );
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "*10\r\n$3\r\nget\r\n:2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~3\r\n+@read\r\n+@string\r\n+@fast\r\n\
             ~0\r\n~0\r\n~0\r\n"
        );
    }
}
