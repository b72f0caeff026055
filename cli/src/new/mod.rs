//! The subcommand `new`: writes the folder of an operator.
//!
//! Everything is written beside the folder first and renamed at the end, so that a failure leaves nothing behind.

mod workspace;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;
use workspace::Workspace;

use crate::{
    arguments::NewOptions,
    error::Error,
    names::{ApiVersion, Kind, OperatorName},
    package,
    template::{self, Framework, FrameworkFolder, Names, Template},
    terminal::{ask, quoted, say},
};

/// The version of the framework that this program is published with.
const FRAMEWORK: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(options: &NewOptions) -> Result<(), Error> {
    let operator = OperatorName::new(&options.name)?;
    let folder = options
        .path
        .clone()
        .unwrap_or_else(|| operator.as_str().into());
    if is_used(&folder)? {
        return Err(Error::FolderInUse(folder));
    }
    let framework = match &options.framework {
        None => Framework {
            dependency: format!("version = \"{FRAMEWORK}\""),
            folder: None,
        },
        Some(path) => framework_in(path)?,
    };
    let kind = match &options.kind {
        Some(kind) => Kind::new(kind)?,
        None => ask("Kind of its objects", &operator.suggested_kind(), Kind::new)?,
    };
    let api_version = match &options.api_version {
        Some(version) => ApiVersion::new(version)?,
        None => ask("apiVersion of the kind", "example.com/v1", ApiVersion::new)?,
    };
    // Inside of a workspace, what a project has once is there already.
    let workspace = match options.workspace {
        true => None,
        false => Workspace::above(&folder)?,
    };
    if let Some(Workspace { manifest, .. }) = &workspace
        && package::names(manifest)?.contains(&operator.as_str().to_owned())
    {
        return Err(Error::NameInUse {
            name: operator.as_str().into(),
            manifest: manifest.clone(),
        });
    }
    let place = match options.workspace {
        true => format!("operators/{}/", operator.as_str()),
        false => String::new(),
    };
    let names = Names {
        operator: operator.as_str(),
        library: &operator.library(),
        kind: &kind,
        api_version: &api_version,
        framework: &framework,
        folder: &place,
    };

    // A manifest that cannot be changed is an error before anything is written.
    let joined = workspace.as_ref().map(Workspace::with_member).transpose()?;

    let parent = parent(&folder);
    if parent.is_file() {
        return Err(Error::FolderInUse(parent));
    }
    fs::create_dir_all(&parent).map_err(Error::file(&parent))?;
    let draft = tempfile::Builder::new()
        .prefix(".pilothouse-")
        .tempdir_in(&parent);
    let draft = draft.map_err(Error::file(&parent))?;
    if workspace.is_none() {
        write(draft.path(), &names, template::PROJECT)?;
    }
    if options.workspace {
        write(draft.path(), &names, template::WORKSPACE)?;
    }
    let inner = draft.path().join(&place);
    write(&inner, &names, template::OPERATOR)?;
    write(&inner, &names, template::KIND)?;
    readable(draft.path())?;
    if workspace.is_none() {
        append(&draft.path().join("Cargo.toml"), template::PROFILES)?;
    }
    place_draft(draft, &folder).map_err(Error::file(&folder))?;

    init_repository(&folder);
    say(&format!(
        "{} has the operator `{}` for the kind {}.",
        folder.display(),
        operator.as_str(),
        kind.as_str()
    ));
    if let (Some(Workspace { manifest, .. }), Some(text)) = (&workspace, joined) {
        fs::write(manifest, text).map_err(Error::file(manifest))?;
        say(&format!(
            "It is a member of the workspace of {}.",
            manifest.display()
        ));
    }
    match &framework.folder {
        None => say(&format!(
            "It takes `pilothouse` {FRAMEWORK} from the registry. If cargo finds no such version there, name the folder of the framework instead: --framework FOLDER"
        )),
        Some(folder) if workspace.is_none() => {
            say(&format!(
                "Cargo.toml names the framework by its path, in {}. This builds the image: docker build{} -t NAME .\nA machine without this folder, such as a runner of CI, needs these changes, which .github/workflows/ci.yaml lists, too:",
                folder.context.display(),
                framework.context()
            ));
            for change in framework.elsewhere() {
                say(&format!("  {change}"));
            }
        }
        Some(_) => {}
    }
    say(&format!(
        "\n  cd {}\n  cargo pilothouse dev\n  cargo test\n",
        quoted(&folder)
    ));
    Ok(())
}

/// Whether there is something in the place of the folder.
fn is_used(folder: &Path) -> Result<bool, Error> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && folder.exists() => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(source) => Err(Error::file(folder)(source)),
    }
}

fn parent(folder: &Path) -> PathBuf {
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.map_or_else(|| ".".into(), Path::to_owned)
}

/// The framework in a folder.
fn framework_in(path: &Path) -> Result<Framework, Error> {
    let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
    let manifest = manifest
        .parse::<toml_edit::DocumentMut>()
        .unwrap_or_default();
    let is_framework = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(toml_edit::Item::as_str)
        == Some("pilothouse");
    if !is_framework {
        return Err(Error::NoFramework(path.into()));
    }
    let path = path.canonicalize().map_err(Error::file(path))?;
    let shown = toml_edit::Value::from(path.display().to_string());
    let (workspace, needed) = package::with_dependencies(&path, "pilothouse")?;
    let parts = match workspace == path {
        // Its manifest is that of a package.
        true => vec![PathBuf::from(".")],
        false => {
            let inner = needed.iter().map(|folder| folder.strip_prefix(&workspace));
            let mut parts: Vec<PathBuf> = inner.flatten().map(Path::to_owned).collect();
            parts.insert(0, "Cargo.toml".into());
            parts
        }
    };
    Ok(Framework {
        dependency: format!("path = {}", shown.to_string().trim()),
        folder: Some(FrameworkFolder {
            context: workspace,
            parts,
        }),
    })
}

fn write(folder: &Path, names: &Names<'_>, templates: &[Template<'_>]) -> Result<(), Error> {
    let mut written = Vec::new();
    for (path, text) in templates {
        let path = folder.join(names.fill(path));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        fs::write(&path, names.fill(text)).map_err(Error::file(&path))?;
        written.push(path);
    }
    template::format(&written);
    Ok(())
}

/// Adds a paragraph at the end of a file.
fn append(path: &Path, paragraph: &str) -> Result<(), Error> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    fs::write(path, format!("{text}\n{paragraph}")).map_err(Error::file(path))
}

/// Makes the draft the folder. A folder that exists is empty, and stays: it may be the one in which the user is.
fn place_draft(draft: TempDir, folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        fs::rename(draft.path(), folder)?;
        // It is in its place, so there is nothing to delete.
        let _ = draft.keep();
        return Ok(());
    }
    for entry in fs::read_dir(draft.path())? {
        let entry = entry?;
        fs::rename(entry.path(), folder.join(entry.file_name()))?;
    }
    Ok(())
}

/// Gives the draft the permissions of an ordinary folder: a temporary one is for its owner alone.
fn readable(draft: &Path) -> Result<(), Error> {
    let inside = draft.join("src");
    let like = if inside.exists() {
        inside
    } else {
        draft.join("operators")
    };
    let permissions = fs::metadata(&like)
        .map_err(Error::file(&like))?
        .permissions();
    fs::set_permissions(draft, permissions).map_err(Error::file(draft))
}

/// Makes the folder a git repository, as `cargo new` does, unless a repository contains it. Does nothing if git is not installed.
fn init_repository(folder: &Path) {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(folder);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !git(&["rev-parse", "--is-inside-work-tree"]) {
        git(&["init", "--quiet"]);
    }
}
