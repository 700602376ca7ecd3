//! What a channel has kept, as an answer to a client of `millrace.v1`. Owns how much of it an answer may have.

use millrace_core::{Past, Start};
use millrace_protocol::v1::{self, Code, Id, Okay};

use super::speaker::{Speaker, append_header, append_message, fail};
use crate::contract::{Context, Flow, KeptMessage, Reading};

impl Speaker {
    /// Answers with what a channel has kept, as much of it as an answer may have.
    pub(super) fn history(
        &mut self,
        id: Id<'_>,
        channel: &[u8],
        (start, is_reverse): (Option<Start>, bool),
        limit: Option<u64>,
        cx: &mut Context<'_>,
    ) -> Flow {
        let most = limit.map_or(HISTORY, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        let most = most.min(MOST_HISTORY);
        // from the beginning, if the client names no position
        let start = start.unwrap_or(Start::Last(u32::MAX));
        if let Some(terms) = cx.hub().terms_to_read(channel, start) {
            let reading = Reading {
                start,
                is_reverse,
                most,
                most_bytes: HISTORY_BYTES,
            };
            if self.has_room_for_store(Some(&id), Code::Limit, cx) {
                self.look(id, (channel, terms), reading, cx);
            }
            return self.flow(cx);
        }
        match cx.hub().history(channel, (start, is_reverse), most) {
            Some(past) => say_history(&id, channel, past, cx),
            None => fail(Some(&id), Code::NotFound, "the channel has no history", cx),
        }
        Flow::Go
    }
}

/// Answers with messages of a channel, as many as an answer may have.
pub(super) fn say_history(
    id: &Id<'_>,
    channel: &[u8],
    mut past: Past<KeptMessage>,
    cx: &mut Context<'_>,
) {
    let mut head = Vec::new();
    let named = v1::Publication {
        channel,
        answers: Some(id),
        ..v1::Publication::default()
    };
    named.append(&mut head);
    let head = head.len() + NUMBERS_BYTES;
    let mut bytes = 0;
    let fits = past.messages.iter().take_while(|kept| {
        let is_first = bytes == 0;
        bytes += kept.message.payload().len() + head;
        is_first || bytes <= HISTORY_BYTES
    });
    let count = fits.count();
    past.messages.truncate(count);
    let epoch = past.position.epoch.to_string();
    let okay = Okay {
        position: Some((&epoch, past.position.offset)),
        count: u64::try_from(count).ok(),
        ..Okay::new(id)
    };
    cx.reply(|out| append_header(|line| okay.append(line), out));
    for kept in &past.messages {
        let from = cx.hub().publisher(kept);
        let publication = v1::Publication {
            channel,
            offset: Some(kept.number.position.offset),
            timestamp: Some(kept.number.unix_ms),
            from: from.as_deref(),
            answers: Some(id),
            ..v1::Publication::default()
        };
        let message = (kept.message.kind(), kept.message.payload());
        cx.reply(|out| append_message(|line| publication.append(line), message, out));
    }
}

/// Publications of an answer without a limit.
const HISTORY: usize = 100;

/// The most publications of an answer, and their bytes if there are several.
const MOST_HISTORY: usize = 1_000;
const HISTORY_BYTES: usize = 256 * 1024;

/// The most bytes of a publication's header beside its channel and the id of the question.
const NUMBERS_BYTES: usize = 128;
