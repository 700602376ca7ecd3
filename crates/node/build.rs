//! Link settings for a Node-API addon.

fn main() {
    // On windows-gnu the set-up looks for libnode.dll; the addon finds the symbols at run time instead.
    let target = std::env::var("TARGET").unwrap_or_default();
    if !target.ends_with("windows-gnu") && !target.ends_with("windows-gnullvm") {
        napi_build::setup();
    }
}
