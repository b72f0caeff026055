use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::inputs::Inputs;

/// How often the sources are looked at. Looking works on every file system, also on those that tell no changes.
const PERIOD: Duration = Duration::from_millis(200);

/// Length and time of a file.
type Stamp = (u64, Option<SystemTime>);

/// Files and the files of folders: everything in the packages from which Cargo may build.
#[derive(Debug)]
pub(super) struct Sources {
    places: Vec<PathBuf>,
    /// Cargo and the API server write here.
    ignored: Vec<PathBuf>,
    seen: BTreeMap<PathBuf, Stamp>,
    /// What the last build has read. `None` if it failed: any file may mend it.
    inputs: Option<Inputs>,
    /// What any build has read.
    read: BTreeSet<PathBuf>,
}

impl Sources {
    pub(super) fn new(places: Vec<PathBuf>, ignored: Vec<PathBuf>) -> Self {
        let mut sources = Self {
            places,
            ignored,
            seen: BTreeMap::new(),
            inputs: None,
            read: BTreeSet::new(),
        };
        sources.seen = sources.now();
        sources
    }

    /// Notes what a build has read that began at this time.
    pub(super) fn built(&mut self, inputs: Option<Inputs>, began: SystemTime) {
        let read = inputs.iter().flat_map(|inputs| &inputs.read);
        self.read.extend(read.cloned());
        self.inputs = inputs;
        for (path, stamp) in self.now() {
            // What was not looked at before may have changed while the compiler ran.
            let is_old = stamp.1.is_some_and(|changed| changed < began);
            if is_old || is_lock(&path) {
                self.seen.entry(path).or_insert(stamp);
            }
        }
    }

    /// Returns when files that count have changed, come or gone since the last call, and nothing changes any more.
    pub(super) async fn changed(&mut self) -> Vec<PathBuf> {
        loop {
            let now = self.now();
            if now == self.seen {
                tokio::time::sleep(PERIOD).await;
                continue;
            }
            // An editor that saves several files is let finish.
            tokio::time::sleep(PERIOD / 4).await;
            if self.now() == now {
                let mut changed = difference(&self.seen, &now);
                self.seen = now;
                if let Some(inputs) = &self.inputs {
                    changed.retain(|path| inputs.has(path));
                }
                if !changed.is_empty() {
                    return changed;
                }
            }
        }
    }

    fn now(&self) -> BTreeMap<PathBuf, Stamp> {
        let mut files = BTreeMap::new();
        for place in self.places.iter().chain(&self.read) {
            if files.contains_key(place) {
                continue;
            }
            // What cannot be read has no files: Cargo says why it cannot build.
            match fs::metadata(place) {
                Ok(metadata) if metadata.is_file() => {
                    _ = files.insert(place.clone(), stamp(&metadata))
                }
                _ => _ = self.collect(place, &mut files),
            }
        }
        files
    }

    fn collect(&self, folder: &Path, files: &mut BTreeMap<PathBuf, Stamp>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            // What editors and version control keep, and what Cargo writes.
            if name.starts_with('.')
                || name.ends_with('~')
                || self.ignored.contains(&path)
                // Another target folder.
                || path.join("CACHEDIR.TAG").exists()
            {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let _ = self.collect(&path, files);
            } else if let Ok(metadata) = fs::metadata(&path) {
                files.insert(path, stamp(&metadata));
            }
        }
        Ok(())
    }
}

fn stamp(metadata: &fs::Metadata) -> Stamp {
    (metadata.len(), metadata.modified().ok())
}

/// Whether Cargo writes the file itself when it is missing.
fn is_lock(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "Cargo.lock")
}

/// The files in which the two differ.
fn difference(before: &BTreeMap<PathBuf, Stamp>, after: &BTreeMap<PathBuf, Stamp>) -> Vec<PathBuf> {
    let changed = after
        .iter()
        .filter(|(path, stamp)| before.get(*path) != Some(stamp));
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    changed.map(|(path, _)| path).chain(gone).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_of_sources_are_seen_and_those_of_others_are_not() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["src", "target", "data", "other", ".git"] {
            fs::create_dir(path(folder)).unwrap();
        }
        fs::write(path("other/CACHEDIR.TAG"), "").unwrap();
        fs::write(path("src/lib.rs"), "a").unwrap();
        let above = tempfile::NamedTempFile::new().unwrap();
        let places = vec![root.path().into(), above.path().into()];
        let mut sources = Sources::new(places, vec![path("target"), path("data")]);
        for ignored in ["target/x", "data/x", "other/x", ".git/x", "src/lib.rs~"] {
            fs::write(path(ignored), "x").unwrap();
        }
        let soon = Duration::from_millis(500);
        assert!(tokio::time::timeout(soon, sources.changed()).await.is_err());
        fs::write(path("src/lib.rs"), "other").unwrap();
        assert_eq!(sources.changed().await, [path("src/lib.rs")]);
        fs::write(above.path(), "changed").unwrap();
        assert_eq!(sources.changed().await, [above.path()]);
        fs::write(path("src/new.sql"), "").unwrap();
        fs::remove_file(path("src/lib.rs")).unwrap();
        let both = [path("src/new.sql"), path("src/lib.rs")];
        assert_eq!(sources.changed().await, both);
    }

    #[tokio::test]
    async fn after_a_good_build_only_what_it_has_read_counts() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["src", "deploy"] {
            fs::create_dir(path(folder)).unwrap();
        }
        fs::write(path("src/lib.rs"), "a").unwrap();
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        let mut sources = Sources::new(vec![root.path().into()], Vec::new());
        let began = SystemTime::now() + Duration::from_secs(60);
        // Cargo writes it during the first build.
        fs::write(path("Cargo.lock"), "").unwrap();
        let mut inputs = Inputs::default();
        inputs.read = [path("src/lib.rs"), elsewhere.path().into()].into();
        sources.built(Some(inputs), began);
        for other in ["crd.yaml", "deploy/roles.yaml", "src/unused.rs"] {
            fs::write(path(other), "x").unwrap();
        }
        let soon = Duration::from_millis(500);
        assert!(tokio::time::timeout(soon, sources.changed()).await.is_err());
        fs::write(elsewhere.path(), "changed").unwrap();
        assert_eq!(sources.changed().await, [elsewhere.path()]);
        fs::write(path("Cargo.lock"), "changed").unwrap();
        assert_eq!(sources.changed().await, [path("Cargo.lock")]);
        // What the compiler has missed may be any file.
        sources.built(None, began);
        fs::write(path("crd.yaml"), "other").unwrap();
        assert_eq!(sources.changed().await, [path("crd.yaml")]);
    }
}
