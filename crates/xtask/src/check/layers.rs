//! I2 and I3: dependencies between our crates point downward only, and libraries for I/O or JavaScript are
//! used only in the crates for it. Reads `cargo metadata`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::finding::Finding;

/// Which of our crates each crate may use. A crate that is not in this list is a finding.
const ARROWS: [(&str, &[&str]); 9] = [
    ("millrace-core", &[]),
    ("millrace-protocol", &[]),
    ("millrace-backplane", &["millrace-core"]),
    (
        "millrace-gateway",
        &[
            "millrace-core",
            "millrace-protocol",
            "millrace-backplane",
            "millrace-sockets",
        ],
    ),
    (
        "millrace-node",
        &["millrace-core", "millrace-gateway", "millrace-sockets"],
    ),
    ("millrace-sockets", &[]),
    ("millrace-testkit", &["millrace-core"]),
    ("millrace-load", &[]),
    ("xtask", &[]),
];

/// The tests of every crate may use this one.
const TESTKIT: &str = "millrace-testkit";

/// One of the servers that Millrace is compared with uses only these libraries.
const BENCHMARK: &str = "millrace-load";

/// Families of libraries, by the prefix of their names, and the crates that may use them.
const LIBRARIES: [(&str, &[&str]); 4] = [
    ("napi", &["millrace-node"]),
    (
        "tokio",
        &[
            "millrace-gateway",
            "millrace-backplane",
            "millrace-sockets",
            "millrace-testkit",
            BENCHMARK,
        ],
    ),
    (
        "hyper",
        &["millrace-gateway", "millrace-testkit", BENCHMARK],
    ),
    (
        "fastwebsockets",
        &["millrace-gateway", "millrace-testkit", BENCHMARK],
    ),
];

/// Why the workspace's dependencies could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum MetadataError {
    #[error("cargo metadata could not be run")]
    Run(#[from] std::io::Error),
    #[error("cargo metadata failed: {0}")]
    Failed(String),
    #[error("cargo metadata printed no JSON")]
    Json(#[from] serde_json::Error),
}

/// The output of `cargo metadata` about the workspace's own packages.
pub(crate) fn metadata(root: &Path) -> Result<Value, MetadataError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["metadata", "--format-version", "1", "--no-deps"];
    let output = Command::new(cargo).args(args).current_dir(root).output()?;
    if !output.status.success() {
        return Err(MetadataError::Failed(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(crate) fn check(metadata: &Value) -> Vec<Finding> {
    let packages = metadata["packages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if packages.is_empty() {
        return vec![Finding::error(
            "Cargo.toml",
            0,
            "cargo metadata lists no package",
        )];
    }
    packages.iter().flat_map(of_package).collect()
}

fn of_package(package: &Value) -> Vec<Finding> {
    let name = text(package, "name");
    let manifest = format!("package {name}");
    let Some((_, allowed)) = ARROWS.iter().find(|(listed, _)| *listed == name) else {
        let message =
            "has no place in the layers yet: decide on it in crates/xtask/src/check/layers.rs";
        return vec![Finding::error(&manifest, 0, message)];
    };
    let dependencies = package["dependencies"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let judge = |dependency: &Value| {
        let to = text(dependency, "name");
        let is_ours =
            dependency["path"].is_string() || ARROWS.iter().any(|(listed, _)| *listed == to);
        let for_tests = text(dependency, "kind") == "dev";
        if is_ours && !allowed.contains(&to) && !(for_tests && to == TESTKIT) {
            return Some(Finding::error(
                &manifest,
                0,
                format!("must not depend on {to}: dependencies point downward only"),
            ));
        }
        let library = LIBRARIES.iter().find(|(family, _)| is_of(to, family))?;
        let message = format!(
            "must not depend on {to}: it belongs to {}",
            library.1.join(", ")
        );
        (!library.1.contains(&name)).then(|| Finding::error(&manifest, 0, message))
    };
    dependencies.iter().filter_map(judge).collect()
}

/// `tokio` and `tokio-util` belong to the family `tokio`, `tokiometer` does not.
fn is_of(name: &str, family: &str) -> bool {
    name.strip_prefix(family)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(name: &str, dependencies: &Value) -> Vec<String> {
        let metadata = json!({ "packages": [{ "name": name, "dependencies": dependencies }] });
        check(&metadata)
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    fn arrow(from: &str, to: &str, kind: Option<&str>) -> usize {
        messages(
            from,
            &json!([{ "name": to, "kind": kind, "path": "/somewhere" }]),
        )
        .len()
    }

    #[test]
    fn arrows_that_point_upward_or_sideways_are_found() {
        for (from, to) in [
            ("millrace-core", "millrace-protocol"),
            ("millrace-protocol", "millrace-core"),
            ("millrace-core", "millrace-gateway"),
            ("millrace-gateway", "millrace-node"),
            ("millrace-node", "millrace-protocol"),
            ("millrace-node", "xtask"),
            ("millrace-gateway", "millrace-testkit"),
            ("millrace-load", "millrace-core"),
        ] {
            assert_eq!(arrow(from, to, None), 1, "{from} to {to}");
        }
        assert_eq!(arrow("millrace-core", "millrace-gateway", Some("dev")), 1);
        assert_eq!(arrow("millrace-core", "millrace-testkit", Some("build")), 1);
    }

    #[test]
    fn the_arrows_of_the_design_are_allowed() {
        for (from, to) in [
            ("millrace-gateway", "millrace-core"),
            ("millrace-gateway", "millrace-protocol"),
            ("millrace-node", "millrace-gateway"),
            ("millrace-node", "millrace-core"),
            ("millrace-testkit", "millrace-core"),
        ] {
            assert_eq!(arrow(from, to, None), 0, "{from} to {to}");
        }
        assert_eq!(arrow("millrace-core", "millrace-testkit", Some("dev")), 0);
    }

    #[test]
    fn libraries_out_of_their_layer_are_found() {
        for (from, to) in [
            ("millrace-gateway", "napi"),
            ("millrace-gateway", "napi-derive"),
            ("millrace-core", "tokio"),
            ("millrace-protocol", "hyper-util"),
        ] {
            assert_eq!(
                messages(from, &json!([{ "name": to, "kind": null }])).len(),
                1,
                "{from} to {to}"
            );
        }
        assert!(messages("millrace-core", &json!([{ "name": "bytes", "kind": null }])).is_empty());
    }

    #[test]
    fn an_unknown_crate_and_an_empty_workspace_are_found() {
        assert_eq!(messages("millrace-surprise", &json!([])).len(), 1);
        assert_eq!(check(&json!({})).len(), 1);
    }

    #[test]
    fn the_workspace_itself_can_be_read() {
        let metadata = metadata(&crate::root()).unwrap();
        assert!(
            metadata["packages"]
                .as_array()
                .is_some_and(|packages| packages.len() > 5)
        );
    }
}
