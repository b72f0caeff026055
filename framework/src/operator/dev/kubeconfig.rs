use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::operator::OperatorError;

#[cfg(unix)]
use super::private;

/// The variables that say where the kubeconfig's folder is, the first that is set to an absolute path.
const CACHE_HOME: &str = "XDG_CACHE_HOME";
const HOME: &str = "HOME";

/// The folder of a user's caches, where the kubeconfig of an operator's embedded server stands.
///
/// # Errors
/// The environment does not say where the user's folders are. A folder that several users share, such as that of
/// temporary files, is not taken instead: another user could own the file's path first.
pub(super) fn cache(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, OperatorError> {
    let folder = |name| {
        let path = variable(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    folder(CACHE_HOME)
        .or_else(|| folder(HOME).map(|home| home.join(".cache")))
        .ok_or(OperatorError::NoHome)
}

/// Writes the kubeconfig of an operator, and gives its path: it is the same each time, so that a shell set up for it
/// stays set up. Only its owner can read it. It is written in one step: a kubectl that reads it meanwhile sees the
/// old one or the new one.
///
/// # Errors
/// It cannot be written, or another user could write to its folder.
pub(super) fn write(cache: &Path, operator: &str, text: &str) -> Result<PathBuf, OperatorError> {
    let folder = cache.join("pilothouse").join(operator);
    let path = folder.join("kubeconfig");
    match put(cache, &folder, &path, text) {
        Ok(()) => Ok(path),
        Err(source) => Err(OperatorError::Kubeconfig { path, source }),
    }
}

fn put(cache: &Path, folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    #[cfg(unix)]
    private::make(cache, folder)?;
    #[cfg(not(unix))]
    fs::create_dir_all(folder).map(|()| drop(cache))?;
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
        let cache = tempfile::tempdir().unwrap();
        for text in ["one", "two"] {
            let path = write(cache.path(), "website", text).unwrap();
            assert_eq!(path, cache.path().join("pilothouse/website/kubeconfig"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
                assert_eq!(mode(&path), 0o600);
                assert_eq!(mode(path.parent().unwrap()), 0o700);
            }
            assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let cache = tempfile::tempdir().unwrap();
        fs::write(cache.path().join("pilothouse"), "a file").unwrap();
        let path = cache.path().join("pilothouse/website/kubeconfig");
        let text = write(cache.path(), "website", "one")
            .unwrap_err()
            .to_string();
        let start = format!("cannot write the kubeconfig {}: ", path.display());
        assert!(text.starts_with(&start), "{text}");
    }

    #[test]
    fn without_a_home_the_error_names_the_variables() {
        let of = |given: &'static [(&str, &str)]| {
            let given = move |name: &str| {
                let mut given = given.iter();
                let value = given.find(|(known, _)| *known == name)?.1;
                Some(OsString::from(value))
            };
            cache(given).map_err(|error| error.to_string())
        };
        assert_eq!(of(&[(HOME, "/home/me")]), Ok("/home/me/.cache".into()));
        let both = of(&[(HOME, "/home/me"), (CACHE_HOME, "/cache")]);
        assert_eq!(both, Ok("/cache".into()));
        for given in [&[][..], &[(HOME, "")], &[(HOME, "me"), (CACHE_HOME, "./x")]] {
            let error = of(given).unwrap_err();
            assert!(error.contains("HOME or XDG_CACHE_HOME"), "{error}");
        }
    }
}
