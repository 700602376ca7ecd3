//! Runs an inspector over reads like a connection does: bytes that were not passed on are given
//! again.

use millrace_protocol::http::{Inspector, InspectorConfig, Outcome};

/// Small limits, so that tests reach them.
pub(crate) fn small() -> InspectorConfig {
    InspectorConfig {
        head_bytes: 300,
        headers: 8,
        target_bytes: 40,
        body_bytes: 100,
        ..InspectorConfig::default()
    }
}

/// The result of inspecting a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) passed: Vec<u8>,
    pub(crate) outcome: Outcome,
    pub(crate) requests: u64,
    pub(crate) in_body: bool,
}

pub(crate) fn inspect<'a>(
    config: &InspectorConfig,
    reads: impl IntoIterator<Item = &'a [u8]>,
) -> Seen {
    let mut inspector = Inspector::new();
    let mut held = Vec::new();
    let mut passed = Vec::new();
    let mut outcome = Outcome::More;
    for read in reads {
        held.extend_from_slice(read);
        let progress = inspector.inspect(&held, config);
        passed.extend(held.drain(..progress.passed));
        outcome = progress.outcome;
    }
    Seen {
        passed,
        outcome,
        requests: inspector.requests(),
        in_body: inspector.is_in_body(),
    }
}
