//! `add version`: keeps the types of a kind as they are today as an older version, and gives the kind a new version.
//!
//! | file | holds |
//! | --- | --- |
//! | `parts.rs` | [`Parts`]: the kind and the types of its fields in a source |
//! | `attribute.rs` | changes of `#[resource(..)]` |
//! | `examples.rs` | the examples, which follow the kind |
//! | `elsewhere.rs` | types of the crate that the copy shares |
//! | `conversions.rs` | `From` between the copies and the types |

mod attribute;
mod conversions;
mod elsewhere;
mod examples;
mod parts;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

pub(super) use attribute::ResourceAttribute;
use examples::Step;
use parts::Parts;

use super::{
    SELF_SIGNED,
    declared::{self, Declared},
    edit::{self, Edited},
    save, write_new,
};
use crate::{
    arguments::AddVersionOptions,
    error::Error,
    manifest,
    names::{Kind, age, version},
    package,
    terminal::{say, shown},
};

/// A source with the kind.
struct Found {
    path: PathBuf,
    /// Its byte order mark, if it has one.
    mark: &'static str,
    /// What is behind the mark.
    text: String,
}

impl Found {
    /// # Errors
    /// The kind cannot get a version here, or the file cannot be read.
    fn read(declared: &Declared, kind: &Kind) -> Result<Self, Error> {
        let path = declared.file.clone();
        let refused = |reason: String| Error::Version {
            path: path.clone(),
            reason,
        };
        if declared.is_foreign {
            return Err(refused(format!(
                "{} is a kind of another program, or a view of one, so it gets its versions there: import the new definition with `cargo pilothouse import`",
                kind.as_str()
            )));
        }
        if let Some(module) = declared.inner.last() {
            return Err(refused(format!(
                "{} stands in the module `{module}` of this file: move the module into a file of its own, and run the command again",
                kind.as_str()
            )));
        }
        let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let (mark, text) = edit::behind_mark(&text);
        let text = text.to_owned();
        Ok(Self { path, mark, text })
    }
}

pub(crate) fn run(options: &AddVersionOptions) -> Result<(), Error> {
    let (modules, name) = declared::split(&options.kind);
    let kind = Kind::new(name)?;
    let new = version(&options.version)?;
    let package = package::find(&env::current_dir()?, options.package.as_deref())?;
    let sources = package.folder.join("src");
    let library = package.library.as_ref().map(|(_, root)| root.clone());
    let root = library.unwrap_or_else(|| sources.join("lib.rs"));
    let declared = declared::find(&sources, &root, &modules, &kind)?;
    let found = Found::read(&declared, &kind)?;
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
    let served = parts.served().iter().flat_map(|path| path.split("::"));
    let present: Vec<&str> = [&*old].into_iter().chain(served).collect();
    if present.contains(&&*new) {
        return Err(refused(format!(
            "{} has the version {new} already: choose another one",
            kind.as_str()
        )));
    }
    let newer = present.iter().find(|one| age(one) > age(&new));
    if let Some(newer) = newer {
        return Err(refused(format!(
            "{new} is older than {newer}, which {0} has, and the new version becomes the stored one: choose a newer one than {newer}. To serve an older version, \
             write its types by hand and name them in `served(..)`",
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
    write_new(&files)?;
    let edited = Edited {
        text: found.mark.to_owned() + &changed,
        missing: Vec::new(),
    };
    let before = found.mark.to_owned() + &found.text;
    save(&found.path, &before, edited)?;
    let step = Step {
        group: &declared.group,
        kind: kind.as_str(),
        old: &old,
        new: &new,
    };
    examples::follow(&package.folder.join("example"), &step)?;
    tell(&kind, &found.path, (&old, &new), has_test.then_some(&test));
    for note in conversions.notes.iter().chain(&parts.notes(&old)) {
        say(note);
    }
    manifest::add_feature(
        &package,
        SELF_SIGNED,
        "The operator makes the certificates of `/convert` itself with it, also in a build for production.",
    )?;
    Ok(())
}

/// Says what is left to do.
fn tell(kind: &Kind, source: &Path, (old, new): (&str, &str), test: Option<&PathBuf>) {
    let (name, module) = (kind.as_str(), submodule(source, old));
    say(&format!(
        "\n{name} is {new} now, and the API server stores it in this version. It serves {old}, too.\nNext:\n  - change the fields of {name} in {}, and the conversions in {}\n  - run the test: it fails for a field that a conversion forgets. Name what {old} cannot express with `not_in`\n  - write `deprecated = \"use {new}\"` into `#[resource(..)]` of {old} when clients should move",
        shown(source),
        shown(&module)
    ));
    if let Some(test) = test {
        say(&format!(
            "  - {} exists and stays as it is: it needs `pilothouse::testing::round_trips::<{name}>().check()`",
            shown(test)
        ));
    }
}

/// The path from the library to the module with the kind: empty for the library itself, and where the module is not public. Then the
/// library exports the kind, if other programs use it.
fn place(source: &Path, root: &Path) -> Result<String, Error> {
    let folder = root.parent().unwrap_or(Path::new(""));
    if !source.starts_with(folder) {
        return Ok(String::new());
    }
    let modules = declared::file_modules(source, root);
    let library = fs::read_to_string(root).map_err(Error::file(root))?;
    match modules.first() {
        Some(first) if edit::is_public(&library, first) => Ok(format!("::{}", modules.join("::"))),
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
