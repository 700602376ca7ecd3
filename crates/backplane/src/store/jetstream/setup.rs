//! Making the streams at the beginning of a link. An operator may change them, but not what the terms say; what differs
//! from that is changed back.

use std::time::Duration;

use tokio::time::sleep;

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
    let mut made = Vec::new();
    for plan in plans {
        let mut info = call(link, "INFO", plan, (what(), b"")).await?;
        let is_missing = matches!(answers::failure(&info), Some((NO_STREAM, _)));
        if is_missing {
            let body = plan.config.as_bytes();
            info = call(link, "CREATE", plan, (what(), body)).await?;
        }
        while is_being_made(&info) {
            sleep(LOOKS).await;
            info = call(link, "INFO", plan, (what(), b"")).await?;
        }
        checked(link, plan, &info)?;
        if !is_missing {
            adapt(link, plan, (&info, &what)).await?;
        }
        made.push(
            json::text(&info.payload, "created")
                .unwrap_or_default()
                .into(),
        );
    }
    Ok(made)
}

/// Whether the server still makes the stream, for another node. It answers as if it were there, but nobody takes a record.
fn is_being_made(info: &Message) -> bool {
    let made = json::text(&info.payload, "created");
    made.is_some_and(|made| made.starts_with(b"0001-"))
}

/// Sets the bounds of a stream that exists.
async fn adapt<R>(
    link: &mut Link<R>,
    plan: &Plan,
    (info, what): (&Message, impl Fn() -> R),
) -> Result<(), LinkError> {
    let Some(found) = json::object(&info.payload, "config") else {
        return Err(link.refused("its answer cannot be read".to_owned()));
    };
    // servers write `>` as `\\u003e`
    let has = |text: &String| {
        let text = text.trim_end_matches('>');
        json::find(found, text.as_bytes()).is_some()
    };
    if !plan.has.iter().all(has) {
        return Err(link.unfit(format!(
            "its stream {} has other subjects: delete it, so that it is made again",
            plan.name
        )));
    }
    let why = link.refuses(json::number(found, "num_replicas"));
    if let Some(why) = why.filter(|_| plan.is_shared) {
        return Err(link.unfit(why.to_owned()));
    }
    let mut changed = None;
    for (name, number) in &plan.bounds {
        let config = changed.as_deref().unwrap_or(found);
        if json::number(config, name) != Some(*number) {
            changed = json::with_number(config, name, *number);
        }
    }
    if let Some(changed) = changed {
        let answer = call(link, "UPDATE", plan, (what(), &changed)).await?;
        checked(link, plan, &answer)?;
    }
    Ok(())
}

async fn call<R>(
    link: &mut Link<R>,
    verb: &str,
    plan: &Plan,
    (what, body): (R, &[u8]),
) -> Result<Message, LinkError> {
    let subject = format!("$JS.API.STREAM.{verb}.{}", plan.name);
    link.call(what, &subject, body).await
}

fn checked<R>(link: &Link<R>, plan: &Plan, answer: &Message) -> Result<(), LinkError> {
    match answers::failure(answer) {
        None => Ok(()),
        Some((number, failure)) => Err(refused(link, plan, number, failure)),
    }
}

fn refused<R>(link: &Link<R>, plan: &Plan, number: u64, failure: Failure) -> LinkError {
    let purpose = plan.purpose;
    let not_enabled = || {
        link.unfit(format!(
            "{purpose} need JetStream, which is not enabled on this server or for this account: start nats-server with \
            --jetstream, and enable it for the account"
        ))
    };
    match failure {
        Failure::Refused(_) if NOT_ENABLED.contains(&number) => not_enabled(),
        Failure::Away if number == 0 => not_enabled(),
        Failure::Away => link.refused("its JetStream is not ready".to_owned()),
        Failure::Refused(why) => link.unfit(format!("stream {}: {why}", plan.name)),
    }
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

/// How often it is looked at whether a stream is made.
const LOOKS: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::super::responder::{link, run};
    use super::*;

    fn plan(is_shared: bool) -> Plan {
        Plan {
            name: "s".to_owned(),
            config: "{}".to_owned(),
            bounds: Vec::new(),
            has: Vec::new(),
            is_shared,
            purpose: "tests",
        }
    }

    #[test]
    fn copies_of_a_stream_that_nodes_share_need_a_new_server() {
        // this one does not say its version
        let answer = |copies: u64| {
            format!("{{\"config\":{{\"num_replicas\":{copies}}},\"created\":\"2026-11-28\"}}")
        };
        for (copies, is_shared, is_fit) in [(1, true, true), (3, true, false), (3, false, true)] {
            run(async {
                let mut link = link(move |_| answer(copies)).await;
                let made = prepare(&mut link, &[plan(is_shared)], || ()).await;
                assert_eq!(made.is_ok(), is_fit, "{copies} {is_shared}");
            });
        }
    }

    #[test]
    fn a_stream_that_is_being_made_for_another_node_is_awaited() {
        let made = "{\"config\":{\"name\":\"s\"},\"created\":\"2026-11-28T10:00:00Z\"}";
        let being_made = made.replace("2026-11-28T10", "0001-01-01T00");
        let missing = "{\"error\":{\"code\":404,\"err_code\":10059}}".to_owned();
        let found = vec![being_made.clone(), made.to_owned()];
        let told = vec![missing, being_made.clone(), being_made, made.to_owned()];
        for answers in [found, told] {
            let mut answers = answers.into_iter();
            run(async {
                let mut link = link(move |_| answers.next().unwrap_or_default()).await;
                let created = prepare(&mut link, &[plan(true)], || ()).await.unwrap();
                assert_eq!(created, [(*b"2026-11-28T10:00:00Z").into()]);
            });
        }
    }
}
