//! `add version`: keeps the types of a kind as they are today as an older version, and gives the kind a new version.
//!
//! | file | holds |
//! | --- | --- |
//! | `parts.rs` | [`Parts`]: the kind and the types of its fields in a source |
//! | `attribute.rs` | changes of `#[resource(..)]` |
//! | `elsewhere.rs` | types of the crate that the copy shares |
//! | `conversions.rs` | `From` between the copies and the types |

mod attribute;
mod conversions;
mod elsewhere;
mod parts;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use parts::Parts;

use super::{
    edit::{self, Edited},
    save, write_new,
};
use crate::{
    arguments::AddVersionOptions,
    error::Error,
    names::{Kind, version},
    package::{self, Package},
};

/// A source with the kind.
struct Found {
    path: PathBuf,
    /// Its byte order mark, if it has one.
    mark: &'static str,
    /// What is behind the mark.
    text: String,
}

pub(crate) fn run(options: &AddVersionOptions) -> Result<(), Error> {
    let kind = Kind::new(&options.kind)?;
    let new = version(&options.version)?;
    let package = package::find(&env::current_dir()?, options.package.as_deref())?;
    let sources = package.folder.join("src");
    let Some(found) = find(&sources, &kind)? else {
        let kind = kind.as_str().to_owned();
        return Err(Error::NoKind { kind, sources });
    };
    let syntax = |source| Error::Syntax {
        path: found.path.clone(),
        source,
    };
    let file = syn::parse_file(&found.text).map_err(syntax)?;
    let refused = |reason: String| Error::Version {
        path: found.path.clone(),
        reason,
    };
    let parts = Parts::of(&file, &kind).map_err(refused)?;
    let old = parts.version().map_err(refused)?;
    if old == new
        || parts
            .served()
            .iter()
            .any(|path| path.contains(&format!("{new}::")))
    {
        return Err(refused(format!(
            "{} has the version {new} already: choose another one",
            kind.as_str()
        )));
    }

    let copied = parts.copied(&found.text);
    let conversions = conversions::between(&parts);
    let module = format!(
        "//! The version {old} of {}, as it was before {new}.\n\nuse super::*;\n\n{copied}\n{}",
        kind.as_str(),
        conversions.text
    );
    let changed = parts.changed(&found.text, &file, &old, &new);
    let mut files = vec![(submodule(&found.path, &old), module)];
    let test = package
        .folder
        .join(format!("tests/{}_versions.rs", kind.module()));
    let has_test = test.exists();
    if let (false, Some((library, root))) = (has_test, &package.library) {
        let place = place(&found.path, root)?;
        files.push((
            test.clone(),
            test_source(&kind, &format!("{library}{place}")),
        ));
    }
    write_new(&package, &files)?;
    let edited = Edited {
        text: found.mark.to_owned() + &changed,
        missing: Vec::new(),
    };
    let before = found.mark.to_owned() + &found.text;
    save(&package, &found.path, &before, edited)?;
    tell(
        &package,
        &kind,
        &found.path,
        (&old, &new),
        has_test.then_some(&test),
    );
    for note in conversions.notes.iter().chain(&parts.notes(&old)) {
        println!("{note}");
    }
    Ok(())
}

/// Says what is left to do.
fn tell(
    package: &Package,
    kind: &Kind,
    source: &Path,
    (old, new): (&str, &str),
    test: Option<&PathBuf>,
) {
    let shown = |path: &Path| super::shown(path, &package.folder);
    let (name, module) = (kind.as_str(), submodule(source, old));
    println!(
        "\n{name} is {new} now, and the API server stores it in this version. It serves {old}, too.\nNext:\n  - change the fields of {name} in {}, and the conversions in {}\n  - run the test: it fails for a field that a conversion forgets. Name what {old} cannot express with `not_in`\n  - write `deprecated = \"use {new}\"` into `#[resource(..)]` of {old} when clients should move",
        shown(source),
        shown(&module)
    );
    if let Some(test) = test {
        println!(
            "  - {} exists and stays as it is: it needs `pilothouse::testing::round_trips::<{name}>().check()`",
            shown(test)
        );
    }
    if !package.has_framework_feature("self-signed") {
        println!(
            "The operator makes the certificates of `/convert` itself with this feature; the build for production needs it, or a folder with certificates: cargo add pilothouse --features self-signed"
        );
    }
}

/// The path from the library to the module with the kind: empty for the library itself, and where the module is not public. Then the
/// library exports the kind, if other programs use it.
fn place(source: &Path, root: &Path) -> Result<String, Error> {
    let folder = root.parent().unwrap_or(Path::new(""));
    let Ok(below) = source.strip_prefix(folder) else {
        return Ok(String::new());
    };
    let mut modules: Vec<String> = below
        .with_extension("")
        .iter()
        .map(|one| one.to_string_lossy().into_owned())
        .collect();
    if modules.last().is_some_and(|last| last == "mod") {
        modules.pop();
    }
    let library = fs::read_to_string(root).map_err(Error::file(root))?;
    match modules.first() {
        Some(first) if source != root && edit::is_public(&library, first) => {
            Ok(format!("::{}", modules.join("::")))
        }
        _ => Ok(String::new()),
    }
}

fn test_source(kind: &Kind, module: &str) -> String {
    let name = kind.as_str();
    format!(
        "#![cfg(feature = \"dev\")]\n\nuse pilothouse::testing;\nuse {module}::{name};\n\n/// Makes objects of each version and converts them to the others and back.\n#[test]\nfn no_conversion_loses_anything() {{\n    testing::round_trips::<{name}>().check().unwrap();\n}}\n"
    )
}

/// The file of a module in this source.
fn submodule(source: &Path, module: &str) -> PathBuf {
    let folder = source.parent().unwrap_or(Path::new(""));
    let stem = source.file_stem().unwrap_or_default();
    let file = format!("{module}.rs");
    match stem.to_str() {
        Some("lib" | "main" | "mod") => folder.join(file),
        _ => folder.join(stem).join(file),
    }
}

/// The source with the kind, in this folder or below it. A kind that another program defines does not count, nor does an older version.
fn find(folder: &Path, kind: &Kind) -> Result<Option<Found>, Error> {
    let entries = fs::read_dir(folder).map_err(Error::file(folder))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    // The file of a module comes before the folder with its older versions.
    paths.sort_by_key(|path| (path.is_dir(), path.clone()));
    for path in paths {
        if path.is_dir() {
            if let Some(found) = find(&path, kind)? {
                return Ok(Some(found));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
            let (mark, text) = edit::behind_mark(&text);
            if parts::has(text, kind) {
                let text = text.to_owned();
                return Ok(Some(Found { path, mark, text }));
            }
        }
    }
    Ok(None)
}
