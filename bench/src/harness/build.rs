//! The smallest operator, built clean in release as its users build it.

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
    peer::{self, Peer, Place},
    run::{Results, Run},
};

/// What would make one machine's build another than that of the next.
const REMOVED: [&str; 5] = [
    "CARGO_BUILD_JOBS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Gets the sources of what it is made of, so that no download is timed.
pub(super) fn fetch(peer: &Peer, place: &Place) -> Result<(), Box<dyn Error>> {
    let folder = place.smallest(peer);
    if peer.is_ours() {
        place.lock(&folder)?;
    }
    let mut cargo = cargo("fetch", &folder);
    if !peer.is_ours() {
        cargo.arg("--locked");
    }
    peer::run(cargo)
}

/// Builds it in a folder where nothing has been built.
pub(super) fn run(peer: &Peer, place: &Place) -> Result<Run, Box<dyn Error>> {
    let target = place.kept().join("smallest").join(peer.folder);
    clear(&target)?;
    let folder = place.smallest(peer);
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

fn cargo(command: &str, folder: &Path) -> Command {
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

/// What cargo says that it has built.
#[derive(Debug, PartialEq)]
pub(super) struct Built {
    /// Packages of which anything was built, the operator's own among them.
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
    /// From the lines of `--message-format=json`.
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
            program: program.ok_or("it built no program")?,
        })
    }
}
