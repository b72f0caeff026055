use std::{
    env,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::operator::OperatorError;

/// Where the kubeconfig of an operator's embedded server stands: the same place each time, so that a shell set
/// up for it stays set up.
pub(super) fn path(operator: &str) -> PathBuf {
    let folder = |variable| {
        env::var_os(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = folder("XDG_CACHE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(env::temp_dir);
    cache.join("pilothouse").join(operator).join("kubeconfig")
}

/// Writes the file, readable by its owner only, in one step: a kubectl that reads it meanwhile sees the old one or
/// the new one.
pub(super) fn write(path: &Path, text: &str) -> Result<(), OperatorError> {
    put(path, text).map_err(|source| OperatorError::Kubeconfig {
        path: path.to_owned(),
        source,
    })
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_replaces_what_was_there_and_is_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("website/kubeconfig");
        for text in ["one", "two"] {
            write(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("website"), "a file").unwrap();
        let path = folder.path().join("website/kubeconfig");
        let text = write(&path, "one").unwrap_err().to_string();
        let start = format!("cannot write the kubeconfig {}: ", path.display());
        assert!(text.starts_with(&start), "{text}");
    }
}
