//! The floors of our crates, top to bottom, and the imports that pointed upward when the floors were defined and
//! still exist. See `docs/decisions/0016-floors-inside-a-crate.md`.

/// One crate's floors.
#[derive(Debug)]
pub(super) struct Crate {
    /// The folder that paths are relative to.
    pub(super) src: &'static str,
    /// The names of the floors and the path prefixes that belong to them: `a` stands for `a.rs` and the folder `a/`.
    /// The longest prefix counts.
    pub(super) floors: &'static [(&'static str, &'static [&'static str])],
    /// From file to file. Never add an entry.
    pub(super) upward: &'static [(&'static str, &'static str)],
}

impl Crate {
    /// The floor of a file, counted from the top and from 0.
    pub(super) fn floor(&self, path: &str) -> Option<usize> {
        let beginnings = self
            .floors
            .iter()
            .enumerate()
            .flat_map(|(floor, (_, all))| {
                all.iter()
                    .map(move |beginning| (beginning.len(), floor, *beginning))
            });
        let longest = beginnings
            .filter(|(_, _, beginning)| {
                path.strip_prefix(beginning)
                    .is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
            })
            .max_by_key(|(length, _, _)| *length);
        longest.map(|(_, floor, _)| floor)
    }
}

pub(super) const MODULES: [Crate; 3] = [GATEWAY, NODE, CORE];

const GATEWAY: Crate = Crate {
    src: "crates/gateway/src/",
    floors: &[
        (
            "the crate's face",
            &[
                "lib.rs",
                "fuzzing.rs",
                "bench",
                "shard/bench.rs",
                "shard/stage",
            ],
        ),
        ("gateway", &["gateway"]),
        ("adapter", &["adapter"]),
        ("http", &["http"]),
        ("contract", &["contract.rs"]),
        ("shard", &["shard"]),
        ("socket", &["socket"]),
        ("backplane", &["backplane"]),
        ("hub", &["hub"]),
        ("inbox", &["inbox"]),
        ("worker", &["worker"]),
        ("event", &["event"]),
        ("frame", &["frame"]),
        ("configuration", &["config", "listener", "options"]),
        ("net", &["net"]),
        (
            "ground",
            &[
                "close.rs",
                "disk",
                "doorbell.rs",
                "inflaters.rs",
                "limits",
                "notice.rs",
                "permits",
                "secret.rs",
                "fault.rs",
                "stats.rs",
                "sync.rs",
                "target_stats.rs",
            ],
        ),
    ],
    upward: &[],
};

const NODE: Crate = Crate {
    src: "crates/node/src/",
    floors: &[
        ("the crate's face", &["lib.rs"]),
        ("bind", &["add_worker.rs", "bind.rs", "module.rs"]),
        (
            "functions",
            &[
                "adopt.rs",
                "backpressure.rs",
                "calling.rs",
                "cluster.rs",
                "control.rs",
                "dial.rs",
                "debug.rs",
                "exchange.rs",
                "forward.rs",
                "tell.rs",
                "hot.rs",
                "past.rs",
                "presence.rs",
                "http_request.rs",
                "log.rs",
                "replies.rs",
                "sockets",
                "stats.rs",
                "streams.rs",
                "worker.rs",
            ],
        ),
        ("handlers, drain", &["bound.rs", "handlers.rs", "drain.rs"]),
        ("environment, entry", &["environment.rs", "entry.rs"]),
        (
            "arguments and the rest",
            &[
                "addon.rs",
                "answering.rs",
                "arguments.rs",
                "config",
                "door",
                "guarded_files.rs",
                "kept_bytes.rs",
                "log_relay.rs",
                "log_sink.rs",
                "memory.rs",
                "questions.rs",
                "ring_again",
                "scratch.rs",
                "sendings.rs",
                "shells.rs",
                "slot.rs",
                "sources.rs",
                "texts.rs",
                "token_words.rs",
            ],
        ),
        ("js, failure, numbers", &["failure.rs", "js", "numbers.rs"]),
    ],
    upward: &[],
};

const CORE: Crate = Crate {
    src: "crates/core/src/",
    floors: &[
        ("the crate's face", &["lib.rs"]),
        ("registry", &["registry"]),
        (
            "its tables",
            &[
                "channel.rs",
                "channel_list.rs",
                "channels.rs",
                "dangling.rs",
                "elsewhere.rs",
                "keys",
                "name_map.rs",
                "past.rs",
                "past_totals.rs",
                "pasts.rs",
                "patterns.rs",
                "present.rs",
                "room.rs",
                "rooms.rs",
                "sockets",
            ],
        ),
        (
            "post and the like",
            &[
                "annotation.rs",
                "history.rs",
                "object.rs",
                "pattern",
                "pattern_index.rs",
                "terms.rs",
                "post.rs",
                "presence.rs",
                "route.rs",
            ],
        ),
        (
            "ids",
            &[
                "hash.rs",
                "id.rs",
                "kind.rs",
                "limits.rs",
                "name.rs",
                "sync.rs",
            ],
        ),
    ],
    upward: &[],
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_longest_prefix_of_whole_names_decides() {
        let of = Crate {
            src: "",
            floors: &[
                ("a", &["a"]),
                ("b", &["a/b", "a/mod.rs"]),
                ("c", &["a/b/c.rs"]),
            ],
            upward: &[],
        };
        for (path, floor) in [
            ("a.rs", Some(0)),
            ("a/d.rs", Some(0)),
            ("a/mod.rs", Some(1)),
            ("a/b.rs", Some(1)),
            ("a/bc.rs", Some(0)),
            ("a/b/c.rs", Some(2)),
            ("ab.rs", None),
        ] {
            assert_eq!(of.floor(path), floor, "{path}");
        }
    }

    #[test]
    fn no_prefix_and_no_import_is_listed_twice() {
        for of in MODULES {
            let all = of.floors.iter().flat_map(|(_, all)| all.iter());
            assert_eq!(all.clone().collect::<BTreeSet<_>>().len(), all.count());
            let upward: BTreeSet<_> = of.upward.iter().collect();
            assert_eq!(upward.len(), of.upward.len());
        }
    }
}
