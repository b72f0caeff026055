//! Folders that no other user can change.

use std::{
    fs::{self, DirBuilder, Metadata, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::Path,
};

/// Everybody who may write to a folder may replace the files in it, unless this bit restricts that to their owners.
const STICKY: u32 = 0o1000;
const WRITTEN_BY_OTHERS: u32 = 0o002;

/// Makes the folders from `base`, which may be there, down to `folder`, each for their owner alone. Those that are
/// there already have to be this user's and become private.
///
/// # Errors
/// A folder cannot be made, belongs to another user, or others can replace it.
pub(super) fn make(base: &Path, folder: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(base)?;
    trusted(base, &fs::metadata(base)?, own)?;
    let below = folder.strip_prefix(base).map_err(io::Error::other)?;
    let mut path = base.to_owned();
    for part in below {
        path.push(part);
        private(&path, own)?;
    }
    Ok(())
}

/// Whether others leave the user's entries of this folder alone.
fn trusted(path: &Path, found: &Metadata, own: u32) -> io::Result<()> {
    const ROOT: u32 = 0;
    if ![own, ROOT].contains(&found.uid()) {
        return Err(refused(path, "belongs to another user"));
    }
    if found.mode() & WRITTEN_BY_OTHERS != 0 && found.mode() & STICKY == 0 {
        return Err(refused(path, "can be written by every user"));
    }
    Ok(())
}

/// Makes one folder, or takes the one that is there. Nobody else can change the folder that holds it, so that what is
/// checked stays as it is.
fn private(path: &Path, own: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    // A link counts by its own owner first: another user's is not followed.
    if fs::symlink_metadata(path)?.uid() != own {
        return Err(refused(path, "belongs to another user"));
    }
    let found = fs::metadata(path)?;
    if !found.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    if found.uid() != own {
        return Err(refused(path, "is a link to a folder of another user"));
    }
    match found.mode() & 0o077 {
        0 => Ok(()),
        _ => fs::set_permissions(path, Permissions::from_mode(0o700)),
    }
}

fn refused(path: &Path, why: &str) -> io::Error {
    let path = path.display();
    io::Error::other(format!(
        "{path} {why}, who could replace the kubeconfig: set XDG_CACHE_HOME to a folder of your own"
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn folders_are_made_for_their_owner_and_those_that_are_there_become_private() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().join(".cache");
        let folder = base.join("pilothouse/website");
        make(&base, &folder).unwrap();
        assert_eq!([&base, &folder].map(|path| mode(path)), [0o700; 2]);
        let middle = base.join("pilothouse");
        fs::set_permissions(&middle, Permissions::from_mode(0o777)).unwrap();
        make(&base, &folder).unwrap();
        assert_eq!(mode(&middle), 0o700);
    }

    #[test]
    fn a_base_that_every_user_can_write_to_is_refused_unless_it_is_sticky() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("pilothouse");
        let with = |mode| {
            fs::set_permissions(base.path(), Permissions::from_mode(mode)).unwrap();
            make(base.path(), &folder)
        };
        let error = with(0o777).unwrap_err().to_string();
        assert!(error.contains("can be written by every user"), "{error}");
        with(0o1777).unwrap();
    }

    #[test]
    fn a_link_of_ones_own_is_followed() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), base.path().join("pilothouse")).unwrap();
        make(base.path(), &base.path().join("pilothouse/website")).unwrap();
        assert_eq!(mode(&elsewhere.path().join("website")), 0o700);
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let (folder, link) = (base.path().join("folder"), base.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        // For this user all of them are another one's.
        let stranger = fs::metadata(&folder).unwrap().uid() + 1;
        for path in [&folder, &link] {
            let error = private(path, stranger).unwrap_err().to_string();
            let expected = format!("{} belongs to another user,", path.display());
            assert!(error.starts_with(&expected), "{error}");
        }
        let found = fs::metadata(base.path()).unwrap();
        let of_root = found.uid() == 0;
        assert_eq!(trusted(base.path(), &found, stranger).is_ok(), of_root);
    }
}
