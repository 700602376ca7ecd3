//! Open logs, and which log a shared gateway uses: that of the thread whose log has been open longest. Owns the list of
//! open logs; the thread that started the gateway chooses what is logged.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

use crate::log_sink::Sink;

/// An open log.
#[derive(Debug)]
pub(crate) struct Logging {
    pub(crate) sink: Arc<Sink>,
    pub(crate) dispatch: Dispatch,
    /// The number with which it rings in its environment.
    pub(crate) number: usize,
    /// Its place in the relay, if threads share the gateway.
    pub(crate) _relayed: Option<Relayed>,
    /// A dispatch that logs nothing. If there is only one dispatch, `tracing` asks the first thread that reaches a log
    /// line whether the line is wanted and caches the result for ever. That thread may belong to a gateway without a
    /// log.
    pub(crate) _beside: Dispatch,
}

/// The open logs of one gateway, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Relay(Mutex<Vec<Arc<Sink>>>);

/// A log that stays open until this is dropped.
#[derive(Debug)]
pub(crate) struct Relayed {
    relay: Arc<Relay>,
    sink: Arc<Sink>,
}

/// The subscriber that the gateway is started with.
struct Lines {
    relay: Arc<Relay>,
    /// The sink whose filter applies.
    sink: Arc<Sink>,
}

impl Relay {
    /// Adds an open log. The dispatch is for a gateway that its thread starts.
    pub(crate) fn add(self: &Arc<Self>, sink: &Arc<Sink>) -> (Relayed, Dispatch) {
        self.0.lock().push(Arc::clone(sink));
        let (relay, sink) = (Arc::clone(self), Arc::clone(sink));
        let lines = Lines {
            relay: Arc::clone(&relay),
            sink: Arc::clone(&sink),
        };
        (Relayed { relay, sink }, Dispatch::new(lines))
    }

    fn oldest(&self) -> Option<Arc<Sink>> {
        self.0.lock().first().cloned()
    }
}

impl Drop for Relayed {
    fn drop(&mut self) {
        let mut sinks = self.relay.0.lock();
        sinks.retain(|sink| !Arc::ptr_eq(sink, &self.sink));
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.sink.enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        self.sink.max_level_hint()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.sink.new_span(span)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if let Some(sink) = self.relay.oldest() {
            sink.event(event);
        }
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[cfg(test)]
mod tests {
    use millrace_gateway::Doorbell;
    use tracing::{dispatcher, info};

    use super::*;
    use crate::log_sink::Filter;

    struct Silent;

    impl Doorbell for Silent {
        fn ring(&self) {}
    }

    fn sink() -> Arc<Sink> {
        let mut filter = Filter::default();
        filter.add(String::new(), 5);
        Arc::new(Sink::new(filter, Arc::new(Silent)))
    }

    #[test]
    fn lines_go_to_the_log_that_was_opened_first() {
        let (relay, first, second) = (Arc::<Relay>::default(), sink(), sink());
        let (open, dispatch) = relay.add(&first);
        let (also_open, _) = relay.add(&second);
        let log = |text: &str| dispatcher::with_default(&dispatch, || info!(text));
        let lines = |sink: &Sink| sink.take().0.len();
        log("both logs are open");
        assert_eq!((lines(&first), lines(&second)), (1, 0));
        drop(open);
        log("the log that the gateway was started with is closed");
        assert_eq!((lines(&first), lines(&second)), (0, 1));
        drop(also_open);
        log("no log is open");
        assert_eq!((lines(&first), lines(&second)), (0, 0));
    }
}
