//! Making the streams at the beginning of a link. An operator may change them, but not what the terms say; what differs
//! from that is changed back.

use super::answers::{self, Failure, NO_STREAM, NOT_ENABLED};
use super::json;
use super::link::Link;
use super::names::{Stream, Streams};
use super::wire::Message;
use super::worker::Request;
use crate::link_error::LinkError;
use crate::wire::nats::line::quote;

/// Makes the streams that are missing, and sets the bounds of the others.
pub(super) async fn prepare(link: &mut Link<Request>, streams: &Streams) -> Result<(), LinkError> {
    for stream in streams.iter() {
        let info = call(link, "INFO", stream, b"").await?;
        match answers::failure(&info) {
            None => adapt(link, stream, &info).await?,
            Some((NO_STREAM, _)) => {
                let body = config(stream);
                let made = call(link, "CREATE", stream, body.as_bytes()).await?;
                checked(link, stream, &made)?;
            }
            Some((number, failure)) => return Err(refused(link, stream, number, failure)),
        }
    }
    Ok(())
}

/// Sets the bounds of a stream that exists.
async fn adapt(link: &mut Link<Request>, stream: &Stream, info: &Message) -> Result<(), LinkError> {
    let Some(found) = json::object(&info.payload, "config") else {
        return Err(link.refused("its answer cannot be read".to_owned()));
    };
    let [kept, told] = stream.all();
    // servers write `>` as `\\u003e`
    let has = |text: &str| {
        let text = text.trim_end_matches('>');
        json::find(found, text.as_bytes()).is_some()
    };
    if !has(&kept) || !has(&told) || !has("\"republish\"") {
        return Err(link.refused(format!(
            "its stream {} has other subjects: delete it, so that it is made again",
            stream.name()
        )));
    }
    let mut changed = None;
    for (name, number) in bounds(stream) {
        let config = changed.as_deref().unwrap_or(found);
        if json::number(config, name) != Some(number) {
            changed = json::with_number(config, name, number);
        }
    }
    if let Some(changed) = changed {
        let answer = call(link, "UPDATE", stream, &changed).await?;
        checked(link, stream, &answer)?;
    }
    Ok(())
}

async fn call(
    link: &mut Link<Request>,
    verb: &str,
    stream: &Stream,
    body: &[u8],
) -> Result<Message, LinkError> {
    let subject = format!("$JS.API.STREAM.{verb}.{}", stream.name());
    link.call(Request::Setup, &subject, body).await
}

fn checked(link: &Link<Request>, stream: &Stream, answer: &Message) -> Result<(), LinkError> {
    match answers::failure(answer) {
        None => Ok(()),
        Some((number, failure)) => Err(refused(link, stream, number, failure)),
    }
}

fn refused(link: &Link<Request>, stream: &Stream, number: u64, failure: Failure) -> LinkError {
    link.refused(match failure {
        Failure::Refused(_) if NOT_ENABLED.contains(&number) => NO_JETSTREAM.to_owned(),
        Failure::Away if number == 0 => NO_JETSTREAM.to_owned(),
        Failure::Away => "its JetStream is not ready".to_owned(),
        Failure::Refused(why) => format!("stream {}: {why}", stream.name()),
    })
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

const NO_JETSTREAM: &str =
    "channels with history need JetStream, which is not enabled on this server or for this account";

/// Numbers go on so long after the last message was kept, as over Redis.
const NUMBERS_GO_ON: u64 = 7 * 24 * 60 * 60 * 1000;

/// The least time for which a server remembers keys.
const LEAST_WINDOW: u64 = 100;

/// A server's numbers have a sign.
const MOST_NANOSECONDS: u64 = u64::MAX / 2;
