//! The names of members on a NATS server. Owns the subjects and the streams.

use super::super::super::jetstream::names::{LONGEST_SUBJECT, encode, hash};
use super::super::super::jetstream::setup::Plan;
use super::super::session::Session;
use crate::wire::nats::line::quote;

/// `prefix!m.channel.session` is the log of a session in a channel, and on `prefix!u.channel.session` the server tells what
/// it has kept of it. `prefix!l.session` is the life of a session, and on `prefix!g` sessions say that they end.
#[derive(Debug)]
pub(super) struct Names {
    prefix: Box<str>,
    hash: Box<str>,
}

impl Names {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.into(),
            hash: hash(prefix.as_bytes()),
        }
    }

    /// The stream of all logs.
    pub(super) fn members(&self) -> String {
        format!("millrace-members-{}", self.hash)
    }

    /// The stream of lives.
    pub(super) fn sessions(&self) -> String {
        format!("millrace-sessions-{}", self.hash)
    }

    /// The log of a session in a channel.
    pub(super) fn log(&self, channel: &[u8], session: Session) -> String {
        format!("{}.{session}", self.channel(KEPT, channel))
    }

    /// What ends each subject of this log.
    pub(super) fn log_end(channel: &[u8], session: Session) -> String {
        let mut end = ".".to_owned();
        encode(channel, &mut end);
        format!("{end}.{session}")
    }

    /// The logs of a session in all channels.
    pub(super) fn logs(&self, session: Session) -> String {
        format!("{}!{KEPT}.*.{session}", self.prefix)
    }

    /// The subjects on which what was kept of a channel is told; `None`: the channel's name is too long.
    pub(super) fn told(&self, channel: &[u8]) -> Option<String> {
        let told = format!("{}.*", self.channel(TOLD, channel));
        (told.len() + SESSION_BYTES <= LONGEST_SUBJECT).then_some(told)
    }

    /// The life of a session.
    pub(super) fn life(&self, session: Session) -> String {
        format!("{}!{LIFE}.{session}", self.prefix)
    }

    /// The lives of all sessions.
    pub(super) fn lives(&self) -> String {
        format!("{}!{LIFE}.*", self.prefix)
    }

    /// The subject on which sessions say that they end.
    pub(super) fn ends(&self) -> String {
        format!("{}!{END}", self.prefix)
    }

    /// The streams.
    pub(super) fn plans(&self) -> [Plan; 2] {
        let all = |what| format!("{}!{what}.>", self.prefix);
        let (kept, told) = (all(KEPT), all(TOLD));
        let republish = format!(
            ",\"republish\":{{\"src\":{},\"dest\":{}}}",
            quoted(&kept),
            quoted(&told)
        );
        let members = vec![
            ("max_age", KEPT_MS * NANOSECONDS),
            ("duplicate_window", WINDOW_MS * NANOSECONDS),
        ];
        let lives = vec![
            ("max_msgs_per_subject", 1),
            ("max_age", SESSION_MS * NANOSECONDS),
            ("duplicate_window", WINDOW_MS * NANOSECONDS),
        ];
        let description = format!("Millrace: members of {}", self.prefix);
        let plan = |name: String, subject: String, more: &str, bounds: Vec<_>| Plan {
            config: config((&name, &description, &subject), more, &bounds),
            name,
            bounds,
            has: vec![subject],
            is_shared: false,
            purpose: "channels with presence",
        };
        let mut plans = [
            plan(self.members(), kept, &republish, members),
            plan(self.sessions(), self.lives(), "", lives),
        ];
        let [members, _] = &mut plans;
        members.has.extend([told, "\"republish\"".to_owned()]);
        plans
    }

    fn channel(&self, what: char, channel: &[u8]) -> String {
        let mut subject = format!("{}!{what}.", self.prefix);
        encode(channel, &mut subject);
        subject
    }
}

/// A new stream's configuration. What nodes know is worth nothing to others, so it is not put on a disk.
fn config(
    (name, description, subject): (&str, &str, &str),
    more: &str,
    bounds: &[(&'static str, u64)],
) -> String {
    let bounds = bounds.iter();
    let bounds: Vec<_> = bounds
        .map(|(name, number)| format!(",\"{name}\":{number}"))
        .collect();
    let bounds = bounds.concat();
    format!(
        "{{\"name\":{},\"description\":{},\"subjects\":[{}]{more},\"retention\":\"limits\",\"discard\":\"old\",\
        \"storage\":\"memory\",\"num_replicas\":1,\"max_consumers\":-1,\"max_msgs\":-1,\"max_bytes\":-1,\
        \"max_msg_size\":-1{bounds}}}",
        quoted(name),
        quoted(description),
        quoted(subject),
    )
}

fn quoted(text: &str) -> String {
    let mut quoted = Vec::new();
    quote(text, &mut quoted);
    String::from_utf8_lossy(&quoted).into_owned()
}

const KEPT: char = 'm';

const TOLD: char = 'u';

const LIFE: char = 'l';

const END: char = 'g';

/// A session, and the dot in front of it.
const SESSION_BYTES: usize = 34;

const NANOSECONDS: u64 = 1_000_000;

/// How long a session lives without being extended. With the time between two beats it is less than the 15 seconds after
/// which a dead node's members have to be gone.
const SESSION_MS: u64 = 9_000;

/// How long a record is kept that nobody removes: those of nodes that have all died. A node writes its own again long
/// before.
pub(super) const KEPT_MS: u64 = 6 * 60 * 60 * 1000;

/// No record has a key.
const WINDOW_MS: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Session = Session { node: 1, number: 2 };

    #[test]
    fn each_log_has_one_subject() {
        let names = Names::new("app");
        let log = names.log(b"a.b *", SESSION);
        assert_eq!(log, format!("app!m.a%2eb%20%2a.{SESSION}"));
        assert!(log.ends_with(&Names::log_end(b"a.b *", SESSION)));
        assert!(!log.ends_with(&Names::log_end(b"b *", SESSION)));
        assert_eq!(names.told(b"").as_deref(), Some("app!u.%.*"));
        assert_eq!(names.told(&[b'x'; 4000]), None);
        assert_eq!(names.logs(SESSION), format!("app!m.*.{SESSION}"));
        assert_eq!(names.life(SESSION), format!("app!l.{SESSION}"));
    }

    #[test]
    fn streams_have_what_is_needed() {
        let [members, sessions] = Names::new("app").plans();
        assert_ne!(members.name, sessions.name);
        for plan in [members, sessions] {
            for has in plan.has {
                assert!(plan.config.contains(has.trim_end_matches('>')), "{has}");
            }
            for (name, number) in plan.bounds {
                assert!(plan.config.contains(&format!("\"{name}\":{number}")));
            }
        }
    }
}
