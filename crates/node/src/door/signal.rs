//! A signal of libuv's event loop: how a thread of Node.js is woken. A `ThreadsafeFunction` wakes it while it holds a mutex,
//! for which the woken thread waits if both have one core. Owns which sources have rung, and how often the thread looks for
//! them in a row.

use std::cell::Cell;
use std::sync::Arc;

use millrace_sockets::{Libuv, LoopSignal};

use super::Life;
use super::rings::Rings;
use crate::failure::Outcome;
use crate::js::{AsyncContext, Js, Value};

/// See the module.
#[derive(Debug)]
pub(super) struct Signal {
    signal: LoopSignal,
    rings: Arc<Rings>,
}

impl Signal {
    /// Opens a signal that does not keep the process running until [`hold`](Self::hold). `name` names its callbacks in
    /// asynchronous hooks. `answer` answers the sources of a place, in a callback scope, and does not panic. When the
    /// environment ends, `life` does, and the signal is closed.
    pub(super) fn open(
        js: Js<'_>,
        libuv: Libuv,
        name: Value<'_>,
        life: &Arc<Life>,
        answer: impl Fn(Js<'_>, usize) + 'static,
    ) -> Outcome<Self> {
        let context = AsyncContext::new(js, name)?;
        let rings = Arc::new(Rings::new());
        let (rung, answering) = (Arc::clone(&rings), Cell::new(false));
        let signal = context.open_signal(libuv, move |context| {
            // what is left waits until the application's timers and sockets have had their turn
            rung.answer(&answering, MOST_ROUNDS, |place| {
                context.call(|js| answer(js, place));
            })
        })?;
        let (closing, life) = (signal.clone(), Arc::clone(life));
        context.when_ending(move || {
            life.end();
            closing.close();
        });
        Ok(Self { signal, rings })
    }

    /// Keeps the process running.
    pub(super) fn hold(&self) {
        self.signal.hold();
    }

    /// Lets the process end.
    pub(super) fn release(&self) {
        self.signal.release();
    }

    /// Rings for a source, unless the signal is closed.
    pub(super) fn ring(&self, source: usize) {
        if self.rings.ring(source) {
            self.signal.send();
        }
    }

    /// Closes the signal. Nobody sends it from now on, and no send is under way when this returns.
    pub(super) fn close(&self) {
        self.signal.close();
    }
}

/// How often a thread looks for rings before the rest of its event loop has a turn.
const MOST_ROUNDS: usize = 4;
