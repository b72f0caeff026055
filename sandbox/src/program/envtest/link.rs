use std::path::Path;
use std::{fs, io};

use super::Program;
use crate::Result;

/// Puts the programs into `folder`, as links to this program, and prints the folder's path.
pub(crate) fn link(folder: &Path) -> Result<()> {
    let at =
        |what: &str, path: &Path, error: io::Error| format!("{what} {}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| at("create the folder", folder, error))?;
    let folder = fs::canonicalize(folder).map_err(|error| at("find the folder", folder, error))?;
    let own = std::env::current_exe()?;
    for program in [Program::KubeApiserver, Program::Etcd] {
        let path = folder.join(format!(
            "{}{}",
            program.name(),
            std::env::consts::EXE_SUFFIX
        ));
        let replaced = match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => make(&own, &path),
        };
        replaced.map_err(|error| at("write", &path, error))?;
    }
    println!("{}", folder.display());
    Ok(())
}

#[cfg(unix)]
fn make(own: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(own, path)
}

#[cfg(not(unix))]
fn make(own: &Path, path: &Path) -> io::Result<()> {
    fs::copy(own, path).map(drop)
}
