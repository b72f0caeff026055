//! Builds the smallest operator again after a change of its `reconcile`, as its author does all day.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use super::{
    build,
    machine::{self, Moment},
    peer::{self, Folders, Peer},
    run::{Results, Run},
};

/// The expression in `reconcile` that changes. Each operator has it once.
pub(super) const LINE: &str = "note.spec.text.clone()";

/// The number of changes in a run. Their median counts.
const CHANGES: usize = 3;

/// Builds a copy of the operator in dev, and then again after each change.
pub(super) fn run(peer: &Peer, folders: &Folders) -> Result<Run, Box<dyn Error>> {
    let copy = Copied::new(peer, folders)?;
    peer::run(copy.cargo(folders))?;
    let before = Moment::now(None)?;
    let mut rebuilds = Vec::new();
    for number in 1..=CHANGES {
        copy.change(number)?;
        let (moment, start) = (Moment::now(None)?, Instant::now());
        peer::run(copy.cargo(folders))?;
        let seconds = start.elapsed().as_secs_f64();
        rebuilds.push((seconds, Moment::now(None)?.own_since(&moment)));
    }
    rebuilds.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (seconds, cpu) = rebuilds[CHANGES / 2];
    let results = Results {
        rebuild_seconds: seconds,
        rebuild_cpu: cpu,
        ..Results::default()
    };
    Ok(Run {
        results,
        foreign: Moment::now(None)?.foreign_since(&before, machine::cores()),
        ..Run::default()
    })
}

/// A copy of the sources, because they change.
struct Copied {
    folder: PathBuf,
    /// The text of `main.rs` before the changes.
    text: String,
}

impl Copied {
    fn new(peer: &Peer, folders: &Folders) -> Result<Self, Box<dyn Error>> {
        let from = folders.smallest(peer);
        let folder = folders.peers_target().join("sources").join(peer.folder);
        fs::create_dir_all(folder.join("src"))?;
        let text = fs::read_to_string(from.join("src/main.rs"))?;
        fs::write(folder.join("src/main.rs"), &text)?;
        let profiles = folders
            .repository
            .join("cli/templates/project/profiles.toml");
        let manifest = manifest(
            &fs::read_to_string(from.join("Cargo.toml"))?,
            &folders.repository,
            &fs::read_to_string(profiles)?,
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        if peer.is_ours() {
            folders.lock(&folder)?;
        } else {
            fs::copy(from.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        }
        Ok(Self { folder, text })
    }

    /// Changes the line in `reconcile`, differently for each number.
    fn change(&self, number: usize) -> Result<(), Box<dyn Error>> {
        let text = changed(&self.text, number)?;
        Ok(fs::write(self.folder.join("src/main.rs"), text)?)
    }

    fn cargo(&self, folders: &Folders) -> Command {
        let mut cargo = build::cargo("build", &self.folder);
        cargo.arg("--offline");
        if folders.release {
            let target = folders.peers_target().join("rebuilt");
            cargo.env("CARGO_TARGET_DIR", target);
        } else {
            // A smoke run reuses what the workspace and the peers have built.
            cargo
                .env("CARGO_TARGET_DIR", &folders.target)
                .env("CARGO_PROFILE_DEV_DEBUG", "0")
                .env("CARGO_INCREMENTAL", "0");
        }
        cargo
    }
}

/// Returns the manifest of a copy: with the path of the framework, and with the profile that `cargo pilothouse new` writes.
pub(super) fn manifest(manifest: &str, repository: &Path, profiles: &str) -> String {
    let framework = repository.join("framework").display().to_string();
    let manifest = manifest.replace("../../../framework", &framework);
    let (dev, _) = profiles
        .split_once("[profile.release]")
        .unwrap_or((profiles, ""));
    format!("{manifest}\n{dev}")
}

/// Returns the source with another line in `reconcile`.
pub(super) fn changed(text: &str, number: usize) -> Result<String, String> {
    let found = text.matches(LINE).count();
    if found != 1 {
        return Err(format!(
            "`{LINE}` must occur once, but occurs {found} times"
        ));
    }
    let line = format!("format!(\"{{}} {number}\", note.spec.text)");
    Ok(text.replace(LINE, &line))
}
