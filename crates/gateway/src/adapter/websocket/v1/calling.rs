//! Calls of the application to a client of `millrace.v1`, and their answers.

use millrace_core::Kind;
use millrace_protocol::v1::{Code, Id, append_call};

use super::speaker::{Speaker, append_header, append_message};
use crate::contract::{Calling, Context, Reply};

impl Speaker {
    /// Calls the client.
    pub(super) fn call_client(&mut self, calling: Calling, cx: &mut Context<'_>) {
        if cx.is_closing() {
            // the client says nothing more; dropped, the question is answered
            return;
        }
        let Calling {
            question,
            method,
            params,
        } = calling;
        let calls = self.calls.get_or_insert_default();
        let id = match calls.add(question, self.terms.listener.calls) {
            Ok(id) => id,
            Err(question) => {
                let reason = "too many calls are unanswered";
                return question.answer(failed(Code::Limit.text(), Some(reason)));
            }
        };
        // the answer is behind what is held
        cx.hold_input(false);
        let header = |line: &mut Vec<u8>| append_call(&Id::Number(id), &method, line);
        cx.send_part(|out| match &params {
            None => append_header(header, out),
            Some((kind, payload)) => append_message(header, (*kind, payload), out),
        });
    }

    /// The client answers a call.
    pub(super) fn client_answered(&mut self, id: &Id<'_>, reply: Reply) {
        if let (Id::Number(id), Some(calls)) = (id, self.calls.as_deref_mut()) {
            calls.answer(*id, reply, self.terms.listener.answer_bytes);
        }
    }
}

/// The reply for the answer of a client.
pub(super) fn said(kind: Kind, payload: &[u8]) -> Reply {
    Reply::Said(kind, payload.into())
}

/// The reply for the error of a client.
pub(super) fn failed(code: &str, reason: Option<&str>) -> Reply {
    Reply::Failed(code.into(), reason.map(Into::into))
}
