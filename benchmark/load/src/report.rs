//! The results of a run, as one JSON line or as aligned text, and the median of windows.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::failure::{Doing, Failure};
use crate::io::{Handler, Io};
use crate::json::Object;
use crate::window::Window;

/// Named findings in the order they were added.
#[derive(Debug, Clone)]
pub struct Report {
    fields: Vec<(&'static str, Field)>,
}

#[derive(Debug, Clone)]
enum Field {
    Number(f64),
    Integer(i128),
    Text(String),
    Truth(bool),
}

impl Report {
    /// A report of a kind: a scenario's name, `window`, `ready` or `median`.
    pub fn new(kind: &str) -> Self {
        let fields = vec![("kind", Field::Text(kind.to_owned()))];
        Self { fields }
    }

    /// Adds a measured number.
    #[must_use]
    pub fn number(mut self, name: &'static str, value: f64) -> Self {
        self.fields.push((name, Field::Number(value)));
        self
    }

    /// Adds a count.
    #[must_use]
    pub fn integer(mut self, name: &'static str, value: impl TryInto<i128>) -> Self {
        let value = value.try_into().unwrap_or(i128::MAX);
        self.fields.push((name, Field::Integer(value)));
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, Field::Text(value.to_owned())));
        self
    }

    /// Adds a boolean.
    #[must_use]
    pub fn truth(mut self, name: &'static str, value: bool) -> Self {
        self.fields.push((name, Field::Truth(value)));
        self
    }

    /// Writes it to standard output at once.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let text = if json { self.json() } else { self.plain() };
        let written = writeln!(out, "{text}").and_then(|()| out.flush());
        written.doing("writing the report")
    }

    fn json(&self) -> String {
        let add = |object: Object, (name, field): &(&'static str, Field)| match field {
            Field::Number(value) => object.number(name, *value),
            Field::Integer(value) => object.integer(name, *value),
            Field::Text(value) => object.text(name, value),
            Field::Truth(value) => object.boolean(name, *value),
        };
        self.fields.iter().fold(Object::new(), add).finish()
    }

    fn plain(&self) -> String {
        let show = |(name, field): &(&'static str, Field)| match field {
            Field::Number(value) => format!("{name:36} {value:>14.3}"),
            Field::Integer(value) => format!("{name:36} {value:>14}"),
            Field::Text(value) => format!("{name:36} {value:>14}"),
            Field::Truth(value) => format!("{name:36} {value:>14}"),
        };
        let lines: Vec<String> = self.fields.iter().map(show).collect();
        lines.join("\n") + "\n"
    }
}

/// The unit of a scenario's CPU figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A message the server received and answered.
    Message,
    /// A message the server sent to a subscriber.
    Delivery,
    /// A request the server answered.
    Request,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Delivery => "delivery",
            Self::Request => "request",
        }
    }
}

/// The figures of a window per unit, for a server that may use this many cores.
pub fn of_window(window: &Window, unit: Unit, server_cores: u32) -> Report {
    let wall = window.seconds;
    let units = match unit {
        Unit::Message | Unit::Request => window.incoming,
        Unit::Delivery => window.received,
    };
    let per_unit = |value: f64| value / float(units);
    let cpu = window.server.cpu.as_secs_f64();
    let (user, system) = (window.server.user, window.server.system);
    let user_share = user.as_secs_f64() / (user + system).as_secs_f64();
    let [server, own] = [cpu / wall, window.own.as_secs_f64() / wall];
    let [p50, p99, p999, max] = window.latency;
    let report = Report::new("window")
        .text("unit", unit.name())
        .number("seconds", wall)
        .integer("units", units)
        .number("per_second", float(units) / wall)
        .number("cpu_us", per_unit(cpu * 1e6))
        .number("user_share", user_share)
        .number("server_share", server)
        .number("generator_share", own)
        .number("p50_us", p50)
        .number("p99_us", p99)
        .number("p999_us", p999)
        .number("max_us", max)
        .number(
            "received_per_read",
            float(window.received) / float(window.reads),
        )
        .number("switches_per_unit", per_unit(float(window.server.switches)))
        .number("resident_mib", float(window.resident) / (1024.0 * 1024.0))
        .integer("unsent", window.unsent)
        .truth(
            "generator_is_the_limit",
            !window.paced && own > BUSY && server < BUSY * f64::from(server_cores),
        );
    match window.upstream {
        Some(cpu) => report.number("upstream_share", cpu.as_secs_f64() / wall),
        None => report,
    }
}

/// The report with every number replaced by the median of all reports; `limited` if any report was.
pub fn median(reports: &[Report]) -> Option<Report> {
    let mut summary = reports.first()?.clone();
    for (index, (name, field)) in summary.fields.iter_mut().enumerate() {
        let column = reports.iter().filter_map(|report| report.fields.get(index));
        match field {
            Field::Number(value) => {
                let mut values: Vec<f64> = column
                    .filter_map(|(_, field)| match field {
                        Field::Number(value) => Some(*value),
                        _ => None,
                    })
                    .collect();
                values.sort_by(f64::total_cmp);
                *value = values[values.len() / 2];
            }
            Field::Truth(value) => {
                *value = column
                    .into_iter()
                    .any(|(_, field)| matches!(field, Field::Truth(true)));
            }
            Field::Text(kind) if *name == "kind" => "median".clone_into(kind),
            Field::Integer(_) | Field::Text(_) => {}
        }
    }
    Some(summary.integer("windows", reports.len()))
}

/// Serves events for a while, so that the server becomes idle.
pub fn rest<H: Handler>(io: &mut Io, handler: &mut H, length: Duration) -> Result<(), Failure> {
    let end = Instant::now() + length;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        io.turn(handler, left)?;
    }
    Ok(())
}

/// The share of a core from which on a program counts as fully busy.
const BUSY: f64 = 0.95;

/// A count as a number to divide by; exact up to 2^53.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "std has no other conversion, and counts stay far below 2^53"
)]
pub fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_field_by_field() {
        let report = |cpu, limited| Report::new("window").number("cpu", cpu).truth("l", limited);
        let reports = [report(3.0, false), report(1.0, true), report(2.0, false)];
        let json = median(&reports).unwrap().json();
        assert_eq!(
            json,
            r#"{"kind":"median","cpu":2.0000,"l":true,"windows":3}"#
        );
    }
}
