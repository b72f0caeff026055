//! Creates folders that no other user can change.

use std::{
    fs::{self, DirBuilder, Metadata, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::Path,
};

/// A user who may write to a folder may replace the files in it, unless this bit limits that to their owners.
const STICKY: u32 = 0o1000;
const WRITTEN_BY_OTHERS: u32 = 0o002;

/// Creates the folders from `base`, which may exist, down to `folder`, each for its owner only. Existing folders must
/// belong to this user and become private.
///
/// # Errors
/// An [`io::Error`] if a folder cannot be created, belongs to another user, or could be replaced by another user.
pub(super) fn create(base: &Path, folder: &Path) -> io::Result<()> {
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

/// Checks that other users cannot replace this user's entries in the folder.
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

/// Creates one folder, or checks an existing one. No other user can change its parent folder, so the result of the
/// check stays valid.
fn private(path: &Path, own: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    // The owner of a link is checked first, so that the link of another user is not followed.
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
        "{path} {why}, so another user could replace the kubeconfig: set XDG_CACHE_HOME to a folder of your own"
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
    fn new_and_existing_folders_are_private() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().join(".cache");
        let folder = base.join("pilothouse/website");
        create(&base, &folder).unwrap();
        assert_eq!([&base, &folder].map(|path| mode(path)), [0o700; 2]);
        let middle = base.join("pilothouse");
        for open in [0o777, 0o770, 0o705] {
            fs::set_permissions(&middle, Permissions::from_mode(open)).unwrap();
            create(&base, &folder).unwrap();
            assert_eq!(mode(&middle), 0o700);
        }
    }

    #[test]
    fn a_base_that_every_user_can_write_to_is_refused_unless_it_is_sticky() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("pilothouse");
        let with = |mode| {
            fs::set_permissions(base.path(), Permissions::from_mode(mode)).unwrap();
            create(base.path(), &folder)
        };
        let error = with(0o777).unwrap_err().to_string();
        assert!(error.contains("can be written by every user"), "{error}");
        with(0o1777).unwrap();
    }

    #[test]
    fn a_link_of_the_same_user_is_followed() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), base.path().join("pilothouse")).unwrap();
        create(base.path(), &base.path().join("pilothouse/website")).unwrap();
        assert_eq!(mode(&elsewhere.path().join("website")), 0o700);
    }

    #[test]
    fn a_folder_or_link_of_another_user_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let (folder, link) = (base.path().join("folder"), base.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        // For the user `stranger` all of these belong to another user.
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
