//! The commands, ordered by name. Arguments, flags and categories are those of Redis 7.0; the summaries are our own.

use super::call::{Call, Command, Flow, Uses};
use super::{client, connection, describe, expiry, help, keys, pubsub, scan, server};

/// All commands.
pub(super) static COMMANDS: [Command; 59] = [
    command("auth", -2, connection::auth)
        .is(
            "noscript loading stale fast no_auth allow_busy",
            "@fast @connection",
        )
        .told("connection", "1.0.0", "Authenticates the connection.")
        .unauthenticated(),
    command("client", -2, connection::part)
        .is("", "@slow")
        .told(
            "connection",
            "2.4.0",
            "Contains commands about connections.",
        ),
    command("client|getname", 2, client::get_name)
        .is("noscript loading stale", "@slow @connection")
        .told("connection", "2.6.9", "The name of the connection."),
    command("client|help", 2, help::client)
        .is("loading stale", "@slow @connection")
        .told("connection", "5.0.0", "What CLIENT can do."),
    command("client|id", 2, client::id)
        .is("noscript loading stale", "@slow @connection")
        .told(
            "connection",
            "5.0.0",
            "The id of the connection: its socket id.",
        ),
    command("client|info", 2, client::info)
        .is("noscript loading stale", "@slow @connection")
        .told("connection", "6.2.0", "What is known of the connection."),
    command("client|kill", -3, client::kill)
        .is(
            "admin noscript loading stale",
            "@admin @slow @dangerous @connection",
        )
        .told("connection", "2.4.0", "Ends connections that speak RESP."),
    command("client|list", -2, client::list)
        .is(
            "admin noscript loading stale",
            "@admin @slow @dangerous @connection",
        )
        .told(
            "connection",
            "2.4.0",
            "What is known of the connections that speak RESP.",
        ),
    command("client|no-evict", 3, client::no_evict)
        .is(
            "admin noscript loading stale",
            "@admin @slow @dangerous @connection",
        )
        .told("connection", "7.0.0", "Accepted, and has no effect."),
    command("client|reply", 3, client::reply)
        .is("noscript loading stale", "@slow @connection")
        .told("connection", "3.2.0", "Whether commands are answered."),
    command("client|setinfo", 4, client::set_info)
        .is("noscript loading stale", "@slow @connection")
        .told(
            "connection",
            "7.2.0",
            "Names the library that the client is built with.",
        ),
    command("client|setname", 3, client::set_name)
        .is("noscript loading stale", "@slow @connection")
        .told("connection", "2.6.9", "Names the connection."),
    command("command", -1, describe::all)
        .is("loading stale", "@slow @connection")
        .told("server", "2.8.13", "Describes the commands."),
    command("command|count", 2, describe::count)
        .is("loading stale", "@slow @connection")
        .told("server", "2.8.13", "How many commands there are."),
    command("command|docs", -2, describe::docs)
        .is("loading stale", "@slow @connection")
        .told("server", "7.0.0", "What the commands are for."),
    command("command|help", 2, help::command)
        .is("loading stale", "@slow @connection")
        .told("server", "5.0.0", "What COMMAND can do."),
    command("command|info", -2, describe::info)
        .is("loading stale", "@slow @connection")
        .told("server", "2.8.13", "Describes some of the commands."),
    command("command|list", -2, describe::list)
        .is("loading stale", "@slow @connection")
        .told("server", "7.0.0", "The names of the commands."),
    command("dbsize", 1, keys::dbsize)
        .is("readonly fast", "@keyspace @read @fast")
        .told("server", "1.0.0", "How many keys there are."),
    command("del", -2, keys::del)
        .is("write", "@keyspace @write @slow")
        .told("generic", "1.0.0", "Deletes keys.")
        .keys(-1, 1),
    command("echo", 2, connection::echo)
        .is("loading stale fast", "@fast @connection")
        .told("connection", "1.0.0", "Returns its argument."),
    command("exists", -2, keys::exists)
        .is("readonly fast", "@keyspace @read @fast")
        .told("generic", "1.0.0", "How many of these keys there are.")
        .keys(-1, 1),
    command("expire", -3, expiry::expire)
        .is("write fast", "@keyspace @write @fast")
        .told(
            "generic",
            "1.0.0",
            "Makes a key expire after a number of seconds.",
        )
        .keys(1, 1),
    command("get", 2, keys::get)
        .is("readonly fast", "@read @string @fast")
        .told("string", "1.0.0", "The value of a key.")
        .keys(1, 1),
    command("getdel", 2, keys::getdel)
        .is("write fast", "@write @string @fast")
        .told(
            "string",
            "6.2.0",
            "Returns the value of a key and deletes the key.",
        )
        .keys(1, 1),
    command("hello", -1, connection::hello)
        .is(
            "noscript loading stale fast no_auth allow_busy",
            "@fast @connection",
        )
        .told(
            "connection",
            "6.0.0",
            "Says which version of RESP is spoken, and who speaks it.",
        )
        .unauthenticated(),
    command("incr", 2, keys::incr)
        .is("write denyoom fast", "@write @string @fast")
        .told("string", "1.0.0", "Adds one to a whole number.")
        .keys(1, 1),
    command("incrby", 3, keys::incrby)
        .is("write denyoom fast", "@write @string @fast")
        .told("string", "1.0.0", "Adds to a whole number.")
        .keys(1, 1),
    command("info", -1, server::info)
        .is("loading stale", "@slow @dangerous")
        .told("server", "1.0.0", "What is known of the server."),
    command("keys", 2, scan::keys)
        .is("readonly", "@keyspace @read @slow @dangerous")
        .told("generic", "1.0.0", "The keys that match a pattern.")
        .every_key(),
    command("mget", -2, keys::mget)
        .is("readonly fast", "@read @string @fast")
        .told("string", "1.0.0", "The values of keys.")
        .keys(-1, 1),
    command("mset", -3, keys::mset)
        .is("write denyoom", "@write @string @slow")
        .told("string", "1.0.1", "Sets keys.")
        .keys(-1, 2),
    command("persist", 2, expiry::persist)
        .is("write fast", "@keyspace @write @fast")
        .told("generic", "2.2.0", "Removes the expiry of a key.")
        .keys(1, 1),
    command("pexpire", -3, expiry::pexpire)
        .is("write fast", "@keyspace @write @fast")
        .told(
            "generic",
            "2.6.0",
            "Makes a key expire after a number of milliseconds.",
        )
        .keys(1, 1),
    command("ping", -1, connection::ping)
        .is("fast", "@fast @connection")
        .told("connection", "1.0.0", "Answers.")
        .listeners(),
    command("psubscribe", -2, pubsub::psubscribe)
        .is("pubsub noscript loading stale", "@pubsub @slow")
        .told(
            "pubsub",
            "2.0.0",
            "Subscribes to the channels that match patterns.",
        )
        .with(Uses::Patterns)
        .listeners(),
    command("pttl", 2, expiry::pttl)
        .is("readonly fast", "@keyspace @read @fast")
        .told("generic", "2.6.0", "How many milliseconds a key has left.")
        .keys(1, 1),
    command("publish", 3, pubsub::publish)
        .is("pubsub loading stale fast", "@pubsub @fast")
        .told("pubsub", "2.0.0", "Sends a message to a channel.")
        .with(Uses::Channel),
    command("pubsub", -2, connection::part)
        .is("", "@slow")
        .told("pubsub", "2.8.0", "Contains commands about channels."),
    command("pubsub|channels", -2, pubsub::channels)
        .is("pubsub loading stale", "@pubsub @slow")
        .told("pubsub", "2.8.0", "The channels that have subscribers."),
    command("pubsub|help", 2, help::pubsub)
        .is("loading stale", "@slow")
        .told("pubsub", "6.2.0", "What PUBSUB can do."),
    command("pubsub|numpat", 2, pubsub::numpat)
        .is("pubsub loading stale", "@pubsub @slow")
        .told("pubsub", "2.8.0", "How many patterns have subscribers."),
    command("pubsub|numsub", -2, pubsub::numsub)
        .is("pubsub loading stale", "@pubsub @slow")
        .told(
            "pubsub",
            "2.8.0",
            "How many subscribers each of these channels has.",
        ),
    command("pubsub|shardchannels", -2, pubsub::shard_channels)
        .is("pubsub loading stale", "@pubsub @slow")
        .told(
            "pubsub",
            "7.0.0",
            "The shard channels that have subscribers.",
        ),
    command("pubsub|shardnumsub", -2, pubsub::shard_numsub)
        .is("pubsub loading stale", "@pubsub @slow")
        .told(
            "pubsub",
            "7.0.0",
            "How many subscribers each of these shard channels has.",
        ),
    command("punsubscribe", -1, pubsub::punsubscribe)
        .is("pubsub noscript loading stale", "@pubsub @slow")
        .told("pubsub", "2.0.0", "Unsubscribes from patterns.")
        .listeners(),
    command("quit", -1, connection::quit)
        .is(
            "noscript loading stale fast no_auth allow_busy",
            "@fast @connection",
        )
        .told("connection", "1.0.0", "Ends the connection.")
        .unauthenticated()
        .listeners(),
    command("reset", 1, connection::reset)
        .is(
            "noscript loading stale fast no_auth allow_busy",
            "@fast @connection",
        )
        .told(
            "connection",
            "6.2.0",
            "Resets the connection to its initial state.",
        )
        .unauthenticated()
        .listeners(),
    command("scan", -2, scan::scan)
        .is("readonly", "@keyspace @read @slow")
        .told(
            "generic",
            "2.8.0",
            "Returns some keys, and the cursor to continue from.",
        )
        .every_key(),
    command("select", 2, connection::select)
        .is("loading stale fast", "@fast @connection")
        .told("connection", "1.0.0", "Chooses database 0, the only one."),
    command("set", -3, keys::set)
        .is("write denyoom", "@write @string @slow")
        .told("string", "1.0.0", "Sets a key.")
        .keys(1, 1),
    command("setnx", 3, keys::setnx)
        .is("write denyoom fast", "@write @string @fast")
        .told("string", "1.0.0", "Sets a key that does not exist.")
        .keys(1, 1),
    command("spublish", 3, pubsub::spublish)
        .is("pubsub loading stale fast", "@pubsub @fast")
        .told("pubsub", "7.0.0", "Sends a message to a shard channel.")
        .with(Uses::Channel),
    command("ssubscribe", -2, pubsub::ssubscribe)
        .is("pubsub noscript loading stale", "@pubsub @slow")
        .told("pubsub", "7.0.0", "Subscribes to shard channels.")
        .with(Uses::Channels)
        .listeners(),
    command("subscribe", -2, pubsub::subscribe)
        .is("pubsub noscript loading stale", "@pubsub @slow")
        .told("pubsub", "2.0.0", "Subscribes to channels.")
        .with(Uses::Channels)
        .listeners(),
    command("sunsubscribe", -1, pubsub::sunsubscribe)
        .is("pubsub noscript loading stale", "@pubsub @slow")
        .told("pubsub", "7.0.0", "Unsubscribes from shard channels.")
        .listeners(),
    command("time", 1, server::time)
        .is("loading stale fast", "@fast")
        .told("server", "2.6.0", "The time of the server."),
    command("ttl", 2, expiry::ttl)
        .is("readonly fast", "@keyspace @read @fast")
        .told("generic", "1.0.0", "How many seconds a key has left.")
        .keys(1, 1),
    command("unsubscribe", -1, pubsub::unsubscribe)
        .is("pubsub noscript loading stale", "@pubsub @slow")
        .told("pubsub", "2.0.0", "Unsubscribes from channels.")
        .listeners(),
];

const fn command(name: &'static str, arity: i64, run: fn(&mut Call<'_, '_>) -> Flow) -> Command {
    Command {
        name,
        arity,
        run,
        flags: "",
        categories: "",
        uses: Uses::Nothing,
        group: "",
        since: "",
        summary: "",
        for_unauthenticated: false,
        for_listeners: false,
    }
}

impl Command {
    const fn is(mut self, flags: &'static str, categories: &'static str) -> Self {
        (self.flags, self.categories) = (flags, categories);
        self
    }

    const fn told(
        mut self,
        group: &'static str,
        since: &'static str,
        summary: &'static str,
    ) -> Self {
        (self.group, self.since, self.summary) = (group, since, summary);
        self
    }

    const fn with(mut self, uses: Uses) -> Self {
        self.uses = uses;
        self
    }

    const fn keys(self, last: i64, step: usize) -> Self {
        self.with(Uses::Keys(last, step))
    }

    const fn every_key(self) -> Self {
        self.with(Uses::EveryKey)
    }

    const fn unauthenticated(mut self) -> Self {
        self.for_unauthenticated = true;
        self
    }

    const fn listeners(mut self) -> Self {
        self.for_listeners = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_ordered_by_name() {
        assert!(COMMANDS.is_sorted_by(|one, next| one.name < next.name));
    }
}
