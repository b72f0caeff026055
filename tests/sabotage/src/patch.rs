use std::{fs, path::Path, process::Command};

/// What a patch makes of the files that it touches: their paths and their texts.
pub(crate) fn patched(sources: &Path, patch: &Path) -> Result<Vec<(String, String)>, String> {
    let patch = patch.canonicalize().map_err(|error| error.to_string())?;
    let text = fs::read_to_string(&patch).map_err(|error| error.to_string())?;
    let files: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("+++ b/"))
        .map(|line| line.split('\t').next().unwrap_or(line))
        .collect();
    apply(sources, &patch, &[])?;
    let read = |file: &&str| {
        let text = fs::read_to_string(sources.join(file)).map_err(|error| error.to_string())?;
        Ok(((*file).to_owned(), text))
    };
    let patched: Result<Vec<_>, String> = files.iter().map(read).collect();
    apply(sources, &patch, &["--reverse"])?;
    patched
}

fn apply(sources: &Path, patch: &Path, options: &[&str]) -> Result<(), String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(sources).arg("apply").args(options);
    let done = git.arg(patch).output().map_err(|error| error.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}
