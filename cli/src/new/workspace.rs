//! The workspace that a new operator becomes a member of.

use std::{
    env, fs,
    path::{Component, Path, PathBuf},
};

use toml_edit::{Array, DocumentMut, Item, Value};

use crate::{
    error::Error,
    manifest::{push, text_of},
};

/// A workspace above a folder.
pub(super) struct Workspace {
    pub(super) manifest: PathBuf,
    text: String,
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
                text,
                document,
                inner,
            }));
        }
        Ok(None)
    }

    /// The manifest with the folder among the members, unless a pattern has it already.
    pub(super) fn with_member(&self) -> Result<String, Error> {
        let mut document = self.document.clone();
        let workspace = &mut document["workspace"];
        if texts(workspace.get("members")).any(|pattern| matches(pattern, &self.inner)) {
            return Ok(self.text.clone());
        }
        let members = workspace.as_table_like_mut().map(|table| {
            let none = Item::Value(Value::Array(Array::new()));
            table.entry("members").or_insert(none)
        });
        let Some(members) = members.and_then(Item::as_array_mut) else {
            return Err(Error::Manifest {
                path: self.manifest.clone(),
                reason: "`workspace.members` is not a list".into(),
            });
        };
        push(members, &self.inner);
        Ok(text_of(&document, &self.text))
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
        Some(workspace.with_member().unwrap())
    }

    #[test]
    fn a_workspace_gets_the_member_that_its_patterns_do_not_have() {
        let lists = "[workspace]\nmembers = [\"one\"] # mine\n";
        let expected = "[workspace]\nmembers = [\"one\", \"a/web\"] # mine\n";
        assert_eq!(joined(lists, "a/web").as_deref(), Some(expected));
        assert_eq!(joined(lists, "one").as_deref(), Some(lists));
        let pattern = "[workspace]\nmembers = [\"a/*\"]\n";
        assert_eq!(joined(pattern, "a/web").as_deref(), Some(pattern));
        let lines = "[workspace]\r\nmembers = [\r\n  \"a\",\r\n  \"b\"\r\n]\r\n";
        let expected = "[workspace]\r\nmembers = [\r\n  \"a\",\r\n  \"b\",\r\n  \"web\"\r\n]\r\n";
        assert_eq!(joined(lines, "web").as_deref(), Some(expected));
        let comma = "[workspace]\nmembers = [\n  \"a\",\n]\n";
        let expected = "[workspace]\nmembers = [\n  \"a\",\n  \"web\",\n]\n";
        assert_eq!(joined(comma, "web").as_deref(), Some(expected));
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
