//! What `cargo metadata` tells of the user's package.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::error::Error;

/// The user's package.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The folder of its `Cargo.toml`.
    pub(crate) folder: PathBuf,
    /// The name of its program.
    program: Option<String>,
    /// The name of its library in Rust, and the library's first file.
    pub(crate) library: Option<(String, PathBuf)>,
    /// The folder into which Cargo builds.
    pub(crate) target: PathBuf,
    /// The folders of the workspace's packages, and of the packages that these depend on by a path, and the manifest of the workspace.
    pub(crate) sources: Vec<PathBuf>,
    /// The folders among them of which Cargo may read each file: of packages with a build script, and of packages outside of the workspace, which may
    /// have one.
    pub(crate) whole: Vec<PathBuf>,
    /// The folder of the workspace.
    pub(crate) workspace: PathBuf,
    /// The names of its dependencies.
    pub(crate) dependencies: Vec<String>,
    /// The names of those that its library and its program can use.
    normal_dependencies: Vec<String>,
    /// The features of the framework that it asks for in any case.
    framework_features: Vec<String>,
    /// Whether it takes the framework from a registry.
    pub(crate) takes_published: bool,
}

impl Package {
    /// The name of its program.
    ///
    /// # Errors
    /// If it has none.
    pub(crate) fn program(&self) -> Result<&str, Error> {
        self.program.as_deref().ok_or_else(|| {
            let name = &self.name;
            Error::Package(format!(
                "the package `{name}` has no program: it needs src/main.rs"
            ))
        })
    }
}

impl Package {
    /// The flag of Cargo that names the package, unless the user is in its folder.
    pub(crate) fn selected(&self) -> String {
        let is_here = env::current_dir().is_ok_and(|here| {
            let folder = self.folder.canonicalize();
            folder.is_ok_and(|folder| here.starts_with(folder))
        });
        match is_here {
            true => String::new(),
            false => format!(" -p {}", self.name),
        }
    }

    /// Whether the library can use this package.
    pub(crate) fn has_dependency(&self, name: &str) -> bool {
        self.normal_dependencies.iter().any(|one| one == name)
    }

    /// Whether each build has this feature of the framework.
    pub(crate) fn has_framework_feature(&self, name: &str) -> bool {
        self.framework_features.iter().any(|one| one == name)
    }
}

/// Cargo, as the one that called this program.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The package in this folder, or the one with this name in its workspace.
///
/// # Errors
/// No package fits, or several packages fit: the text lists them.
pub(crate) fn find(folder: &Path, name: Option<&str>) -> Result<Package, Error> {
    let metadata = metadata(folder)?;
    let all = metadata["packages"].as_array().into_iter().flatten();
    let (mut packages, mut sources, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for package in all {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let place = manifest.parent().map(Path::to_owned).unwrap_or_default();
        let paths = dependencies(package).filter_map(|one| one["path"].as_str());
        sources.extend(paths.map(PathBuf::from));
        if targets(package, "custom-build").next().is_some() {
            whole.push(place.clone());
        }
        packages.push((package, place));
    }
    sources.sort();
    sources.dedup();
    let is_member = |folder: &PathBuf| packages.iter().any(|(_, place)| place == folder);
    whole.extend(sources.iter().filter(|folder| !is_member(folder)).cloned());
    sources.extend(packages.iter().map(|(_, place)| place.clone()));
    // A workspace without a package at its top has dependencies and profiles there.
    let top = Path::new(metadata["workspace_root"].as_str().unwrap_or_default());
    sources.push(top.join("Cargo.toml"));
    sources.sort();
    sources.dedup();
    let title = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let here = folder.canonicalize().map_err(Error::file(folder))?;
    let is_here = |place: &Path| {
        place
            .canonicalize()
            .is_ok_and(|place| here.starts_with(place))
    };
    let found = match name {
        Some(name) => packages.iter().find(|(package, _)| package["name"] == name),
        None => match &packages[..] {
            [one] => Some(one),
            // The innermost one.
            several => several
                .iter()
                .filter(|(_, place)| is_here(place))
                .max_by_key(|(_, place)| place.components().count()),
        },
    };
    let Some((package, place)) = found else {
        let names: Vec<String> = packages.iter().map(|(package, _)| title(package)).collect();
        let names = names.join(", ");
        return Err(Error::Package(match name {
            Some(name) => format!("the workspace has no package `{name}`; it has {names}"),
            None => {
                format!("the workspace has several packages: name one with --package ({names})")
            }
        }));
    };
    let programs: Vec<&str> = targets(package, "bin").map(|(name, _)| name).collect();
    let library = targets(package, "lib").next();
    let usual = package["default_run"].as_str().or_else(|| {
        let named = programs.iter().find(|program| package["name"] == **program);
        named.or_else(|| programs.first()).copied()
    });
    Ok(Package {
        name: title(package),
        folder: place.clone(),
        program: usual.map(str::to_owned),
        library: library.map(|(name, file)| (name.replace('-', "_"), file.into())),
        target: metadata["target_directory"]
            .as_str()
            .unwrap_or_default()
            .into(),
        sources,
        whole,
        workspace: top.to_owned(),
        dependencies: dependencies(package)
            .filter_map(|one| one["name"].as_str())
            .map(str::to_owned)
            .collect(),
        normal_dependencies: dependencies(package)
            .filter(|one| one["kind"].is_null())
            .filter_map(|one| one["name"].as_str())
            .map(str::to_owned)
            .collect(),
        takes_published: dependencies(package)
            .filter(|one| is_framework(one))
            .any(|one| {
                let source = one["source"].as_str().unwrap_or_default();
                source.starts_with("registry+")
            }),
        framework_features: dependencies(package)
            .filter(|one| is_framework(one))
            .flat_map(|one| one["features"].as_array().into_iter().flatten())
            .filter_map(|one| one.as_str())
            .map(str::to_owned)
            .collect(),
    })
}

/// Name and first file of each target of a sort.
fn targets<'a>(package: &'a Value, sort: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = package["targets"].as_array().into_iter().flatten();
    let of_sort = all.filter(move |target| {
        let mut kinds = target["kind"].as_array().into_iter().flatten();
        kinds.any(|kind| kind == sort)
    });
    of_sort.filter_map(|target| Some((target["name"].as_str()?, target["src_path"].as_str()?)))
}

/// Whether a dependency is that of a program on the framework.
fn is_framework(dependency: &Value) -> bool {
    dependency["name"] == "pilothouse" && dependency["kind"].is_null()
}

fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().into_iter().flatten()
}

/// The folder of the workspace of a package, and the folders of the package and of those that it depends on by a path, all in the workspace.
///
/// # Errors
/// Cargo cannot read the package.
pub(crate) fn with_dependencies(
    folder: &Path,
    name: &str,
) -> Result<(PathBuf, Vec<PathBuf>), Error> {
    let metadata = metadata(folder)?;
    let top = metadata["workspace_root"].as_str().unwrap_or_default();
    let all: Vec<&Value> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let mut found = vec![name];
    let mut next = 0;
    while let Some(name) = found.get(next).copied() {
        next += 1;
        let package = all.iter().find(|package| package["name"] == name);
        let needed = package
            .into_iter()
            .flat_map(|package| dependencies(package));
        for one in needed.filter(|one| one["kind"] != "dev" && one["path"].is_string()) {
            let name = one["name"].as_str().unwrap_or_default();
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    let place = |name: &&str| {
        let package = all.iter().find(|package| package["name"] == **name)?;
        let manifest = Path::new(package["manifest_path"].as_str()?);
        manifest.parent().map(Path::to_owned)
    };
    Ok((top.into(), found.iter().filter_map(place).collect()))
}

/// The names of all packages of the workspace of this manifest.
///
/// # Errors
/// Cargo cannot read the workspace.
pub(crate) fn names(manifest: &Path) -> Result<Vec<String>, Error> {
    let folder = manifest.parent().unwrap_or(manifest);
    let metadata = metadata(folder).map_err(|error| match error {
        Error::Metadata(reason) => Error::Manifest {
            path: manifest.into(),
            reason,
        },
        error => error,
    })?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let names = packages.filter_map(|package| package["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

fn metadata(folder: &Path) -> Result<Value, Error> {
    let mut command = cargo();
    command
        // Without the dependencies it needs no registry.
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(folder);
    let output = command.output().map_err(Error::Cargo)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let said = said.trim().trim_start_matches("error: ");
        return Err(match said.contains("could not find `Cargo.toml`") {
            true => Error::NoPackage(said.into()),
            false => Error::Metadata(said.into()),
        });
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Error::Metadata(error.to_string()))
}
