use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

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
}

impl Sources {
    pub(super) fn new(places: Vec<PathBuf>, ignored: Vec<PathBuf>) -> Self {
        let mut sources = Self {
            places,
            ignored,
            seen: BTreeMap::new(),
        };
        sources.seen = sources.now();
        sources
    }

    /// Returns when a file has changed, come or gone since the last call, and nothing changes any more.
    pub(super) async fn changed(&mut self) -> PathBuf {
        loop {
            let now = self.now();
            if now == self.seen {
                tokio::time::sleep(PERIOD).await;
                continue;
            }
            // An editor that saves several files is let finish.
            tokio::time::sleep(PERIOD / 4).await;
            if self.now() == now {
                let changed = difference(&self.seen, &now);
                self.seen = now;
                return changed.unwrap_or_default();
            }
        }
    }

    fn now(&self) -> BTreeMap<PathBuf, Stamp> {
        let mut files = BTreeMap::new();
        for place in &self.places {
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
                || name == "Cargo.lock"
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

/// The first file in which the two differ.
fn difference(
    before: &BTreeMap<PathBuf, Stamp>,
    after: &BTreeMap<PathBuf, Stamp>,
) -> Option<PathBuf> {
    let changed = after
        .iter()
        .find(|(path, stamp)| before.get(*path) != Some(stamp));
    let gone = || before.keys().find(|path| !after.contains_key(*path));
    changed.map(|(path, _)| path).or_else(gone).cloned()
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
        for ignored in [
            "target/x",
            "data/x",
            "other/x",
            ".git/x",
            "src/lib.rs~",
            "Cargo.lock",
        ] {
            fs::write(path(ignored), "x").unwrap();
        }
        let soon = Duration::from_millis(500);
        assert!(tokio::time::timeout(soon, sources.changed()).await.is_err());
        fs::write(path("src/lib.rs"), "other").unwrap();
        assert_eq!(sources.changed().await, path("src/lib.rs"));
        fs::write(above.path(), "changed").unwrap();
        assert_eq!(sources.changed().await, above.path());
        fs::write(path("src/new.sql"), "").unwrap();
        assert_eq!(sources.changed().await, path("src/new.sql"));
        fs::remove_file(path("src/lib.rs")).unwrap();
        assert_eq!(sources.changed().await, path("src/lib.rs"));
    }
}
