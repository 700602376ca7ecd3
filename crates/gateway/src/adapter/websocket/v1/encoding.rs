//! The encoding of messages in `millrace.v1`: a frame of WebSocket with a line of JSON in front of the payload.

use millrace_core::Annotation;
use millrace_protocol::v1::{Mark, Publication, append_direct};

use crate::contract::{HeadedDef, Message};

/// See the module.
pub(crate) const HEADED: HeadedDef = HeadedDef {
    name: "millrace.v1",
    around: 64,
    append,
    append_direct: |annotation, out| {
        append_direct(Some(mark(annotation)), out);
        out.push(b'\n');
    },
};

fn append(message: &Message<'_>, out: &mut Vec<u8>) {
    match message.via {
        None => append_direct(None, out),
        Some(via) => {
            let publication = Publication {
                channel: via.channel.as_bytes(),
                mark: via.mark.map(mark),
                from: via.from,
                offset: via.number.map(|number| number.position.offset),
                timestamp: via.number.map(|number| number.unix_ms),
                ..Publication::default()
            };
            publication.append(out);
        }
    }
    out.push(b'\n');
}

fn mark(annotation: &Annotation) -> Mark<'_> {
    match annotation {
        Annotation::Prefix(prefix) => Mark::Prefix(prefix),
        Annotation::UserData(number) => Mark::Number(*number),
    }
}
