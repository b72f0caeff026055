//! Where the sources of an operator declare a kind.

use std::{
    fs,
    path::{Path, PathBuf},
};

use syn::{Item, Visibility};

use super::{edit, version::ResourceAttribute};
use crate::{error::Error, names::Kind};

/// A struct with `#[resource(..)]` of a kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Declared {
    pub(super) file: PathBuf,
    /// The modules in the file around the struct.
    pub(super) inner: Vec<String>,
    pub(super) group: String,
    /// Whether another program defines the kind, or the type is a view.
    pub(super) is_foreign: bool,
    /// Whether the type serves older versions.
    serves: bool,
    /// Whether each module around it in its file is public.
    is_public: bool,
}

impl Declared {
    /// The modules from the library to the struct.
    pub(super) fn modules(&self, root: &Path) -> Vec<String> {
        let mut modules = file_modules(&self.file, root);
        modules.extend(self.inner.iter().cloned());
        modules
    }

    /// Whether other crates can name the struct by its modules. `library` is the source of the library.
    pub(super) fn is_reachable(&self, root: &Path, library: &str) -> bool {
        let modules = file_modules(&self.file, root);
        let is_public = match modules.as_slice() {
            [] => true,
            [one] => edit::is_public(library, one),
            // What stands in the files between is not read.
            _ => false,
        };
        is_public && self.is_public
    }
}

/// The modules from the library to a file.
pub(super) fn file_modules(file: &Path, root: &Path) -> Vec<String> {
    let folder = root.parent().unwrap_or(Path::new(""));
    if file == root {
        return Vec::new();
    }
    let below = file.strip_prefix(folder).unwrap_or(file);
    let mut modules: Vec<String> = below
        .with_extension("")
        .iter()
        .map(|one| one.to_string_lossy().into_owned())
        .collect();
    if modules.last().is_some_and(|last| last == "mod") {
        modules.pop();
    }
    modules
}

/// The name of a kind, and the modules that the user writes before it.
pub(super) fn split(name: &str) -> (Vec<String>, &str) {
    let mut parts: Vec<&str> = name.split("::").collect();
    let kind = parts.pop().unwrap_or_default();
    let modules = parts.into_iter().filter(|part| *part != "crate");
    (modules.map(str::to_owned).collect(), kind)
}

/// The declaration of a kind in the sources. Among several it is the one that serves the others, or the only one of this program. `modules` are those that the user names.
///
/// # Errors
/// The sources have no such declaration, or more than one.
pub(super) fn find(
    sources: &Path,
    root: &Path,
    modules: &[String],
    kind: &Kind,
) -> Result<Declared, Error> {
    let mut found = Vec::new();
    in_folder(sources, kind, &mut found)?;
    found.retain(|one| one.modules(root).ends_with(modules));
    let only = |is: fn(&Declared) -> bool| {
        let mut all = found.iter().filter(|one| is(one));
        all.next().filter(|_| all.next().is_none())
    };
    let one = only(|_| true).or_else(|| only(|one| one.serves));
    let one = one.or_else(|| only(|one| !one.is_foreign));
    match (one, found.as_slice()) {
        (Some(one), _) => Ok(one.clone()),
        (None, []) => Err(Error::NoKind {
            kind: [modules, &[kind.as_str().to_owned()]].concat().join("::"),
            sources: sources.into(),
        }),
        (None, several) => Err(Error::SeveralKinds {
            kind: kind.as_str().to_owned(),
            paths: several
                .iter()
                .map(|one| [one.modules(root), vec![kind.as_str().to_owned()]].concat())
                .map(|path| path.join("::"))
                .collect(),
        }),
    }
}

fn in_folder(folder: &Path, kind: &Kind, found: &mut Vec<Declared>) -> Result<(), Error> {
    let entries = fs::read_dir(folder).map_err(Error::file(folder))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            in_folder(&path, kind, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
            let (_, text) = edit::behind_mark(&text);
            // A file that is no Rust has no kind; the one that is changed is read again.
            if let Ok(file) = syn::parse_file(text) {
                in_items(&path, &file.items, &mut Vec::new(), true, kind, found);
            }
        }
    }
    Ok(())
}

fn in_items(
    file: &Path,
    items: &[Item],
    inner: &mut Vec<String>,
    is_public: bool,
    kind: &Kind,
    found: &mut Vec<Declared>,
) {
    let public = |visibility: &Visibility| matches!(visibility, Visibility::Public(_));
    for item in items {
        match item {
            Item::Mod(one) => {
                let Some((_, items)) = &one.content else {
                    continue;
                };
                inner.push(one.ident.to_string());
                let is_public = is_public && public(&one.vis);
                in_items(file, items, inner, is_public, kind, found);
                inner.pop();
            }
            Item::Struct(one) if one.ident == kind.as_str() => {
                let Some(attribute) = ResourceAttribute::of(&one.attrs) else {
                    continue;
                };
                found.push(Declared {
                    file: file.to_owned(),
                    inner: inner.clone(),
                    group: attribute.text("group").unwrap_or_default().to_owned(),
                    is_foreign: attribute.is_of_another(),
                    serves: !attribute.served().is_empty(),
                    is_public: is_public && public(&one.vis),
                });
            }
            _ => {}
        }
    }
}
