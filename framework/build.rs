//! Tells the crate what it is built by and for, for the metric `pilothouse_build_info`.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let unknown = || "unknown".to_owned();
    let rustc = rustc().unwrap_or_else(unknown);
    println!("cargo::rustc-env=PILOTHOUSE_RUSTC={rustc}");
    let kubernetes = kubernetes().unwrap_or_else(unknown);
    println!("cargo::rustc-env=PILOTHOUSE_KUBERNETES={kubernetes}");
}

/// The compiler's version: `1.95.0`.
fn rustc() -> Option<String> {
    let said = Command::new(env::var_os("RUSTC")?)
        .arg("--version")
        .output()
        .ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    said.split(' ').nth(1).map(str::to_owned)
}

/// The version of Kubernetes whose types are built in, as k8s-openapi tells it: `1.36`. The name of its variable
/// contains its own version.
fn kubernetes() -> Option<String> {
    let mut told = env::vars().filter(|(name, _)| name.starts_with("DEP_K8S_OPENAPI_"));
    let (_, version) = told.find(|(name, _)| name.ends_with("_VERSION"))?;
    let version: u32 = version.parse().ok()?;
    Some(format!("{}.{}", version >> 16, (version >> 8) & 0xff))
}
