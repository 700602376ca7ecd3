//! `HELP` of the commands with subcommands: Redis's text for the subcommands that exist here.

use super::call::{Call, Flow};

pub(super) fn client(call: &mut Call<'_, '_>) -> Flow {
    tell(call, "CLIENT", &CLIENT)
}

pub(super) fn command(call: &mut Call<'_, '_>) -> Flow {
    tell(call, "COMMAND", &COMMAND)
}

pub(super) fn pubsub(call: &mut Call<'_, '_>) -> Flow {
    tell(call, "PUBSUB", &PUBSUB)
}

fn tell(call: &mut Call<'_, '_>, name: &str, lines: &[&str]) -> Flow {
    call.reply(|reply| {
        reply.array(1 + lines.len() + HELP.len());
        reply.simple(&format!(
            "{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
        ));
        lines
            .iter()
            .chain(&HELP)
            .for_each(|line| reply.simple(line));
    })
}

const HELP: [&str; 2] = ["HELP", "    Prints this help."];

const CLIENT: [&str; 34] = [
    "GETNAME",
    "    Return the name of the current connection.",
    "ID",
    "    Return the ID of the current connection.",
    "INFO",
    "    Return information about the current client connection.",
    "KILL <ip:port>",
    "    Kill connection made from <ip:port>.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    Kill connections. Options are:",
    "    * ADDR (<ip:port>|<unixsocket>:0)",
    "      Kill connections made from the specified address",
    "    * LADDR (<ip:port>|<unixsocket>:0)",
    "      Kill connections made to specified local address",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      Kill connections by type.",
    "    * USER <username>",
    "      Kill connections authenticated by <username>.",
    "    * SKIPME (YES|NO)",
    "      Skip killing current connection (default: yes).",
    "LIST [options ...]",
    "    Return information about client connections. Options:",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      Return clients of specified type.",
    "REPLY (ON|OFF|SKIP)",
    "    Control the replies sent to the current connection.",
    "SETNAME <name>",
    "    Assign the name <name> to the current connection.",
    // from Redis 7.2
    "SETINFO <option> <value>",
    "    Set client meta attr. Options are:",
    "    * LIB-NAME: the client lib name.",
    "    * LIB-VER: the client lib version.",
    "NO-EVICT (ON|OFF)",
    "    Protect current client connection from eviction.",
];

const COMMAND: [&str; 14] = [
    "(no subcommand)",
    "    Return details about all Redis commands.",
    "COUNT",
    "    Return the total number of commands in this Redis server.",
    "LIST",
    "    Return a list of all commands in this Redis server.",
    "INFO [<command-name> ...]",
    "    Return details about multiple Redis commands.",
    "    If no command names are given, documentation details for all",
    "    commands are returned.",
    "DOCS [<command-name> ...]",
    "    Return documentation details about multiple Redis commands.",
    "    If no command names are given, documentation details for all",
    "    commands are returned.",
];

const PUBSUB: [&str; 11] = [
    "CHANNELS [<pattern>]",
    "    Return the currently active channels matching a <pattern> (default: '*').",
    "NUMPAT",
    "    Return number of subscriptions to patterns.",
    "NUMSUB [<channel> ...]",
    "    Return the number of subscribers for the specified channels, excluding",
    "    pattern subscriptions(default: no channels).",
    "SHARDCHANNELS [<pattern>]",
    "    Return the currently active shard level channels matching a <pattern> (default: '*').",
    "SHARDNUMSUB [<shardchannel> ...]",
    "    Return the number of subscribers for the specified shard level channel(s)",
];
