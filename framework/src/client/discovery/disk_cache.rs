use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    ApiGroup, Discovery,
    documents::{self, Root},
};
use crate::client::decode::decode_plain;

/// A folder in which [`RestMapper`](super::RestMapper)s keep what servers serve, as kubectl does. So a program that runs
/// for a moment only, such as a command-line tool, needs no request for it.
///
/// * There is one file for each server. All processes of the user share it, whatever credentials they use.
/// * A file counts until its [lifetime](Self::lifetime) is over. A name that it does not have leads to a request, and
///   the file is replaced.
/// * A file is replaced as a whole, so that no process reads half of one. Only the user can read and write folder and
///   file.
/// * A file that is corrupt, that belongs to another user, that others can write, or that was written for another server
///   is ignored. A folder that cannot be written is no error either.
///
/// What a server serves is no secret, but kinds that are installed tell what a cluster is used for.
#[derive(Clone, Debug)]
pub struct DiscoveryCache {
    folder: PathBuf,
    lifetime: Duration,
}

/// The content of a file.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    format: String,
    server: String,
    /// Seconds since 1970.
    read_at: u64,
    /// The document of aggregated discovery.
    served: Value,
}

const FORMAT: &str = "pilothouse/discovery/1";
/// A longer file is ignored.
const MAX_LENGTH: u64 = 64 * 1024 * 1024;
/// The names of servers are cut after this many characters.
const MAX_NAME: usize = 80;

impl DiscoveryCache {
    /// Keeps files in `folder`, which is created when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            lifetime: Duration::from_secs(600),
        }
    }

    /// How long a file counts after the server was read. The default is 10 minutes; kubectl has 6 hours. It holds for the
    /// memory of the mapper, too: see [how old an answer can be](super::RestMapper#how-old-an-answer-can-be).
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    pub(super) fn time(&self) -> Duration {
        self.lifetime
    }

    /// What is known of `server`, and how old it is.
    pub(super) fn load(&self, server: &str, now: SystemTime) -> Option<(Discovery, Duration)> {
        let content = read(&self.file(server)?).ok()?;
        let content: Content = decode_plain(&content).ok()?;
        if content.format != FORMAT || content.server != server {
            return None;
        }
        let read_at = UNIX_EPOCH.checked_add(Duration::from_secs(content.read_at))?;
        // A file from the future would count for any time.
        let age = now.duration_since(read_at).ok()?;
        let served = serde_json::to_vec(&content.served).ok()?;
        match documents::root(&served).ok()? {
            Root::Aggregated(groups) if age < self.lifetime && !groups.is_empty() => {
                Some((Discovery { groups }, age))
            }
            _ => None,
        }
    }

    /// Keeps what `server` served at `read_at`. Versions that could not be read are left out, so that a question for
    /// them leads to a request. Without the core group nothing is kept.
    ///
    /// # Errors
    /// The file could not be written.
    pub(super) fn store(
        &self,
        server: &str,
        discovery: &Discovery,
        read_at: SystemTime,
    ) -> io::Result<()> {
        let is_sound = discovery
            .failures()
            .all(|failure| !failure.group.is_empty());
        let Some(file) = self.file(server).filter(|_| is_sound) else {
            return Ok(());
        };
        let read_at = read_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let content = serde_json::to_vec(&Content {
            format: FORMAT.to_owned(),
            server: server.to_owned(),
            read_at: read_at.as_secs(),
            served: document(discovery),
        })?;
        let mut folders = DirBuilder::new();
        folders.recursive(true);
        #[cfg(unix)]
        folders.mode(0o700);
        folders.create(&self.folder)?;
        replace(&file, &content)
    }

    /// The file of a server. `None` for a client that has no address.
    fn file(&self, server: &str) -> Option<PathBuf> {
        let address = server.split_once("://")?.1;
        let letter = |letter: char| match letter {
            letter if letter.is_ascii_alphanumeric() || ".-".contains(letter) => letter,
            _ => '_',
        };
        let name: String = address.chars().map(letter).take(MAX_NAME).collect();
        // Two servers may have the same name up to here (FNV-1a).
        let hash = server
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
        Some(self.folder.join(format!("{name}-{hash:016x}.json")))
    }
}

/// Reads a file that only this user can have written.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    #[cfg(unix)]
    {
        const WRITTEN_BY_OTHERS: u32 = 0o022;
        let is_own = found.uid() == rustix::process::geteuid().as_raw();
        if !is_own || found.mode() & WRITTEN_BY_OTHERS != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    if !found.is_file() || found.len() > MAX_LENGTH {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut content = Vec::new();
    file.take(MAX_LENGTH).read_to_end(&mut content)?;
    Ok(content)
}

/// Replaces a file in one step. Another process reads the old content or the new one.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    // A process with the same number may have left its file behind.
    let _ = fs::remove_file(&new);
    let written = options
        .open(&new)
        .and_then(|mut file| file.write_all(content));
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// The document of aggregated discovery that says what `discovery` knows.
fn document(discovery: &Discovery) -> Value {
    let versions = |group: &ApiGroup| -> Vec<Value> {
        let readable = group
            .versions
            .iter()
            .filter(|version| version.problem.is_none());
        let version = |version: &super::ApiVersion| {
            let kinds: Vec<_> = version.kinds.iter().map(|kind| resource(kind)).collect();
            json!({"version": version.name, "freshness": "Current", "resources": kinds})
        };
        readable.map(version).collect()
    };
    let groups = discovery.groups.iter();
    let groups: Vec<_> = groups
        .map(|group| json!({"metadata": {"name": group.name}, "versions": versions(group)}))
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": groups})
}

fn resource(kind: &super::ServedKind) -> Value {
    let types = |api_version: &str, kind: &str| {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        json!({"group": group, "version": version, "kind": kind})
    };
    let subresource = |sub: &super::ServedSubresource| {
        json!({
            "subresource": sub.name,
            "responseKind": types(&sub.api_version, &sub.kind),
            "verbs": sub.verbs,
        })
    };
    let subresources: Vec<_> = kind.subresources.iter().map(subresource).collect();
    json!({
        "resource": kind.resource.plural,
        "responseKind": types(&kind.resource.api_version(), &kind.resource.kind),
        "scope": if kind.resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular,
        "verbs": kind.verbs,
        "shortNames": kind.short_names,
        "categories": kind.categories,
        "subresources": subresources,
    })
}
