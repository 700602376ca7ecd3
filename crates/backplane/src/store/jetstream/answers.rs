//! What a JetStream server answers. Owns the meaning of its errors.

use bytes::Bytes;

use super::json;
use super::record::{self, Record};
use super::wire::Message;
use crate::wire::shown;

/// What was found in a stream.
pub(super) enum Found {
    /// A record and its sequence number.
    Record(u64, Record),
    Nothing,
    /// A message of another program with this number.
    Foreign(u64),
    Failed(Failure),
}

/// What came of a record.
pub(in crate::store) enum Outcome {
    /// It is kept under this number.
    Kept(u64),
    /// A record with the same key is kept under this number; nothing was done.
    Repeated(u64),
    /// It is not behind the newest record of its channel.
    Overtaken,
    Failed(Failure),
}

/// Why nothing was done.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) enum Failure {
    /// Nobody is there who could do it, or its stream is missing, which the next link makes again.
    Away,
    Refused(String),
}

/// What was found, according to the answer.
pub(super) fn found(message: &Message, own: u64) -> Found {
    match failure(message) {
        Some((NO_MESSAGE, _)) => return Found::Nothing,
        Some((_, failure)) => return Found::Failed(failure),
        None => {}
    }
    let Some(sequence) = json::number(&message.payload, "seq") else {
        return Found::Failed(unreadable());
    };
    let data = json::bytes(&message.payload, "data").unwrap_or_default();
    match record::parse(&Bytes::from(data), own) {
        Some(record) => Found::Record(sequence, record),
        None => Found::Foreign(sequence),
    }
}

/// What came of a record, according to the answer.
pub(in crate::store) fn outcome(message: &Message) -> Outcome {
    match failure(message) {
        Some((OVERTAKEN | OVERTAKEN_TOO | IN_PROCESS, _)) => return Outcome::Overtaken,
        Some((_, failure)) => return Outcome::Failed(failure),
        None => {}
    }
    match json::number(&message.payload, "seq") {
        Some(sequence) if json::is_true(&message.payload, "duplicate") => {
            Outcome::Repeated(sequence)
        }
        Some(sequence) => Outcome::Kept(sequence),
        None => Outcome::Failed(unreadable()),
    }
}

/// The error in an answer, and its number; 0: it has none.
pub(in crate::store) fn failure(message: &Message) -> Option<(u64, Failure)> {
    match message.status {
        Some(NOBODY) => return Some((0, Failure::Away)),
        Some(status) if status >= 400 => {
            return Some((0, Failure::Refused(format!("it answers {status}"))));
        }
        _ => {}
    }
    // an error comes first, and a long answer has none
    let payload = &*message.payload;
    let beginning = payload.get(..ERROR_BYTES).unwrap_or(payload);
    let error = json::object(beginning, "error")?;
    let number = json::number(error, "err_code").unwrap_or_default();
    let failure = match number {
        NOT_AVAILABLE | NO_LEADER | NO_STREAM => Failure::Away,
        _ => Failure::Refused(shown(json::text(error, "description").unwrap_or_default())),
    };
    Some((number, failure))
}

fn unreadable() -> Failure {
    Failure::Refused("its answer cannot be read".to_owned())
}

/// Why a link is given up after [`Failure::Away`].
pub(in crate::store) const AWAY: &str = "its JetStream does not answer, or has lost a stream";

/// An error is within the first bytes of an answer.
const ERROR_BYTES: usize = 1024;

/// The status of a request that nobody takes.
const NOBODY: u16 = 503;

/// The number of the error that a message does not exist.
pub(in crate::store) const NO_MESSAGE: u64 = 10_037;

/// The number of the error that a stream does not exist.
pub(super) const NO_STREAM: u64 = 10_059;

/// JetStream is not enabled, on the server or for the account.
pub(super) const NOT_ENABLED: [u64; 2] = [10_076, 10_039];

const NOT_AVAILABLE: u64 = 10_008;

const NO_LEADER: u64 = 10_009;

const OVERTAKEN: u64 = 10_071;

/// What newer servers say about it.
const OVERTAKEN_TOO: u64 = 10_164;

/// A record with the same key is under way.
const IN_PROCESS: u64 = 10_158;

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &'static str) -> Message {
        Message {
            payload: Bytes::from_static(json.as_bytes()),
            ..Message::default()
        }
    }

    fn status(status: u16) -> Message {
        Message {
            status: Some(status),
            ..Message::default()
        }
    }

    #[test]
    fn a_record_is_kept_repeated_overtaken_or_refused() {
        let outcome = |json| outcome(&answer(json));
        assert!(matches!(
            outcome(r#"{"stream":"s","seq":3}"#),
            Outcome::Kept(3)
        ));
        let twin = r#"{"stream":"s","seq":3,"duplicate": true}"#;
        assert!(matches!(outcome(twin), Outcome::Repeated(3)));
        let late = r#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"s","seq":0}"#;
        assert!(matches!(outcome(late), Outcome::Overtaken));
        let full =
            r#"{"error":{"code":503,"err_code":10023,"description":"insufficient resources"}}"#;
        assert!(matches!(
            outcome(full),
            Outcome::Failed(Failure::Refused(why)) if why == "insufficient resources"
        ));
        for wrong in ["", "{}", "hello", r#"{"seq":-1}"#] {
            assert!(matches!(
                outcome(wrong),
                Outcome::Failed(Failure::Refused(_))
            ));
        }
    }

    #[test]
    fn what_is_found_is_a_record_or_foreign() {
        let found = |json| found(&answer(json), 1);
        let nothing = r#"{"error":{"code":404,"err_code":10037,"description":"no message found"}}"#;
        assert!(matches!(found(nothing), Found::Nothing));
        let foreign = r#"{"message":{"subject":"a","seq":9,"data":"aGVsbG8="}}"#;
        assert!(matches!(found(foreign), Found::Foreign(9)));
        let empty = r#"{"message":{"subject":"a","seq":9}}"#;
        assert!(matches!(found(empty), Found::Foreign(9)));
        assert!(matches!(found("{}"), Found::Failed(_)));
    }

    #[test]
    fn nobody_may_be_there() {
        assert_eq!(failure(&status(503)), Some((0, Failure::Away)));
        assert!(matches!(
            failure(&status(408)),
            Some((0, Failure::Refused(_)))
        ));
        assert_eq!(failure(&status(100)), None);
        let no_stream =
            r#"{"error":{"code":404,"err_code":10059,"description":"stream not found"}}"#;
        assert_eq!(
            failure(&answer(no_stream)),
            Some((NO_STREAM, Failure::Away))
        );
        assert_eq!(failure(&answer("{}")), None);
    }
}
