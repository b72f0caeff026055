//! Passes the versions of the compiler and of the Kubernetes types to the crate, for the metric `pilothouse_build_info`.

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
    let output = Command::new(env::var_os("RUSTC")?)
        .arg("--version")
        .output()
        .ok()?;
    let output = String::from_utf8(output.stdout).ok()?;
    output.split(' ').nth(1).map(str::to_owned)
}

/// The version of the Kubernetes types: `1.36`. It comes from k8s-openapi's build script, in a variable whose name contains
/// the version of k8s-openapi.
fn kubernetes() -> Option<String> {
    let mut variables = env::vars().filter(|(name, _)| name.starts_with("DEP_K8S_OPENAPI_"));
    let (_, version) = variables.find(|(name, _)| name.ends_with("_VERSION"))?;
    let version: u32 = version.parse().ok()?;
    Some(format!("{}.{}", version >> 16, (version >> 8) & 0xff))
}
