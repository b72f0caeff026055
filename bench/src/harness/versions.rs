//! The versions of the peers' dependencies, from their lock files.

use std::{fs, path::PathBuf};

use super::peer::{Folders, Peer};

/// The crates whose versions the report names: those of the smallest operators, and then those of the peers.
const OPERATOR_CRATES: [&str; 3] = ["k8s-openapi", "hyper", "tokio"];
const OUR_CRATES: [&str; 5] = [
    "k8s-openapi",
    "hyper",
    "tokio",
    "tikv-jemallocator",
    "mimalloc",
];
const KUBE_OPERATOR_CRATES: [&str; 4] = ["kube", "k8s-openapi", "hyper", "tokio"];
const KUBE_CRATES: [&str; 5] = ["kube", "k8s-openapi", "hyper", "tokio", "tikv-jemallocator"];
const MODULES: [&str; 2] = ["k8s.io/client-go", "sigs.k8s.io/controller-runtime"];

/// A lock file of one or several peers.
pub(super) struct Lock {
    /// The name of its owner in the report.
    pub(super) who: String,
    pub(super) file: PathBuf,
    /// The dependencies that the report names.
    pub(super) names: &'static [&'static str],
    /// Returns the versions of a dependency in the text of the file.
    pub(super) versions: for<'a> fn(&'a str, &str) -> Vec<&'a str>,
}

impl Lock {
    /// Returns the lock file of a peer. It exists after the peer has been built.
    pub(super) fn new(peer: &Peer, folders: &Folders) -> Self {
        if peer.is_go() {
            return Self {
                who: "Go".to_owned(),
                file: folders.peers().join("go/go.mod"),
                names: &MODULES,
                versions: modules,
            };
        }
        Self {
            who: peer.folder.to_owned(),
            file: folders.peers().join(peer.folder).join("Cargo.lock"),
            names: match peer.is_ours() {
                true => &OUR_CRATES,
                false => &KUBE_CRATES,
            },
            versions: crates,
        }
    }

    /// Returns the lock file of the smallest operator of a Rust peer, which uses no other allocator.
    pub(super) fn of_smallest(peer: &Peer, folders: &Folders) -> Self {
        let names: &[&str] = match peer.is_ours() {
            true => &OPERATOR_CRATES,
            false => &KUBE_OPERATOR_CRATES,
        };
        Self {
            who: format!("smallest operator on {}", peer.folder),
            file: folders.smallest(peer).join("Cargo.lock"),
            names,
            versions: crates,
        }
    }

    /// Returns the names and versions of the dependencies in its text.
    ///
    /// # Errors
    /// The text lacks one of them.
    pub(super) fn named(&self, text: &str) -> Result<String, String> {
        let named = self.names.iter().map(|name| {
            let versions = (self.versions)(text, name);
            if versions.is_empty() {
                return Err(format!(
                    "{}: the file has no version of {name}",
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

/// Returns the versions in all these files; a file that occurs twice counts once.
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

/// Returns the versions of a crate in a `Cargo.lock`, where the version of a package follows its name on the next line.
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

/// Returns the version of a module in a `go.mod`, which requires exactly one.
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
