//! The subcommand `import`: writes Rust types for kinds that others define.
//!
//! | file or folder | holds |
//! | --- | --- |
//! | `cluster.rs` | the definition of a kind on a cluster |
//! | `generate/` | from a definition to a source |

mod cluster;
mod generate;

use std::{
    env, fs,
    io::{self, Read},
    path::Path,
};

pub(crate) use generate::Problem;
use generate::{Definition, Options, Source};
use serde_json::Value;

use crate::{
    add,
    arguments::ImportOptions,
    documents::{self, Document},
    error::Error,
    package::{self, Package},
    template,
    terminal::{say, show, warn},
};

pub(crate) fn run(options: &ImportOptions) -> Result<(), Error> {
    let documents = documents(&options.from)?;
    let placed = |source: Problem| placed(&options.from, &documents, source);
    let objects: Vec<_> = documents.iter().map(|one| one.value.clone()).collect();
    let mut definitions = chosen(&objects, options, placed)?;
    for definition in &mut definitions {
        match &options.version {
            Some(version) => definition.only(version).map_err(placed)?,
            // An operator has one definition of a kind, and its controllers see the stored version.
            None if options.own => {
                definition.versions.retain(|version| version.is_stored);
            }
            None => {}
        }
        if definition.versions.is_empty() {
            return Err(Error::Import(format!(
                "no served version of {} is the stored one: choose one with --version",
                definition.name
            )));
        }
    }
    let wanted = Options {
        is_own: options.own,
    };
    let sources: Vec<Source> = definitions
        .iter()
        .map(|definition| generate::source(definition, wanted))
        .collect();
    if options.print {
        for source in &sources {
            let text = template::formatted(&source.text, Path::new("."));
            let text = text.as_ref().unwrap_or(&source.text);
            show(text);
        }
    } else {
        let package = package::find(&env::current_dir()?, options.package.as_deref())?;
        write(&package, &sources)?;
    }
    for note in sources.iter().flat_map(|source| &source.notes) {
        warn(note);
    }
    Ok(())
}

/// The error about a definition, with its file and its line there.
fn placed(from: &str, documents: &[Document], source: Problem) -> Error {
    let line_of = |one: &Document| one.line_of(&source.definition, &source.path);
    Error::Definition {
        from: match documents.iter().find_map(line_of) {
            Some(line) => format!("{from}: line {line}"),
            None => from.to_owned(),
        },
        source,
    }
}

/// The objects of the file, of the standard input, or of the cluster.
fn documents(from: &str) -> Result<Vec<Document>, Error> {
    let text = if from == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        text
    } else if Path::new(from).exists() {
        fs::read_to_string(from).map_err(Error::file(from))?
    } else if let Some((name, context)) = from.split_once('@') {
        let found = cluster::definitions(name, context)?;
        return Ok(found.into_iter().map(Document::from).collect());
    } else {
        return Err(Error::Import(format!(
            "there is no file {from}: name a file with definitions, or a kind and a context of the kubeconfig as `certificates.cert-manager.io@CONTEXT`; nothing after the `@` is the current context"
        )));
    };
    documents::read(&text).map_err(|source| Error::Unreadable {
        path: from.into(),
        source,
    })
}

/// The definitions of the kinds that the user asks for.
fn chosen(
    objects: &[Value],
    options: &ImportOptions,
    placed: impl Fn(Problem) -> Error,
) -> Result<Vec<Definition>, Error> {
    let from = &options.from;
    let defined = generate::kinds(objects);
    if defined.is_empty() {
        let kinds = objects.iter().map(|object| object["kind"].as_str());
        let mut kinds: Vec<&str> = kinds.map(|kind| kind.unwrap_or("no kind")).collect();
        kinds.dedup();
        let has = match kinds.is_empty() {
            true => "nothing".to_owned(),
            false => kinds.join(", "),
        };
        return Err(Error::Import(format!(
            "{from} has no CustomResourceDefinition: it has {has}"
        )));
    }
    let is_unknown = |kind: &&String| !defined.contains(&kind.as_str());
    if let Some(kind) = options.kinds.iter().find(is_unknown) {
        let all = defined.join(", ");
        return Err(Error::Import(format!(
            "{from} does not define the kind {kind}: it has {all}"
        )));
    }
    let found = generate::definitions(objects, &options.kinds).map_err(placed)?;
    for (at, one) in found.iter().enumerate() {
        let has_module = |other: &&Definition| other.module() == one.module();
        if let Some(other) = found[..at].iter().find(has_module) {
            return Err(Error::Import(format!(
                "{} and {} would have the same module {}: import them from two files, into two packages, or print one with --print",
                other.name,
                one.name,
                one.module()
            )));
        }
    }
    Ok(found)
}

/// Writes a file for each source beside the library, and declares its module there.
fn write(package: &Package, sources: &[Source]) -> Result<(), Error> {
    let library = package.library.as_ref();
    let (_, lib) = library.ok_or_else(|| Error::NoLibrary(package.folder.join("src/lib.rs")))?;
    let folder = lib.parent().unwrap_or(&package.folder);
    let files: Vec<_> = sources
        .iter()
        .map(|source| (folder.join(format!("{}.rs", source.module)), source))
        .collect();
    let modules: Vec<&str> = sources.iter().map(|one| one.module.as_str()).collect();
    let texts: Vec<_> = files
        .iter()
        .map(|(path, source)| (path.clone(), source.text.clone()))
        .collect();
    add::write_modules(lib, &texts, &modules)?;
    let needed: Vec<&str> = ["serde", "serde_json"]
        .into_iter()
        .filter(|needed| sources.iter().any(|one| uses(&one.text, needed)))
        .filter(|needed| !package.has_dependency(needed))
        .collect();
    for needed in needed {
        let features = match needed {
            "serde" => " --features derive",
            _ => "",
        };
        let which = package.selected();
        say(&format!(
            "The types need {needed}: cargo add {needed}{features}{which}"
        ));
    }
    Ok(())
}

fn uses(text: &str, name: &str) -> bool {
    text.contains(&format!("use {name}::"))
}
