//! Which versions the peers are made of, as their lock files have it.

use std::{fs, path::PathBuf};

use super::peer::{Peer, Place};

/// What is named of those in Rust; Pilothouse does without kube.
const CRATES: [&str; 5] = ["kube", "k8s-openapi", "hyper", "tokio", "tikv-jemallocator"];
const MODULES: [&str; 2] = ["k8s.io/client-go", "sigs.k8s.io/controller-runtime"];

/// A file that says what one or several peers are built with.
pub(super) struct Lock {
    /// Whose it is.
    pub(super) who: String,
    pub(super) file: PathBuf,
    /// What is named of it.
    pub(super) names: &'static [&'static str],
    /// The versions of one of them in its text.
    pub(super) versions: for<'a> fn(&'a str, &str) -> Vec<&'a str>,
}

impl Lock {
    /// That of a peer, which is there when the peer has been built.
    pub(super) fn new(peer: &Peer, place: &Place) -> Self {
        if peer.is_go() {
            return Self {
                who: "Go".to_owned(),
                file: place.peers().join("go/go.mod"),
                names: &MODULES,
                versions: modules,
            };
        }
        Self {
            who: peer.folder.to_owned(),
            file: place.peers().join(peer.folder).join("Cargo.lock"),
            names: if peer.is_ours() {
                &CRATES[1..]
            } else {
                &CRATES
            },
            versions: crates,
        }
    }

    /// That of the smallest operator on a peer in Rust, which has no allocator of its own.
    pub(super) fn of_smallest(peer: &Peer, place: &Place) -> Self {
        let usual = Self::new(peer, place);
        let names = usual
            .names
            .split_last()
            .map_or(usual.names, |(_, names)| names);
        Self {
            who: format!("smallest operator on {}", peer.folder),
            file: place.smallest(peer).join("Cargo.lock"),
            names,
            versions: crates,
        }
    }

    /// The versions in its text, with their names.
    ///
    /// # Errors
    /// One of them is not in there.
    pub(super) fn named(&self, text: &str) -> Result<String, String> {
        let named = self.names.iter().map(|name| {
            let versions = (self.versions)(text, name);
            if versions.is_empty() {
                return Err(format!(
                    "{}: there is no version of {name}",
                    self.file.display()
                ));
            }
            Ok(format!("{name} {}", versions.join(" and ")))
        });
        let named: Result<Vec<_>, _> = named.collect();
        named.map(|named| named.join(", "))
    }

    fn read(&self) -> Result<String, String> {
        let text = fs::read_to_string(&self.file);
        let text = text.map_err(|error| format!("{}: {error}", self.file.display()))?;
        Ok(format!("{}: {}", self.who, self.named(&text)?))
    }
}

/// What all these files say, each told once.
pub(super) fn of(locks: impl IntoIterator<Item = Lock>) -> Result<String, String> {
    let mut each: Vec<Lock> = Vec::new();
    for lock in locks {
        if each.iter().all(|known| known.file != lock.file) {
            each.push(lock);
        }
    }
    let read: Result<Vec<_>, _> = each.iter().map(Lock::read).collect();
    read.map(|read| read.join("; "))
}

/// Of a crate, in a `Cargo.lock`: there a package's version is the line after its name.
fn crates<'a>(lock: &'a str, name: &str) -> Vec<&'a str> {
    let after = lock.lines().skip(1);
    let pairs = lock.lines().zip(after);
    pairs
        .filter(|(line, _)| value(line, "name") == Some(name))
        .filter_map(|(_, line)| value(line, "version"))
        .collect()
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let quoted = line.strip_prefix(key)?.strip_prefix(" = \"")?;
    quoted.strip_suffix('"')
}

/// Of a module, in a `go.mod`: it requires one version.
fn modules<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let required = text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("require ").unwrap_or(line);
        line.strip_prefix(name)?.strip_prefix(' ')
    });
    let versions = required.filter_map(|rest| rest.split(' ').next());
    versions
        .filter(|version| version.starts_with('v'))
        .collect()
}
