//! Measures the hot paths in instructions: performs one of the cases below a given number of times under callgrind,
//! which `scripts/instructions.mjs` runs. The difference between two runs of different length is the cost of the
//! operations without the set-up. This program itself counts nothing and compares nothing.
//!
//! All cases are in one binary of the gateway, where codec and core meet: it is linked once, with the settings
//! of the addon.
//!
//! `instructions` lists the cases, `instructions CASE OPERATIONS` performs one.

mod application;
mod carriers;
mod codec;
mod compression;
mod core;
mod messaging;
mod parts;
mod server;
mod shards;
#[path = "../../../core/benches/sink/mod.rs"]
// shared with the core's benches
mod sink;

use std::io::{self, Write as _};
use std::process::ExitCode;

/// A case to measure.
struct Case {
    name: &'static str,
    /// How often the shorter of the two runs performs it. The number is large enough that what differs from run to run,
    /// such as the keys of the hashers, is far below 1 %.
    operations: u64,
    /// Performs it the given number of times.
    run: fn(u64),
}

const fn case(name: &'static str, operations: u64, run: fn(u64)) -> Case {
    Case {
        name,
        operations,
        run,
    }
}

const GROUPS: [&[Case]; 8] = [
    codec::CASES,
    core::CASES,
    parts::CASES,
    server::CASES,
    shards::CASES,
    carriers::CASES,
    compression::CASES,
    messaging::CASES,
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (name, operations) = (arguments.next(), arguments.next());
    // `cargo bench` passes a flag of its own
    let Some(name) = name.filter(|name| !name.starts_with("--")) else {
        return list().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    };
    let found = GROUPS.into_iter().flatten().find(|case| case.name == name);
    let operations = operations.and_then(|text| text.parse().ok());
    let (Some(case), Some(operations)) = (found, operations) else {
        return ExitCode::FAILURE;
    };
    (case.run)(operations);
    ExitCode::SUCCESS
}

fn list() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for case in GROUPS.into_iter().flatten() {
        writeln!(out, "{} {}", case.name, case.operations)?;
    }
    Ok(())
}
