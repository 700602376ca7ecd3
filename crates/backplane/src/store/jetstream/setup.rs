//! Making the streams at the beginning of a link. An operator may change them, but not what the terms say; what differs
//! from that is changed back.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::answers::{self, Failure, NO_STREAM, NOT_ENABLED};
use super::json;
use super::link::Link;
use super::names::{Stream, Streams};
use super::wire::Message;
use crate::link_error::LinkError;
use crate::wire::nats::line::quote;

/// A stream that is needed.
pub(in crate::store) struct Plan {
    pub(in crate::store) name: String,
    /// The configuration of a new one.
    pub(in crate::store) config: String,
    /// The numbers in it that are changed back.
    pub(in crate::store) bounds: Vec<(&'static str, u64)>,
    /// What it must have, because nothing else works.
    pub(in crate::store) has: Vec<String>,
    /// Whether several nodes write under one subject.
    pub(in crate::store) is_shared: bool,
    /// What it is for.
    pub(in crate::store) purpose: &'static str,
}

/// What is needed for histories.
pub(super) fn plans(streams: &Streams) -> Vec<Plan> {
    let plan = |stream: &Stream| {
        let mut has: Vec<_> = stream.all().into();
        has.push("\"republish\"".to_owned());
        Plan {
            name: stream.name(),
            config: config(stream),
            bounds: bounds(stream).into(),
            has,
            is_shared: true,
            purpose: "channels with history",
        }
    };
    streams.iter().map(plan).collect()
}

/// Makes the streams that are missing, and sets the bounds of the others. Returns when each was made. `what` is what the link
/// notes for a request.
pub(in crate::store) async fn prepare<R>(
    link: &mut Link<R>,
    plans: &[Plan],
    what: impl Fn() -> R,
) -> Result<Vec<Box<[u8]>>, LinkError> {
    prepare_within(PATIENCE, link, plans, what).await
}

async fn prepare_within<R>(
    patience: Duration,
    link: &mut Link<R>,
    plans: &[Plan],
    what: impl Fn() -> R,
) -> Result<Vec<Box<[u8]>>, LinkError> {
    let until = Instant::now() + patience;
    let mut setup = Setup {
        link,
        what,
        awaits: Awaits::Answer,
    };
    let mut made = Vec::new();
    for plan in plans {
        match timeout_at(until, setup.stream(plan)).await {
            Ok(created) => made.push(created?),
            Err(_) => return Err(setup.late(plan)),
        }
    }
    Ok(made)
}

/// The streams of a link while they are made.
struct Setup<'l, R, W> {
    link: &'l mut Link<R>,
    /// What the link notes for a request.
    what: W,
    awaits: Awaits,
}

impl<R, W: Fn() -> R> Setup<'_, R, W> {
    /// Makes a stream, or sets its bounds. Returns when it was made.
    async fn stream(&mut self, plan: &Plan) -> Result<Box<[u8]>, LinkError> {
        self.awaits = Awaits::Answer;
        let mut info = self.info(plan).await?;
        let mut is_new = false;
        if number(&info) == Some(NO_STREAM) {
            info = self.call("CREATE", plan, plan.config.as_bytes()).await?;
            // another node may have made it meanwhile, with other bounds or at the same moment
            is_new = !matches!(number(&info), Some(IN_USE | OVERLAPS));
            if !is_new {
                info = self.made_meanwhile(plan, info).await?;
            }
        }
        while is_being_made(&info) {
            self.awaits = Awaits::Another;
            sleep(LOOKS).await;
            info = self.info(plan).await?;
        }
        self.awaits = Awaits::Answer;
        self.check(plan, &info)?;
        if !is_new {
            self.adapt(plan, &info).await?;
        }
        if !json::is_true(&info.payload, "did_create") {
            self.listens(plan).await?;
        }
        let made = json::text(&info.payload, "created");
        Ok(made.unwrap_or_default().into())
    }

    /// The answer about a stream of which the server says, as an answer to `CREATE`, that it is in the way of itself.
    async fn made_meanwhile(
        &mut self,
        plan: &Plan,
        refusal: Message,
    ) -> Result<Message, LinkError> {
        let mut info = self.info(plan).await?;
        if number(&info) == Some(NO_STREAM) {
            sleep(LOOKS).await;
            info = self.info(plan).await?;
        }
        let is_another = number(&info) == Some(NO_STREAM);
        Ok(if is_another { refusal } else { info })
    }

    /// Returns when a stream takes records: one that the server has just made for another node is known before it listens. So
    /// a record is sent that it does not take, because another stream is expected.
    async fn listens(&mut self, plan: &Plan) -> Result<(), LinkError> {
        let Some(all) = plan.has.first() else {
            return Ok(());
        };
        let subject = format!("{}-", all.trim_end_matches(['>', '*']));
        self.awaits = Awaits::Leader;
        loop {
            let headers = [(EXPECTED_STREAM, "-")];
            let answer = self.link.call_if_allowed((self.what)(), &subject, &headers);
            // who may only read needs no stream that listens
            let Some(answer) = answer.await? else {
                return Ok(());
            };
            match answers::failure(&answer) {
                Some((_, Failure::Away)) => sleep(LOOKS).await,
                _ => return Ok(()),
            }
        }
    }

    /// Sets the bounds of a stream that exists.
    async fn adapt(&mut self, plan: &Plan, info: &Message) -> Result<(), LinkError> {
        let Some(found) = json::object(&info.payload, "config") else {
            return Err(self.link.refused("its answer cannot be read".to_owned()));
        };
        // servers write `>` as `\\u003e`
        let has = |text: &String| {
            let text = text.trim_end_matches('>');
            json::find(found, text.as_bytes()).is_some()
        };
        if !plan.has.iter().all(has) {
            return Err(self.link.unfit(format!(
                "its stream {} has other subjects: delete it, so that it is made again",
                plan.name
            )));
        }
        let why = self.link.refuses(json::number(found, "num_replicas"));
        if let Some(why) = why.filter(|_| plan.is_shared) {
            return Err(self.link.unfit(why.to_owned()));
        }
        let mut changed = None;
        for (name, number) in &plan.bounds {
            let config = changed.as_deref().unwrap_or(found);
            if json::number(config, name) != Some(*number) {
                changed = json::with_number(config, name, *number);
            }
        }
        if let Some(changed) = changed {
            let answer = self.call("UPDATE", plan, &changed).await?;
            self.check(plan, &answer)?;
        }
        Ok(())
    }

    /// What the server knows about a stream. It is asked again if nothing comes: a server may lose its first answers to an
    /// account if several of its clients ask at the same moment.
    async fn info(&mut self, plan: &Plan) -> Result<Message, LinkError> {
        loop {
            // one that comes late answers a later question as well
            if let Ok(answer) = timeout(ANSWER, self.call("INFO", plan, b"")).await {
                self.link.give_up();
                return answer;
            }
        }
    }

    async fn call(&mut self, verb: &str, plan: &Plan, body: &[u8]) -> Result<Message, LinkError> {
        let subject = format!("$JS.API.STREAM.{verb}.{}", plan.name);
        self.link.call((self.what)(), &subject, body).await
    }

    fn check(&self, plan: &Plan, answer: &Message) -> Result<(), LinkError> {
        match answers::failure(answer) {
            None => Ok(()),
            Some((number, failure)) => Err(self.refused(plan, number, failure)),
        }
    }

    fn refused(&self, plan: &Plan, number: u64, failure: Failure) -> LinkError {
        let (link, purpose) = (&self.link, plan.purpose);
        let not_enabled = || {
            link.unfit(format!(
                "{purpose} need JetStream, which is not enabled on this server or for this account: start nats-server with \
                --jetstream, and enable it for the account"
            ))
        };
        match failure {
            Failure::Refused(_) if NOT_ENABLED.contains(&number) => not_enabled(),
            Failure::Away if number == 0 => not_enabled(),
            Failure::Away if number == NO_STREAM => {
                link.unready(format!("stream {} is not there again", plan.name))
            }
            Failure::Away => link.unready("its JetStream is not ready".to_owned()),
            Failure::Refused(why) => {
                let why = format!("stream {}: {why}", plan.name);
                if PASSING.contains(&number) {
                    link.unready(why)
                } else {
                    link.unfit(why)
                }
            }
        }
    }

    /// It has taken too long.
    fn late(&self, plan: &Plan) -> LinkError {
        let name = &plan.name;
        self.link.unready(match self.awaits {
            Awaits::Answer => {
                format!("its JetStream does not answer what is asked of stream {name}")
            }
            Awaits::Another => {
                format!("stream {name} is still being made, as another node has asked")
            }
            Awaits::Leader => format!("no server leads stream {name}"),
        })
    }
}

/// What is awaited last while a stream is made.
#[derive(Clone, Copy)]
enum Awaits {
    Answer,
    /// The server says that it makes the stream for another node.
    Another,
    /// The stream is there, but takes no record.
    Leader,
}

/// The number of the error in an answer.
fn number(answer: &Message) -> Option<u64> {
    answers::failure(answer).map(|(number, _)| number)
}

/// Whether the server still makes the stream, for another node. It answers as if it were there, but nobody takes a record.
fn is_being_made(info: &Message) -> bool {
    let made = json::text(&info.payload, "created");
    made.is_some_and(|made| made.starts_with(b"0001-"))
}

/// What the terms say about a stream.
fn bounds(stream: &Stream) -> [(&'static str, u64); 3] {
    let history = stream.history();
    let nanoseconds = |ms: u64| ms.saturating_mul(1_000_000).min(MOST_NANOSECONDS);
    [
        // a record may only say where the numbers are
        (
            "max_msgs_per_subject",
            u64::from(history.messages).saturating_add(1),
        ),
        (
            "max_age",
            nanoseconds(history.age_ms.saturating_add(NUMBERS_GO_ON)),
        ),
        (
            "duplicate_window",
            nanoseconds(history.age_ms.max(LEAST_WINDOW)),
        ),
    ]
}

/// A new stream's configuration.
fn config(stream: &Stream) -> String {
    let [kept, told] = stream.all();
    let mut text = Vec::new();
    let mut put = |name: &str, value: &str| {
        text.extend_from_slice(name.as_bytes());
        quote(value, &mut text);
    };
    put("{\"name\":", &stream.name());
    put(",\"description\":", &stream.description());
    put(",\"subjects\":[", &kept);
    put("],\"republish\":{\"src\":", &kept);
    put(",\"dest\":", &told);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text.push_str(
        "},\"retention\":\"limits\",\"discard\":\"old\",\"storage\":\"file\",\"num_replicas\":1,\
        \"max_consumers\":-1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_msg_size\":-1",
    );
    let bounds = bounds(stream).map(|(name, number)| format!(",\"{name}\":{number}"));
    text.push_str(&bounds.concat());
    text.push('}');
    text
}

/// Numbers go on so long after the last message was kept, as over Redis.
const NUMBERS_GO_ON: u64 = 7 * 24 * 60 * 60 * 1000;

/// The least time for which a server remembers keys.
const LEAST_WINDOW: u64 = 100;

/// A server's numbers have a sign.
const MOST_NANOSECONDS: u64 = u64::MAX / 2;

/// Names the only stream that may take a record.
const EXPECTED_STREAM: &str = "Nats-Expected-Stream";

/// How often it is looked at whether a stream is made.
const LOOKS: Duration = Duration::from_millis(20);

/// After this time what is known about a stream is asked for again.
const ANSWER: Duration = Duration::from_secs(1);

/// How long all streams of a link may take: less than connecting may, so that an operator is told what it is that takes so long.
const PATIENCE: Duration = Duration::from_secs(4);

/// The number of the error that a stream exists, with another configuration.
const IN_USE: u64 = 10_058;

/// The number of the error that a stream has the same subjects: another one, or the same that is just being made.
const OVERLAPS: u64 = 10_065;

/// Errors that pass without an operator: one without a number (the server has answered a status), of servers of the cluster
/// that have not answered the one that was asked, and of a stream that all of its servers have left.
const PASSING: [u64; 3] = [0, 10_004, 10_118];

#[cfg(test)]
mod tests;
