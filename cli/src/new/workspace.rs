//! The workspace that a new operator becomes a member of.

use std::{
    env, fs,
    path::{Component, Path, PathBuf},
};

use toml_edit::{Array, DocumentMut, Item, Value};

use crate::error::Error;

/// A workspace above a folder.
pub(super) struct Workspace {
    pub(super) manifest: PathBuf,
    document: DocumentMut,
    /// The path of the folder in the workspace. Cargo's manifests have slashes on each system.
    inner: String,
}

impl Workspace {
    /// The workspace that a new folder would be in, unless it excludes the folder.
    pub(super) fn above(folder: &Path) -> Result<Option<Self>, Error> {
        let folder = without_dots(&env::current_dir()?.join(folder));
        for above in folder.ancestors().skip(1) {
            let manifest = above.join("Cargo.toml");
            let Ok(text) = fs::read_to_string(&manifest) else {
                continue;
            };
            let document = text.parse::<DocumentMut>();
            let document = document.map_err(|error| Error::Manifest {
                path: manifest.clone(),
                reason: error.to_string(),
            })?;
            let Some(workspace) = document.get("workspace") else {
                continue;
            };
            let inner = folder.strip_prefix(above).unwrap_or(&folder);
            let inner: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
            let inner = inner.join("/");
            let is_excluded = texts(workspace.get("exclude")).any(|excluded| {
                let rest = inner.strip_prefix(excluded.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            return Ok((!is_excluded).then_some(Self {
                manifest,
                document,
                inner,
            }));
        }
        Ok(None)
    }

    /// Adds the folder to the members, unless a pattern has it already.
    pub(super) fn join(mut self) -> Result<(), Error> {
        let workspace = &mut self.document["workspace"];
        if texts(workspace.get("members")).any(|pattern| matches(pattern, &self.inner)) {
            return Ok(());
        }
        let members = workspace.as_table_like_mut().map(|table| {
            let none = Item::Value(Value::Array(Array::new()));
            table.entry("members").or_insert(none)
        });
        let Some(members) = members.and_then(Item::as_array_mut) else {
            return Err(Error::Manifest {
                path: self.manifest,
                reason: "`workspace.members` is no list".into(),
            });
        };
        members.push(self.inner);
        fs::write(&self.manifest, self.document.to_string()).map_err(Error::file(self.manifest))
    }
}

/// The path without `.` and `..`. The folder may not exist yet, so the file system cannot tell it.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

/// The texts of a list.
fn texts(list: Option<&Item>) -> impl Iterator<Item = &str> {
    let list = list.and_then(Item::as_array).into_iter().flatten();
    list.filter_map(Value::as_str)
}

/// Whether a pattern of Cargo, in which `*` stands for the name of a folder, has this path.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, path) = (pattern.trim_end_matches('/').split('/'), path.split('/'));
    pattern.clone().count() == path.clone().count()
        && pattern
            .zip(path)
            .all(|(pattern, part)| pattern == "*" || pattern == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manifest after the folder has joined the workspace, if it has.
    fn joined(manifest: &str, folder: &str) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("Cargo.toml");
        fs::write(&path, manifest).unwrap();
        let workspace = Workspace::above(&root.path().join(folder)).unwrap()?;
        workspace.join().unwrap();
        Some(fs::read_to_string(path).unwrap())
    }

    #[test]
    fn a_workspace_gets_the_member_that_its_patterns_do_not_have() {
        let lists = "[workspace]\nmembers = [\"one\"] # mine\n";
        let expected = "[workspace]\nmembers = [\"one\", \"a/web\"] # mine\n";
        assert_eq!(joined(lists, "a/web").as_deref(), Some(expected));
        assert_eq!(joined(lists, "one").as_deref(), Some(lists));
        let pattern = "[workspace]\nmembers = [\"a/*\"]\n";
        assert_eq!(joined(pattern, "a/web").as_deref(), Some(pattern));
        let empty = "[workspace]\n";
        assert_eq!(
            joined(empty, "web").as_deref(),
            Some("[workspace]\nmembers = [\"web\"]\n")
        );
    }

    #[test]
    fn a_folder_that_is_excluded_joins_nothing() {
        let manifest = "[workspace]\nexclude = [\"other/\"]\n";
        for folder in ["other", "other/web"] {
            assert_eq!(joined(manifest, folder), None);
        }
        assert!(joined(manifest, "others").is_some());
    }

    #[test]
    fn a_folder_beside_the_workspace_joins_nothing() {
        let manifest = "[workspace]\nmembers = [\"one\"]\n";
        assert_eq!(joined(manifest, "../web"), None);
        let inside = joined(manifest, "one/../web");
        let expected = "[workspace]\nmembers = [\"one\", \"web\"]\n";
        assert_eq!(inside.as_deref(), Some(expected));
    }
}
