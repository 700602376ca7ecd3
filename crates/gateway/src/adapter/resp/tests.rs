//! A connection of everybody's, without its stream.

use std::sync::Arc;

use millrace_core::{SocketId, Tally};
use millrace_protocol::resp::{Decoder, Version};

use super::clients::Client;
use super::session::{Session, Silence};
use super::{Common, Resp, Terms};
use crate::config::RespConfig;
use crate::hub::Hub;
use crate::limits::ListenerLimits;
use crate::socket;

/// Its session, on a listener that asks for no password.
pub(crate) fn session_on_stage(
    common: &Arc<Common>,
    hub: &Arc<Hub>,
    id: SocketId,
) -> Box<dyn socket::Session> {
    let limits = ListenerLimits::default();
    let terms = Arc::new(Terms::new(&RespConfig::default(), &limits, common).unwrap());
    let client = Arc::new(Client::new(id, (None, None), "default", 0));
    terms.common.clients.enter(&client);
    Box::new(Resp {
        decoder: Decoder::new(),
        session: Session {
            user: terms.access.anyone(),
            terms,
            hub: Arc::clone(hub),
            client,
            version: Version::Resp2,
            asked: 0,
            silence: Silence::default(),
            tally: Tally::default(),
        },
    })
}
