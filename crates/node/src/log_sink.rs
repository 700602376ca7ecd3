//! The destination of a gateway's log lines: a bounded list and a doorbell. Owns the filter, the limits and
//! the count of dropped lines; knows no JavaScript.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use millrace_gateway::Doorbell;
use millrace_gateway::limits::FixedLimits;
use parking_lot::Mutex;
use tracing::field::Visit;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// What is logged: prefixes of targets, each with the most verbose level.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// The rules, the longest prefix first.
    rules: Vec<(String, LevelFilter)>,
}

/// See the module.
pub(crate) struct Sink {
    filter: Filter,
    door: Arc<dyn Doorbell>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limits: FixedLimits,
    lines: Vec<Line>,
    dropped: u64,
    /// Whether the doorbell was rung and the lines were not taken yet.
    rung: bool,
    /// The number of lines since `window` began.
    in_window: usize,
    window: Instant,
}

/// One line.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) time: SystemTime,
    pub(crate) level: &'static str,
    pub(crate) target: &'static str,
    pub(crate) message: String,
    pub(crate) fields: Vec<(&'static str, Field)>,
}

/// The value of a field.
#[derive(Debug, PartialEq)]
pub(crate) enum Field {
    Text(String),
    Number(f64),
    Flag(bool),
}

impl Filter {
    /// Adds a rule for targets that begin with `prefix`: 0 is off, 1 is `error`, 5 and above is `trace`.
    pub(crate) fn add(&mut self, prefix: String, level: u32) {
        let level = match level {
            0 => LevelFilter::OFF,
            1 => LevelFilter::ERROR,
            2 => LevelFilter::WARN,
            3 => LevelFilter::INFO,
            4 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        };
        self.rules.push((prefix, level));
        // the sort is stable: of two equal prefixes the first one given counts
        self.rules
            .sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
    }

    fn level_of(&self, target: &str) -> LevelFilter {
        let rule = self
            .rules
            .iter()
            .find(|(prefix, _)| target.starts_with(prefix.as_str()));
        rule.map_or(LevelFilter::OFF, |(_, level)| *level)
    }

    fn most(&self) -> LevelFilter {
        let levels = self.rules.iter().map(|(_, level)| *level);
        levels.max().unwrap_or(LevelFilter::OFF)
    }
}

impl Sink {
    pub(crate) fn new(filter: Filter, door: Arc<dyn Doorbell>) -> Self {
        Self {
            filter,
            door,
            state: Mutex::new(State {
                limits: FixedLimits::default(),
                lines: Vec::new(),
                dropped: 0,
                rung: false,
                in_window: 0,
                window: Instant::now(),
            }),
        }
    }

    /// Takes the lines since the last call and the number of dropped lines.
    pub(crate) fn take(&self) -> (Vec<Line>, u64) {
        let mut state = self.state.lock();
        state.rung = false;
        (
            std::mem::take(&mut state.lines),
            std::mem::take(&mut state.dropped),
        )
    }

    fn push(&self, line: Line, now: Instant) {
        let ring = {
            let mut state = self.state.lock();
            if state.has_room(now) {
                state.lines.push(line);
            } else {
                state.dropped += 1;
            }
            !std::mem::replace(&mut state.rung, true)
        };
        if ring {
            self.door.ring();
        }
    }
}

impl State {
    fn has_room(&mut self, now: Instant) -> bool {
        if now.duration_since(self.window) >= WINDOW {
            (self.window, self.in_window) = (now, 0);
        }
        self.in_window += 1;
        self.lines.len() < self.limits.log_lines_waiting
            && self.in_window <= self.limits.log_lines_per_second
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}

/// Handles events only: the gateway opens no spans.
impl Subscriber for Sink {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.filter.level_of(metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.filter.most())
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut line = Line {
            time: SystemTime::now(),
            level: level_name(*metadata.level()),
            target: metadata.target(),
            message: String::new(),
            fields: Vec::new(),
        };
        event.record(&mut line);
        self.push(line, Instant::now());
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

impl Line {
    fn set(&mut self, field: &tracing::field::Field, value: Field) {
        self.fields.push((field.name(), value));
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.set(field, Field::Text(format!("{value:?}")));
        }
    }

    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        self.set(field, Field::Text(value.to_owned()));
    }

    fn record_bool(&mut self, field: &tracing::field::Field, value: bool) {
        self.set(field, Field::Flag(value));
    }

    fn record_u64(&mut self, field: &tracing::field::Field, value: u64) {
        self.set(field, Field::Number(crate::numbers::from_u64(value)));
    }

    fn record_i64(&mut self, field: &tracing::field::Field, value: i64) {
        // the gateway logs no negative numbers, so text is good enough for one
        match u64::try_from(value) {
            Ok(value) => self.record_u64(field, value),
            Err(_) => self.set(field, Field::Text(value.to_string())),
        }
    }

    fn record_f64(&mut self, field: &tracing::field::Field, value: f64) {
        self.set(field, Field::Number(value));
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        _ => "trace",
    }
}

/// The time in which at most a bounded number of lines is kept, so that many events do not keep JavaScript
/// busy.
const WINDOW: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tracing::{debug, info, warn};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Doorbell for Count {
        fn ring(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn sink(rules: &[(&str, u32)]) -> (Arc<Sink>, Arc<Count>) {
        let mut filter = Filter::default();
        for (prefix, level) in rules {
            filter.add((*prefix).to_owned(), *level);
        }
        let count = Arc::new(Count::default());
        let door: Arc<dyn Doorbell> = Arc::<Count>::clone(&count);
        (Arc::new(Sink::new(filter, door)), count)
    }

    fn line() -> Line {
        Line {
            time: SystemTime::UNIX_EPOCH,
            level: "info",
            target: "t",
            message: String::new(),
            fields: Vec::new(),
        }
    }

    #[test]
    fn the_longest_matching_prefix_decides() {
        let (sink, _) = sink(&[("", 1), ("millrace", 2), ("millrace::connection", 4)]);
        tracing::subscriber::with_default(Arc::clone(&sink), || {
            debug!(target: "millrace::connection", "yes");
            debug!(target: "millrace::listener", "no");
            warn!(target: "millrace::listener", "yes");
            warn!(target: "elsewhere", "no");
        });
        let (lines, dropped) = sink.take();
        let seen: Vec<_> = lines.iter().map(|line| (line.level, line.target)).collect();
        assert_eq!(
            seen,
            [
                ("debug", "millrace::connection"),
                ("warn", "millrace::listener")
            ]
        );
        assert_eq!(dropped, 0);
    }

    #[test]
    fn fields_keep_their_kinds() {
        let (sink, _) = sink(&[("", 5)]);
        tracing::subscriber::with_default(Arc::clone(&sink), || {
            info!(number = 7_u64, flag = true, text = "a", list = ?[1], "said");
        });
        let (lines, _) = sink.take();
        assert_eq!(lines[0].message, "said");
        assert_eq!(
            lines[0].fields,
            [
                ("number", Field::Number(7.0)),
                ("flag", Field::Flag(true)),
                ("text", Field::Text("a".to_owned())),
                ("list", Field::Text("[1]".to_owned())),
            ]
        );
    }

    #[test]
    fn the_doorbell_rings_once_until_lines_are_taken() {
        let (sink, count) = sink(&[("", 5)]);
        let now = Instant::now();
        for _ in 0..3 {
            sink.push(line(), now);
        }
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(sink.take().0.len(), 3);
        sink.push(line(), now);
        assert_eq!(count.0.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn lines_over_the_limit_per_second_are_dropped_and_counted() {
        let most = FixedLimits::default().log_lines_per_second;
        let (sink, _) = sink(&[("", 5)]);
        let now = Instant::now();
        for _ in 0..most + 5 {
            sink.push(line(), now);
        }
        let (lines, dropped) = sink.take();
        assert_eq!((lines.len(), dropped), (most, 5));
        sink.push(line(), now + WINDOW);
        assert_eq!(sink.take().0.len(), 1);
    }

    #[test]
    fn lines_that_are_not_taken_are_bounded() {
        let limits = FixedLimits::default();
        let (sink, _) = sink(&[("", 5)]);
        let now = Instant::now();
        for second in 0..3 {
            for _ in 0..limits.log_lines_per_second {
                sink.push(line(), now + second * WINDOW);
            }
        }
        let (lines, dropped) = sink.take();
        assert_eq!(lines.len(), limits.log_lines_waiting);
        assert_eq!(
            usize::try_from(dropped).ok(),
            Some(3 * limits.log_lines_per_second - limits.log_lines_waiting)
        );
    }
}
