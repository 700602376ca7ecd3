//! The requests of JetStream's API: their subjects and their bodies.

/// The request for the newest message of a subject.
pub(in crate::store) fn newest(stream: &str, subject: &str) -> (String, Vec<u8>) {
    let body = format!("{{\"last_by_subj\":\"{subject}\"}}");
    (format!("{GET}{stream}"), body.into_bytes())
}

/// The request for a message with this number.
pub(in crate::store) fn numbered(stream: &str, sequence: u64) -> (String, Vec<u8>) {
    let body = format!("{{\"seq\":{sequence}}}");
    (format!("{GET}{stream}"), body.into_bytes())
}

/// The request for the first message of a subject from this number on.
pub(in crate::store) fn next_from(stream: &str, subject: &str, sequence: u64) -> (String, Vec<u8>) {
    let body = format!("{{\"seq\":{sequence},\"next_by_subj\":\"{subject}\"}}");
    (format!("{GET}{stream}"), body.into_bytes())
}

/// The request for what a stream is.
pub(super) fn info(stream: &str) -> String {
    format!("{INFO}{stream}")
}

/// The request for the subjects that have messages.
pub(in crate::store) fn subjects(stream: &str, filter: &str) -> (String, Vec<u8>) {
    let body = format!("{{\"subjects_filter\":\"{filter}\"}}");
    (info(stream), body.into_bytes())
}

/// Removes the messages of a subject, or those in front of a number.
pub(in crate::store) fn purge(
    stream: &str,
    filter: &str,
    before: Option<u64>,
) -> (String, Vec<u8>) {
    let before = before.map_or_else(String::new, |before| format!(",\"seq\":{before}"));
    let body = format!("{{\"filter\":\"{filter}\"{before}}}");
    (format!("{PURGE}{stream}"), body.into_bytes())
}

const GET: &str = "$JS.API.STREAM.MSG.GET.";

const INFO: &str = "$JS.API.STREAM.INFO.";

const PURGE: &str = "$JS.API.STREAM.PURGE.";

/// The number of the newest record: otherwise the server refuses.
pub(in crate::store) const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
