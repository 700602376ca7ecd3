//! Calls for channels with presence: who is a member, and what it says of itself.

use millrace_core::{Info, Maker, NoPresence, PresenceBounds, ShardSet, SocketId};

use super::Hub;
use crate::config::ChannelTerms;
use crate::limits::GatewayLimits;

impl Hub {
    /// Makes subscribers members; see [`Core::make_members`](millrace_core::Core::make_members).
    pub fn make_members(
        &self,
        ids: &[SocketId],
        channel: &[u8],
        by: (Maker, Option<&Info>),
        dirty: &mut ShardSet,
    ) {
        let mut poster = self.poster(dirty);
        self.core.make_members(ids, channel, by, &mut poster);
    }

    /// Replaces what a member says of itself; see [`Core::set_info`](millrace_core::Core::set_info).
    pub fn set_info(
        &self,
        id: SocketId,
        channel: &[u8],
        info: &Info,
        dirty: &mut ShardSet,
    ) -> Result<bool, NoPresence> {
        self.core
            .set_info(id, channel, info, &mut self.poster(dirty))
    }

    /// Says which channels have presence.
    pub(super) fn set_presence(&self, terms: &[ChannelTerms], limits: &GatewayLimits) {
        let asks: Vec<_> = terms.iter().map(|terms| terms.presence).collect();
        let bounds = PresenceBounds {
            events: limits.presence_events,
            bytes: u64::try_from(limits.presence_bytes).unwrap_or(u64::MAX),
        };
        self.core.set_presence(&asks, bounds);
    }

    /// Tells the subscribers of all channels what has changed among the members.
    pub(crate) fn tell_presence(&self) {
        let mut dirty = ShardSet::default();
        self.core.tell_presence(&mut self.poster(&mut dirty));
        self.wake(&mut dirty);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use millrace_core::{InfoError, Pattern};

    use super::*;
    use crate::config::ClientTerms;
    use crate::frame::Encodings;

    #[test]
    fn another_start_with_the_same_terms_has_limits_of_its_own() {
        let hub = Hub::new(Arc::new(Encodings::new()));
        let terms = [ChannelTerms {
            pattern: Pattern::new(b"*").unwrap(),
            text: b"*"[..].into(),
            compress: true,
            history: None,
            presence: true,
            clients: ClientTerms::default(),
        }];
        for most in [1, 1 << 20, 2] {
            let limits = GatewayLimits {
                presence_bytes: most,
                ..GatewayLimits::default()
            };
            hub.set_channel_terms(&terms, &limits);
            let info = hub.core().info("\"me\"").map(|info| info.text().to_owned());
            let expected = match most {
                1 | 2 => Err(InfoError::TooMany {
                    most: u64::try_from(most).unwrap(),
                }),
                _ => Ok("\"me\"".to_owned()),
            };
            assert_eq!(info, expected);
        }
    }
}
