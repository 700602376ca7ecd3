//! Link settings for a Node-API addon.

fn main() {
    // On windows-gnu, napi-build would look for libnode.dll. The addon resolves the symbols at run time
    // instead.
    let target = std::env::var("TARGET").unwrap_or_default();
    if !target.ends_with("windows-gnu") && !target.ends_with("windows-gnullvm") {
        napi_build::setup();
    }
    // If only a worker thread has loaded the addon, the runtime unloads it when that thread ends. The I/O
    // threads still run its code, so it must stay loaded.
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if matches!(os.as_str(), "linux" | "freebsd") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    // Functions that were compiled to the same code become one. The linker that Rust uses by itself for this target can do it.
    if target == "x86_64-unknown-linux-gnu" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}
