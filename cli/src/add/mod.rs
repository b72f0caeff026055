//! The subcommands of `add`: they write the files of a kind, of the webhooks of a kind, or of an older version of a kind, and add them to the
//! operator's sources.
//!
//! They insert lines at places that the syntax tree tells. A file that was formatted is formatted again. If `src/lib.rs` has no place for
//! something, they print what to write.

mod declared;
mod edit;
mod version;

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
};

use crate::{
    arguments::{AddKindOptions, AddWebhookOptions},
    error::Error,
    manifest,
    names::{ApiVersion, Kind},
    package::{self, Package},
    template::{self, Framework, Names, Template},
    terminal::{say, shown},
};
use edit::{Addition, Edited, Place};
pub(crate) use version::run as run_version;

/// The feature of the framework with which an operator makes its certificates.
const SELF_SIGNED: &str = "self-signed";

/// `add kind`.
pub(crate) fn run(options: &AddKindOptions) -> Result<(), Error> {
    let kind = Kind::new(&options.kind)?;
    let package = package::find(&env::current_dir()?, options.package.as_deref())?;
    let api_version = match &options.api_version {
        Some(version) => ApiVersion::new(version)?,
        None => match own_version(&package.folder.join("src")) {
            Some(version) => version,
            None => ApiVersion::new("example.com/v1")?,
        },
    };
    let addition = Addition::kind(&kind);
    write(&package, &kind, &api_version, template::KIND, &addition)?;
    let needed = [
        ("serde_json", ""),
        ("tokio", " --features macros,rt,test-util"),
    ];
    tell_missing(&package, &needed);
    Ok(())
}

/// `add webhook`.
pub(crate) fn run_webhook(options: &AddWebhookOptions) -> Result<(), Error> {
    let (modules, name) = declared::split(&options.kind);
    let kind = Kind::new(name)?;
    let package = package::find(&env::current_dir()?, options.package.as_deref())?;
    let sources = package.folder.join("src");
    let (library, root) = library(&package)?;
    let declared = declared::find(&sources, root, &modules, &kind)?;
    // The annotation of an example is the operator's own.
    let own = if declared.is_foreign {
        own_version(&sources)
    } else {
        None
    };
    let group = own.map_or_else(|| declared.group.clone(), |own| own.group);
    let api_version = ApiVersion {
        group,
        version: String::new(),
    };
    // The test reads the example.
    let example = format!("example/{}.yaml", kind.singular());
    let has_example = package.folder.join(&example).exists();
    let text = fs::read_to_string(root).map_err(Error::file(root))?;
    let is_named = edit::names(&text, kind.as_str());
    let path = [declared.modules(root), vec![kind.as_str().to_owned()]].concat();
    let path = path.join("::");
    let templates = template::WEBHOOK.iter().copied();
    let templates = templates.filter(|(path, _)| has_example || !path.starts_with("tests/"));
    let written: Vec<(&str, String)> = templates
        .map(|(file, text)| match is_named {
            true => (file, text.to_owned()),
            false => (file, with_path(text, &path)),
        })
        .collect();
    let templates: Vec<_> = written
        .iter()
        .map(|(file, text)| (*file, text.as_str()))
        .collect();
    let addition = Addition::webhooks(&kind);
    write(&package, &kind, &api_version, &templates, &addition)?;
    if has_example && !is_named && !declared.is_reachable(root, &text) {
        say(&format!(
            "The test needs the kind, which the library does not export. Write in {}: pub use {path};\nand in the test: use {library}::{};",
            shown(root),
            kind.as_str()
        ));
    }
    match has_example {
        true => tell_missing(&package, &[("tokio", " --features macros,rt,test-util")]),
        false => say(&format!(
            "No test was written, because there is no {example}."
        )),
    }
    manifest::add_feature(
        &package,
        SELF_SIGNED,
        "The operator makes the certificates of its webhooks itself with it, also in a build for production.",
    )?;
    Ok(())
}

/// A text about a kind that the library does not name at its top: with its path.
fn with_path(text: &str, path: &str) -> String {
    text.replace("crate::{{kind}}", &format!("crate::{path}"))
        .replace(
            "use {{library}}::{{{kind}}, {{kind}}Defaults, {{kind}}Rules};",
            &format!("use {{{{library}}}}::{{{{{{kind}}}}Defaults, {{{{kind}}}}Rules, {path}}};"),
        )
}

/// The name of the library in Rust, and its first file.
fn library(package: &Package) -> Result<(&str, &Path), Error> {
    match &package.library {
        Some((name, file)) => Ok((name, file)),
        None => Err(Error::NoLibrary(package.folder.join("src/lib.rs"))),
    }
}

/// Writes the files of the templates, and changes the operator's library.
fn write(
    package: &Package,
    kind: &Kind,
    api_version: &ApiVersion,
    templates: &[Template<'_>],
    addition: &Addition,
) -> Result<(), Error> {
    let (library, lib) = library(package)?;
    let names = Names {
        operator: &package.name,
        library,
        kind,
        api_version,
        framework: &Framework::default(),
        folder: "",
    };
    let files: Vec<_> = templates
        .iter()
        .map(|(path, text)| (package.folder.join(names.fill(path)), names.fill(text)))
        .collect();
    write_files(lib, &files, |text| edit::add(text, addition))
}

/// Writes sources into the library of the package, and declares their modules there.
pub(crate) fn write_modules(
    lib: &Path,
    files: &[(PathBuf, String)],
    modules: &[&str],
) -> Result<(), Error> {
    write_files(lib, files, |text| edit::declare(text, modules))
}

/// Writes files and changes the library. An error changes nothing.
fn write_files(
    lib: &Path,
    files: &[(PathBuf, String)],
    edit: impl Fn(&str) -> syn::Result<Edited>,
) -> Result<(), Error> {
    let text = fs::read_to_string(lib).map_err(Error::file(lib))?;
    let edited = edit(&text).map_err(|source| Error::Syntax {
        path: lib.to_owned(),
        source,
    })?;
    write_new(files)?;
    save(lib, &text, edited)
}

/// Writes files, none over another one.
fn write_new(files: &[(PathBuf, String)]) -> Result<(), Error> {
    let mut places = files.iter().map(|(path, _)| path.as_path());
    if let Some(path) = places.find_map(in_use) {
        return Err(Error::FileExists(path));
    }
    // All folders first, so that a failure leaves no part of it.
    for folder in files.iter().filter_map(|(path, _)| path.parent()) {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    for (path, text) in files {
        let written =
            fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(Error::file(path))?;
        say(&format!("wrote {}", shown(path)));
    }
    let written: Vec<_> = files.iter().map(|(path, _)| path.clone()).collect();
    template::format(&written);
    Ok(())
}

/// Writes a changed source, formatted if it was formatted, and prints what could not be added.
fn save(file: &Path, text: &str, edited: Edited) -> Result<(), Error> {
    let Edited {
        text: changed,
        missing,
    } = edited;
    if changed != text {
        let folder = file.parent().unwrap_or(Path::new("."));
        let was_formatted = template::formatted(text, folder).is_some_and(|same| same == text);
        let formatted = template::formatted(&changed, folder).filter(|_| was_formatted);
        fs::write(file, formatted.unwrap_or(changed)).map_err(Error::file(file))?;
        say(&format!("changed {}", shown(file)));
    }
    for Place { what, line } in missing {
        let file = shown(file);
        say(&format!(
            "{what} was not found in {file}. Write there: {line}"
        ));
    }
    Ok(())
}

/// Prints the dependencies of the tests that the package does not have, each with its flags of `cargo add`.
fn tell_missing(package: &Package, needed: &[(&str, &str)]) {
    for (needed, features) in needed {
        if !package.dependencies.iter().any(|one| one == needed) {
            let which = package.selected();
            say(&format!(
                "The test needs {needed}: cargo add --dev {needed}{features}{which}"
            ));
        }
    }
}

/// The file, or the folder of a module of the same name, if there is one.
fn in_use(path: &Path) -> Option<PathBuf> {
    let module = path.with_extension("");
    let is_source = path.extension().is_some_and(|extension| extension == "rs");
    if path.exists() {
        Some(path.into())
    } else if is_source && module.exists() {
        Some(module)
    } else {
        None
    }
}

/// The apiVersion of the kinds that the operator has, if the sources tell it.
fn own_version(sources: &Path) -> Option<ApiVersion> {
    let mut files: Vec<_> = fs::read_dir(sources)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
        .iter()
        .find_map(|file| edit::declared(&fs::read_to_string(file).ok()?))
}
