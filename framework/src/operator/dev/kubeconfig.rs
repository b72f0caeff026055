use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::operator::OperatorError;

#[cfg(unix)]
use super::private_folder;

/// The variables for the kubeconfig's folder. The first one that is an absolute path counts.
const CACHE_HOME: &str = "XDG_CACHE_HOME";
const HOME: &str = "HOME";

/// The user's cache folder, which holds the kubeconfigs of embedded servers.
///
/// # Errors
/// [`OperatorError::NoHome`] if neither variable is set to an absolute path. A shared folder such as the one for
/// temporary files is not used instead, because another user could create the file there first.
pub(super) fn cache(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, OperatorError> {
    let folder = |name| {
        let path = variable(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    folder(CACHE_HOME)
        .or_else(|| folder(HOME).map(|home| home.join(".cache")))
        .ok_or(OperatorError::NoHome)
}

/// A written kubeconfig. As long as this exists, no other process writes to its path.
#[derive(Debug)]
pub(super) struct Kubeconfig {
    pub(super) path: PathBuf,
    /// The kubeconfig with the usual name, if another process uses that one.
    pub(super) taken: Option<PathBuf>,
    /// The system releases the lock when the process ends, however it ends.
    _lock: Option<File>,
}

/// At most this many processes of one operator have a kubeconfig of their own.
const MOST: usize = 100;

/// Writes the kubeconfig of an operator. The path is always the same, so that a shell with this kubeconfig keeps working;
/// only while another `dev` of the operator runs, a number is added to the name. Only the owner can read the file. It is
/// replaced in one step, so that a kubectl that reads it sees either the old or the new content.
///
/// # Errors
/// [`OperatorError::Kubeconfig`] if the file cannot be written, or another user could write to its folder.
pub(super) fn write(cache: &Path, operator: &str, text: &str) -> Result<Kubeconfig, OperatorError> {
    let folder = cache.join("pilothouse").join(operator);
    let usual = folder.join("kubeconfig");
    let failed = |path: &Path, source| OperatorError::Kubeconfig {
        path: path.to_owned(),
        source,
    };
    create(cache, &folder).map_err(|error| failed(&usual, error))?;
    for number in 1..=MOST {
        let path = match number {
            1 => usual.clone(),
            _ => folder.join(format!("kubeconfig-{number}")),
        };
        let lock = match lock(&path).map_err(|error| failed(&path, error))? {
            LockOutcome::Locked(lock) => Some(lock),
            LockOutcome::InUse => continue,
            // The last process wins.
            LockOutcome::Unsupported => None,
        };
        put(&path, text).map_err(|error| failed(&path, error))?;
        return Ok(Kubeconfig {
            path,
            taken: (number > 1).then_some(usual),
            _lock: lock,
        });
    }
    let error = format!("{MOST} other processes of {operator} run: end one of them");
    Err(failed(&usual, io::Error::other(error)))
}

fn create(cache: &Path, folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    private_folder::create(cache, folder)?;
    #[cfg(not(unix))]
    fs::create_dir_all(folder).map(|()| drop(cache))?;
    Ok(())
}

enum LockOutcome {
    Locked(File),
    /// Another process has the lock.
    InUse,
    /// Some network file systems have no locks.
    Unsupported,
}

/// Locks a path for this process. The lock is on a file beside it, because the kubeconfig itself is replaced. That file
/// stays, because a process that removed it could remove the lock of another one.
fn lock(path: &Path) -> io::Result<LockOutcome> {
    let mut options = private();
    let options = options.create(true).truncate(false);
    let file = options.open(path.with_added_extension("lock"))?;
    Ok(match file.try_lock() {
        Ok(()) => LockOutcome::Locked(file),
        Err(TryLockError::WouldBlock) => LockOutcome::InUse,
        Err(TryLockError::Error(_)) => LockOutcome::Unsupported,
    })
}

/// Options to write to a file that only its owner can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let written = private()
        .create_new(true)
        .open(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // Report the first error.
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubeconfig_is_replaced_and_only_its_owner_can_read_it() {
        let cache = tempfile::tempdir().unwrap();
        for text in ["one", "two"] {
            let path = write(cache.path(), "website", text).unwrap().path;
            assert_eq!(path, cache.path().join("pilothouse/website/kubeconfig"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
                assert_eq!(mode(&path), 0o600);
                assert_eq!(mode(&path.with_added_extension("lock")), 0o600);
                assert_eq!(mode(path.parent().unwrap()), 0o700);
            }
            let files = fs::read_dir(path.parent().unwrap()).unwrap();
            assert_eq!(files.count(), 2, "it and its lock");
        }
    }

    #[test]
    fn a_kubeconfig_that_is_in_use_is_not_replaced() {
        let cache = tempfile::tempdir().unwrap();
        let start = |text| write(cache.path(), "website", text).unwrap();
        let read = |kubeconfig: &Kubeconfig| {
            let name = kubeconfig.path.file_name().unwrap();
            let name = name.to_str().unwrap().to_owned();
            (name, fs::read_to_string(&kubeconfig.path).unwrap())
        };
        let first = start("one");
        let (second, third) = (start("two"), start("three"));
        assert_eq!(read(&first), ("kubeconfig".into(), "one".into()));
        assert_eq!(read(&second), ("kubeconfig-2".into(), "two".into()));
        assert_eq!(read(&third), ("kubeconfig-3".into(), "three".into()));
        let taken = [&first, &second, &third].map(|one| one.taken.as_ref());
        assert_eq!(taken, [None, Some(&first.path), Some(&first.path)]);
        // Another operator has a folder of its own, and the first free name is used again.
        assert_eq!(write(cache.path(), "other", "x").unwrap().taken, None);
        drop((first, second));
        assert_eq!(read(&start("four")), ("kubeconfig".into(), "four".into()));
        assert_eq!(read(&third), ("kubeconfig-3".into(), "three".into()));
    }

    #[test]
    fn the_error_names_a_path_that_cannot_be_written() {
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
