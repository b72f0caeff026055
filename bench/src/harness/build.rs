//! Builds the smallest operator from scratch in release mode, as its users build it.

use std::{
    collections::HashSet,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use serde::Deserialize;

use super::{
    machine::{self, Moment},
    peer::{self, Folders, Peer},
    run::{Results, Run},
};

/// Environment variables that would make the build differ between machines.
const REMOVED: [&str; 5] = [
    "CARGO_BUILD_JOBS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Downloads the sources of its dependencies, so that the measured time contains no download.
pub(super) fn fetch(peer: &Peer, folders: &Folders) -> Result<(), Box<dyn Error>> {
    let folder = folders.smallest(peer);
    if peer.is_ours() {
        folders.lock(&folder)?;
    }
    let mut cargo = cargo("fetch", &folder);
    if !peer.is_ours() {
        cargo.arg("--locked");
    }
    peer::run(cargo)
}

/// Builds it in an empty target folder.
pub(super) fn run(peer: &Peer, folders: &Folders) -> Result<Run, Box<dyn Error>> {
    let target = folders.peers_target().join("smallest").join(peer.folder);
    clear(&target)?;
    let folder = folders.smallest(peer);
    let mut cargo = cargo("build", &folder);
    cargo
        .args(["--release", "--offline", "--message-format=json"])
        .env("CARGO_TARGET_DIR", &target)
        .stderr(Stdio::inherit());
    let (before, start) = (Moment::now(None)?, Instant::now());
    let output = cargo.output()?;
    let (after, seconds) = (Moment::now(None)?, start.elapsed().as_secs_f64());
    if !output.status.success() {
        return Err(format!("{cargo:?} in {}: {}", folder.display(), output.status).into());
    }
    let built = Built::read(&output.stdout)
        .map_err(|error| format!("{cargo:?} in {}: {error}", folder.display()))?;
    let results = Results {
        build_seconds: seconds,
        build_cpu: after.own_since(&before),
        crates: built.crates,
        binary: fs::metadata(&built.program)?.len(),
        ..Results::default()
    };
    clear(&target)?;
    Ok(Run {
        results,
        foreign: after.foreign_since(&before, machine::cores()),
        ..Run::default()
    })
}

/// Returns a call of cargo without what the environment says about builds.
pub(super) fn cargo(command: &str, folder: &Path) -> Command {
    let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    cargo.args([command, "--quiet"]).current_dir(folder);
    for name in REMOVED {
        cargo.env_remove(name);
    }
    cargo
}

fn clear(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The build results that cargo reports.
#[derive(Debug, PartialEq)]
pub(super) struct Built {
    /// The number of packages that were built at least in part, including the operator's own.
    pub(super) crates: u64,
    pub(super) program: PathBuf,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    package_id: String,
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

impl Built {
    /// Reads the lines of `--message-format=json`.
    pub(super) fn read(lines: &[u8]) -> Result<Self, String> {
        let (mut packages, mut program) = (HashSet::new(), None);
        for line in lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let message: Message = serde_json::from_slice(line)
                .map_err(|error| format!("{}: {error}", String::from_utf8_lossy(line)))?;
            if message.reason != "compiler-artifact" {
                continue;
            }
            let is_bin = |target: Target| target.kind.iter().any(|kind| kind == "bin");
            if message.target.is_some_and(is_bin) {
                program = message.executable;
            }
            packages.insert(message.package_id);
        }
        Ok(Self {
            crates: packages.len() as u64,
            program: program.ok_or("cargo built no program")?,
        })
    }
}
