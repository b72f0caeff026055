use std::{collections::BTreeMap, fs, io::ErrorKind, os::unix::fs::symlink, path::Path};

use super::{
    folder::{Folder, unreadable},
    record::RECORD,
};
use crate::manifests::Files;

const GENERATED: &str = "a: 1\n# BEGIN own settings\n# END own settings\n";

fn files(files: &[(&str, &str)]) -> Files {
    let pairs = files.iter();
    pairs
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

fn folder(path: &Path, generated: &[(&str, &str)]) -> Result<(), String> {
    Folder::new(path, "website".into(), files(generated)).write()
}

#[test]
fn what_the_user_added_stays_and_what_is_no_longer_generated_goes() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("deploy");
    folder(&path, &[("base/a", GENERATED), ("b", "b\n")]).unwrap();
    let own = GENERATED.replace("settings\n# END", "settings\nmine: 2\n# END");
    fs::write(path.join("base/a"), &own).unwrap();
    fs::write(path.join("c"), "mine\n").unwrap();
    let newer = GENERATED.replace("a: 1", "a: 3");
    folder(&path, &[("base/a", &newer)]).unwrap();
    let kept = fs::read_to_string(path.join("base/a")).unwrap();
    assert_eq!(kept, own.replace("a: 1", "a: 3"));
    assert!(!path.join("b").exists());
    assert!(path.join("c").exists());
    let same = Folder::new(&path, "website".into(), files(&[("base/a", &newer)]));
    assert_eq!(same.difference(), Ok(String::new()));
    let mut names: Vec<_> = fs::read_dir(path.join("base")).unwrap().collect();
    assert_eq!(names.pop().unwrap().unwrap().file_name(), "a");
    assert!(names.is_empty());
}

#[test]
fn a_folder_that_would_lose_something_is_left_as_it_is() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path();
    let refused = |generated: &[(&str, &str)], expected: &str| {
        let before = fs::read_to_string(path.join("a")).unwrap_or_default();
        let error = folder(path, generated).unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert_eq!(
            fs::read_to_string(path.join("a")).unwrap_or_default(),
            before
        );
    };
    fs::write(path.join("mine"), "").unwrap();
    refused(&[("a", "a\n")], "is not empty and has no .generated");
    fs::remove_file(path.join("mine")).unwrap();
    folder(path, &[("a", GENERATED), ("b", "b\n")]).unwrap();
    fs::write(path.join("c"), "mine\n").unwrap();
    refused(
        &[("a", "new\n"), ("c", "c\n")],
        "c exists, but was not generated",
    );
    fs::write(path.join("b"), "changed\n").unwrap();
    refused(
        &[("a", "new\n")],
        "b was changed, but is not generated any more",
    );
    refused(
        &[("a", "new\n"), ("b", "new\n")],
        "b was changed outside of the marks",
    );
    fs::remove_file(path.join("b")).unwrap();
    fs::write(path.join("a"), "# BEGIN own settings\n").unwrap();
    refused(
        &[("a", "new\n")],
        "a the mark `END own settings` is missing",
    );
    let other = Folder::new(path, "shop".into(), files(&[("a", "a\n")])).write();
    assert!(other.unwrap_err().contains("by another command, website"));
    fs::write(path.join(RECORD), "# website\n00  ../b\n").unwrap();
    refused(&[("a", "new\n")], ".generated is broken");
}

#[test]
fn a_folder_that_could_not_be_written_is_not_left_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("chart");
    // A name of 255 bytes is possible, but the one beside it is longer.
    let too_long = "z".repeat(252);
    let error = folder(&path, &[("base/a", GENERATED), (&too_long, "")]).unwrap_err();
    assert!(error.contains("cannot be written"), "{error}");
    assert!(!path.exists());
    folder(&path, &[("base/a", GENERATED)]).unwrap();
    // What was there before stays.
    let error = folder(&path, &[("base/a", GENERATED), (&too_long, "")]).unwrap_err();
    assert!(error.contains("cannot be written"), "{error}");
    assert!(path.join("base/a").exists());
}

#[test]
fn the_difference_names_changed_missing_and_outdated_files() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path();
    folder(path, &[("a", "a\n"), ("b", "b\n")]).unwrap();
    fs::write(path.join("a"), "changed\n").unwrap();
    let wanted = Folder::new(path, "website".into(), files(&[("a", "a\n"), ("c", "c\n")]));
    let shown = wanted.difference().unwrap();
    for expected in [
        "/a\n@ line 1\n-changed\n+a\n",
        "/b\n@ line 1\n-b\n",
        "/c\n@ line 1\n+c\n",
        "/.generated\n",
    ] {
        assert!(shown.contains(expected), "{shown}");
    }
}

/// All files below a folder with their contents. Empty folders do not count.
fn contents(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(contents(&path)),
            false => {
                let text = fs::read_to_string(&path).unwrap();
                drop(all.insert(path.display().to_string(), text));
            }
        }
    }
    all
}

#[test]
fn a_folder_whose_parent_does_not_exist_is_not_created() {
    let temporary = tempfile::tempdir().unwrap();
    let shown = temporary.path().display().to_string();
    let path = temporary.path().join("deploi/a/chart");
    let error = folder(&path, &[("a", GENERATED)]).unwrap_err();
    let expected = format!(
        "{shown}/deploi/a/chart cannot be created because the folder {shown}/deploi/a does not exist: correct the name, or create it with \
         `mkdir -p {shown}/deploi/a`"
    );
    assert_eq!(error, expected);
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    // The folder itself may be new.
    folder(&temporary.path().join("chart"), &[("a", GENERATED)]).unwrap();
}

#[test]
fn a_folder_that_does_not_exist_cannot_be_compared() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("chart");
    let folder = Folder::new(&path, "website".into(), files(&[("a", GENERATED)]));
    let error = folder.difference().unwrap_err();
    let advice = format!("write it with `website {}`", path.display());
    assert!(
        error.contains("chart does not exist: correct the name, or"),
        "{error}"
    );
    assert!(error.contains(&advice), "{error}");
}

/// What is in the place of a generated file, and what the command says about it.
#[test]
fn what_is_no_text_file_is_neither_replaced_nor_followed() {
    const NAMES: [&str; 3] = ["base/a", "b", RECORD];
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("mine");
    let link = |place: &Path| symlink(&target, place).unwrap();
    let link_to_nothing = |place: &Path| symlink("nowhere", place).unwrap();
    let no_text = |place: &Path| fs::write(place, b"# \xff\n").unwrap();
    let create_folder = |place: &Path| fs::create_dir(place).unwrap();
    type Put<'a> = &'a dyn Fn(&Path);
    let put: [(Put<'_>, &str); 4] = [
        (
            &link,
            " is a symbolic link, and would be replaced: put what it points to in its place, or remove it",
        ),
        (
            &link_to_nothing,
            " is a symbolic link, and would be replaced: put what it points to in its place, or remove it",
        ),
        (
            &create_folder,
            " is a folder, but a file is generated there: move it elsewhere",
        ),
        (&no_text, ": restore it from version control, or remove "),
    ];
    for (put, expected) in put {
        for name in NAMES {
            let temporary = tempfile::tempdir().unwrap();
            let path = temporary.path();
            folder(path, &[("base/a", GENERATED), ("b", "b\n")]).unwrap();
            fs::copy(path.join(name), &target).unwrap();
            fs::remove_file(path.join(name)).unwrap();
            put(&path.join(name));
            let before = fs::read(&target).unwrap();
            // One file is generated again, the other one is not, and there is a new one.
            for generated in [
                &[("base/a", "new\n"), ("z", "z\n")],
                &[("b", "new\n"), ("z", "z\n")],
            ] {
                let wanted = Folder::new(path, "website".into(), files(generated));
                for error in [
                    wanted.write().unwrap_err(),
                    wanted.difference().unwrap_err(),
                ] {
                    let place = path.join(name).display().to_string();
                    assert!(error.starts_with(&place), "{error}");
                    assert!(error.contains(expected), "{error}");
                }
            }
            assert!(!path.join("z").exists(), "{name}");
            assert_eq!(fs::read(&target).unwrap(), before);
        }
    }
}

#[test]
fn a_file_or_a_link_in_the_place_of_a_folder_is_not_replaced() {
    let outside = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path();
    let refused = |expected: &str| {
        let error = folder(path, &[("base/a", "new\n"), ("b", "b\n")]).unwrap_err();
        assert_eq!(error, format!("{}/base {expected}", path.display()));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    };
    folder(path, &[("b", "b\n")]).unwrap();
    fs::write(path.join("base"), "mine\n").unwrap();
    refused("is a file, but a folder is generated there: move it elsewhere");
    fs::remove_file(path.join("base")).unwrap();
    symlink(outside.path(), path.join("base")).unwrap();
    refused(
        "is a symbolic link, and would be replaced: put what it points to in its place, or remove it",
    );
}

#[test]
fn a_foreign_file_that_is_no_text_is_not_to_be_removed() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path();
    folder(path, &[("a", "a\n")]).unwrap();
    fs::write(path.join("b"), b"\xff").unwrap();
    let error = folder(path, &[("a", "a\n"), ("b", "b\n")]).unwrap_err();
    let expected = "b exists, but was not generated: move it elsewhere";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_file_beside_that_is_a_link_is_not_written_through() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("mine");
    fs::write(&target, "mine\n").unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path();
    folder(path, &[("a", "a\n")]).unwrap();
    symlink(&target, path.join(".a.new")).unwrap();
    folder(path, &[("a", "new\n")]).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "new\n");
    assert!(!path.join("a").is_symlink());
}

/// Root may read everything, so no file is unreadable for all who run this test.
#[test]
fn an_unreadable_file_is_an_error_with_what_to_do() {
    let said = unreadable(&ErrorKind::PermissionDenied.into());
    assert_eq!(
        said,
        "cannot be read: permission denied: let this user read it"
    );
}

/// An end of the process after each number of steps, in a new folder and in one that was generated before.
#[test]
fn the_next_run_does_what_an_interrupted_one_has_left() {
    const OLD: [(&str, &str); 3] = [("base/a", GENERATED), ("b", "b\n"), ("c", "c\n")];
    let newer = GENERATED.replace("a: 1", "a: 3");
    let new = [("base/a", &*newer), ("b", "new\n"), ("d/e", "e\n")];
    for was_generated in [false, true] {
        for taken in 0.. {
            let temporary = tempfile::tempdir().unwrap();
            let path = temporary.path();
            let own = |text: &str| text.replace("settings\n# END", "settings\nmine: 2\n# END");
            let mut expected = newer.clone();
            if was_generated {
                folder(path, &OLD).unwrap();
                fs::write(path.join("base/a"), own(GENERATED)).unwrap();
                fs::write(path.join("mine"), "mine\n").unwrap();
                expected = own(&newer);
            }
            let interrupted = Folder::new(path, "website".into(), files(&new));
            let steps = interrupted.prepare().unwrap();
            steps
                .iter()
                .take(taken)
                .for_each(|step| step.take().unwrap());
            if taken == steps.len() {
                assert_eq!(interrupted.difference(), Ok(String::new()));
                break;
            }
            // In a new folder, the last step moves a record like the first one.
            let is_complete = !was_generated && taken + 1 == steps.len();
            let difference = interrupted.difference().unwrap();
            assert_eq!(difference.is_empty(), is_complete, "{taken}");

            // A change of the user is seen after each step.
            let kept = contents(path);
            if was_generated {
                fs::write(path.join("b"), "changed\n").unwrap();
                let error = interrupted.write().unwrap_err();
                assert!(
                    error.contains("b was changed outside of the marks"),
                    "{error}"
                );
                let b = &kept[&path.join("b").display().to_string()];
                fs::write(path.join("b"), b).unwrap();
                assert_eq!(contents(path), kept);
            }
            // So the same program repairs the folder, and so does another version of it.
            for generated in [&new[..], &[("base/a", &*newer), ("b", "newest\n")]] {
                folder(path, generated).unwrap();
                let repaired = Folder::new(path, "website".into(), files(generated));
                assert_eq!(repaired.difference(), Ok(String::new()));
                let mut names: Vec<String> = generated
                    .iter()
                    .map(|(name, _)| (*name).to_owned())
                    .collect();
                names.push(RECORD.into());
                names.extend(was_generated.then(|| "mine".to_owned()));
                names.sort();
                let found = contents(path).into_keys();
                let shown = format!("{}/", path.display());
                let found: Vec<String> = found.map(|name| name.replace(&shown, "")).collect();
                assert_eq!(found, names, "after {taken} steps");
                assert_eq!(fs::read_to_string(path.join("base/a")).unwrap(), expected);
            }
        }
    }
}

#[test]
fn an_older_version_repairs_what_a_newer_one_has_left() {
    for taken in 0.. {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path();
        folder(path, &[("a", "old\n"), ("b", "old\n")]).unwrap();
        let before = contents(path);
        let newer = files(&[("a", "new\n"), ("b", "new\n"), ("c", "new\n")]);
        let steps = Folder::new(path, "website".into(), newer)
            .prepare()
            .unwrap();
        // What is known of it before the first step is too little to find its file beside.
        if taken == 0 {
            fs::remove_file(path.join(".c.new")).unwrap();
        }
        steps
            .iter()
            .take(taken)
            .for_each(|step| step.take().unwrap());
        folder(path, &[("a", "old\n"), ("b", "old\n")]).unwrap();
        assert_eq!(contents(path), before, "after {taken} steps");
        if taken == steps.len() {
            break;
        }
    }
}
