//! What a session may do beside messages and replies.
#![cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the probe of the tests is the first protocol that uses all of it"
    )
)]

use std::sync::Arc;
use std::task::Waker;

use super::Context;
use crate::socket::waker::SessionWaker;

/// What it may say of itself.
impl Context<'_> {
    /// Has the session [woken](crate::socket::Wake::Posted) from any thread, once for as many calls as come before it runs.
    pub(crate) fn waker(&mut self) -> Waker {
        let (env, connection) = (self.env, self.connection);
        let waker = self.extra().waker.get_or_insert_with(|| {
            let place = (connection.slot, connection.socket);
            Arc::new(SessionWaker::new(env.hub(), env.index(), place))
        });
        Waker::from(Arc::clone(waker))
    }
}
