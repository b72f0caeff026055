//! Writes the types for the definitions of the folder `data`, with the sources of `cargo pilothouse import`.

#[allow(dead_code, unused_imports, reason = "the tool uses more of it")]
#[path = "../../cli/src/import/generate/mod.rs"]
mod generate;
#[allow(dead_code, unreachable_pub, reason = "the tests use more of it")]
#[path = "src/project.rs"]
mod project;

use std::{
    env,
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use generate::Options;
use project::Project;

/// The kinds that are also written as foreign ones, because their form depends on it or is special: one with a field beside spec and status, one
/// with two versions, and two others.
const FOREIGN: &[&str] = &[
    "Application",
    "Certificate",
    "EnvironmentConfig",
    "HTTPRoute",
];

fn main() -> Result<(), Box<dyn Error>> {
    for watched in [
        "data",
        "build.rs",
        "src/project.rs",
        "../../cli/src/import/generate",
    ] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut modules = String::new();
    let mut table = String::new();
    for (folder, is_own) in [("own", true), ("foreign", false)] {
        writeln!(
            modules,
            "/// The types of kinds that are {folder}.\npub mod {folder} {{"
        )?;
        for path in Project::files(Path::new("data"))? {
            let project = Project::read(&path)?;
            write(
                &project,
                &out.join(folder),
                is_own,
                &mut modules,
                &mut table,
            )?;
        }
        writeln!(modules, "}}")?;
    }
    let text = format!(
        "{modules}\n/// All kinds.\npub fn kinds() -> Vec<Kind> {{\n    vec![\n{table}    ]\n}}\n"
    );
    fs::write(out.join("imported.rs"), text)?;
    Ok(())
}

/// Writes the kinds of a project.
fn write(
    project: &Project,
    out: &Path,
    is_own: bool,
    modules: &mut String,
    table: &mut String,
) -> Result<(), Box<dyn Error>> {
    let name = project.name.replace('-', "_");
    let folder = out.join(&name);
    fs::create_dir_all(&folder)?;
    let whose = folder_name(is_own);
    writeln!(modules, "/// Kinds of {}.\npub mod {name} {{", project.name)?;
    for definition in generate::definitions(&project.definitions, &[])? {
        let kind = &definition.kind;
        if !is_own && !FOREIGN.contains(&kind.as_str()) {
            continue;
        }
        let source = generate::source(&definition, Options { is_own });
        let path = folder.join(format!("{}.rs", source.module));
        fs::write(&path, &source.text)?;
        let module = &source.module;
        writeln!(modules, "#[path = {path:?}]\npub mod {module};")?;
        let is_single = definition.versions.len() == 1;
        for version in &definition.versions {
            let inner = if is_single {
                String::new()
            } else {
                format!("{}::", version.name)
            };
            let ty = format!("{whose}::{name}::{module}::{inner}{kind}");
            writeln!(table, "        Kind::{whose}::<{ty}>({:?}),", project.name)?;
        }
    }
    writeln!(modules, "}}")?;
    Ok(())
}

fn folder_name(is_own: bool) -> &'static str {
    if is_own { "own" } else { "foreign" }
}
