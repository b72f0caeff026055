//! `add version`: keeps the types of a kind as they are today as an older version, and gives the kind a new version.
//!
//! | file | holds |
//! | --- | --- |
//! | `parts.rs` | [`Parts`]: the kind and the types of its fields in a source |
//! | `attribute.rs` | changes of `#[resource(..)]` |
//! | `conversions.rs` | `From` between the copies and the types |

mod attribute;
mod conversions;
mod parts;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use parts::Parts;

use super::{edit::Edited, save, write_new};
use crate::{
    arguments::AddVersionOptions,
    error::Error,
    names::{Kind, version},
    package::{self, Package},
};

/// A source with the kind.
struct Found {
    path: PathBuf,
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
    if let (false, Some((library, _))) = (has_test, &package.library) {
        files.push((test.clone(), test_source(&kind, library)));
    }
    write_new(&package, &files)?;
    let edited = Edited {
        text: changed,
        missing: Vec::new(),
    };
    save(&package, &found.path, &found.text, edited)?;
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
            "The operator makes the certificates of `/convert` itself with this feature: cargo add pilothouse --features self-signed"
        );
    }
}

fn test_source(kind: &Kind, library: &str) -> String {
    let name = kind.as_str();
    format!(
        "#![cfg(feature = \"dev\")]\n\nuse pilothouse::testing;\nuse {library}::{name};\n\n/// Makes objects of each version and converts them to the others and back.\n#[test]\nfn no_conversion_loses_anything() {{\n    testing::round_trips::<{name}>().check().unwrap();\n}}\n"
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
            if parts::has(&text, kind) {
                return Ok(Some(Found { path, text }));
            }
        }
    }
    Ok(None)
}
