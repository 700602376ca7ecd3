//! `cargo xtask`: the house rules as checks that fail, and the pages generated from code. Owns only the
//! command line; never part of the published package.
#![forbid(unsafe_code)]

mod check;
mod finding;
mod generate;
mod module_graph;
mod rust_code;
mod rust_imports;
mod tree;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use finding::{Finding, Severity};
use tree::Tree;

const USAGE: &str = "usage: cargo xtask tidy       check the house rules
       cargo xtask generate   write the pages that are generated from code";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        ["tidy"] => tidy(&root(), &mut io::stdout()),
        ["generate"] => generate(&root(), &mut io::stdout()),
        ["--help" | "-h"] => writeln!(io::stdout(), "{USAGE}").map(|()| true),
        _ => {
            let _ = writeln!(io::stderr(), "{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root, two folders above this crate.
fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_folder.ancestors().nth(2);
    root.expect("the crate lies in crates/xtask").to_owned()
}

/// Prints every finding. Returns false if one of them is an error.
fn tidy(root: &Path, out: &mut dyn Write) -> io::Result<bool> {
    let tree = Tree::read(root)?;
    let mut findings = check::all(&tree);
    match check::layers::metadata(root) {
        Ok(metadata) => findings.extend(check::layers::check(&metadata)),
        Err(error) => findings.push(Finding::error("Cargo.toml", 0, error.to_string())),
    }
    findings.sort();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    let warnings = findings.len() - errors;
    writeln!(
        out,
        "tidy: {} files, {errors} errors, {warnings} warnings",
        tree.files().len()
    )?;
    Ok(errors == 0)
}

/// Writes the generated pages that are out of date. Returns false if a source cannot be read.
fn generate(root: &Path, out: &mut dyn Write) -> io::Result<bool> {
    let tree = Tree::read(root)?;
    let mut complete = true;
    for page in generate::pages(&tree) {
        match page.text {
            Err(problem) => {
                writeln!(out, "{}: {problem}", page.source)?;
                complete = false;
            }
            Ok(text) if tree.text(page.path) == Some(&text) => {
                writeln!(out, "{} is up to date", page.path)?;
            }
            Ok(text) => {
                std::fs::write(root.join(page.path), text)?;
                writeln!(out, "{} written", page.path)?;
            }
        }
    }
    Ok(complete)
}
