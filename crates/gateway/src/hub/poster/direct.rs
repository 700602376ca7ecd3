//! Posts messages for one socket each: a small one is copied into the inbox, and a mark of a virtual socket becomes part of
//! the payload unless the shard shows it.

use std::cell::Cell;
use std::sync::Arc;

use millrace_core::{Annotation, Core, Kind, Route, SocketId};
use smallvec::SmallVec;

use super::Poster;
use crate::frame::KeptMessage;
use crate::hub::outgoing::{Form, Outgoing};
use crate::inbox::{Command, MarkedDirect, Text};

impl Poster<'_, '_> {
    /// Posts texts, each with its socket. The inbox of each shard is locked once. Texts to closed sockets are counted.
    pub(crate) fn texts<'t>(
        &mut self,
        core: &Core<KeptMessage>,
        texts: impl IntoIterator<Item = (SocketId, &'t [u8])>,
    ) {
        let mut routed: SmallVec<[Text<'t>; 8]> = SmallVec::new();
        for (socket, payload) in texts {
            // outside of any inbox's lock: the core takes these locks while it holds its own
            if let Some(route) = core.route(socket) {
                routed.push(Text { route, payload });
            } else {
                self.lost.gone += 1;
            }
        }
        if !routed.is_sorted_by_key(|text| text.route.shard) {
            // stable, because the order of a socket's texts matters
            routed.sort_by_key(|text| text.route.shard);
        }
        for run in routed.chunk_by(|one, next| one.route.shard == next.route.shard) {
            if let Some(shard) = run.first().map(|text| text.route.shard) {
                self.dirty.insert(shard);
                self.lost.refused |= !self.inboxes.deliver_texts(shard, run);
            }
        }
    }

    /// Posts a message for one socket.
    pub(super) fn send_one(
        &mut self,
        route: Route,
        annotation: Option<&Arc<Annotation>>,
        message: &Outgoing<'_>,
    ) -> bool {
        let form = match annotation {
            Some(annotation) if self.shows_marks => {
                return self.send_marked(route, annotation, message);
            }
            None => Form::AsItIs,
            Some(annotation) => message.take_mark(annotation),
        };
        self.lost.unannotated += u32::from(annotation.is_some() && matches!(form, Form::AsItIs));
        let (payload, publication) = match &form {
            Form::Small(payload) => (&payload[..], None),
            Form::Large(publication) => (publication.payload(), Some(publication.clone())),
            Form::AsItIs if message.is_small() => (message.payload, None),
            Form::AsItIs => (message.payload, Some(message.share())),
        };
        let Some(publication) = publication else {
            return self.send_small(route, message.kind, payload);
        };
        let Route {
            shard,
            slot,
            socket,
        } = route;
        self.dirty.insert(shard);
        let own = Cell::default();
        let charged = match form {
            Form::AsItIs => &message.charged,
            Form::Small(_) | Form::Large(_) => &own,
        };
        let bytes = payload.len();
        self.deliver_shared(shard, (charged, bytes), (1, 0), |_| Command::Direct {
            slot,
            socket,
            publication,
        })
    }

    #[cold]
    fn send_marked(
        &mut self,
        route: Route,
        annotation: &Arc<Annotation>,
        message: &Outgoing<'_>,
    ) -> bool {
        self.dirty.insert(route.shard);
        let once = (&message.charged, message.payload.len());
        let marked = MarkedDirect {
            slot: route.slot,
            socket: route.socket,
            annotation: Arc::clone(annotation),
            publication: message.share(),
        };
        let beside = size_of::<MarkedDirect>();
        self.deliver_shared(route.shard, once, (1, beside), |_| {
            Command::Marked(Box::new(marked))
        })
    }

    fn send_small(&mut self, route: Route, kind: Kind, payload: &[u8]) -> bool {
        let Route {
            shard,
            slot,
            socket,
        } = route;
        self.dirty.insert(shard);
        self.deliver(shard, payload.len(), 1, |mail| Command::Small {
            slot,
            socket,
            kind,
            start: mail.place(payload),
            length: u32::try_from(payload.len()).unwrap_or_default(),
        })
    }
}
