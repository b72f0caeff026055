use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use ring::digest::{SHA256, digest};

use super::places::{self, Places};
use crate::{manifests::Files, operator::printed};

/// The record of the generated files.
const RECORD: &str = ".generated";

/// The form of what `manifests` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) enum Output {
    /// One text on standard output, or compared with a file.
    Yaml,
    /// A folder for Kustomize.
    Kustomize(PathBuf),
    /// A folder with a Helm chart.
    Helm(PathBuf),
}

/// Generated files for a folder.
pub(in crate::operator) struct Folder<'a> {
    path: &'a Path,
    /// The command that generates it; the first line of the record.
    command: String,
    files: Files,
}

/// A generated file as it is in the folder.
struct Present {
    /// Whether it is what was generated last time, apart from the places of the user.
    is_unchanged: bool,
    places: Places,
    text: String,
}

impl<'a> Folder<'a> {
    pub(in crate::operator) fn new(path: &'a Path, command: String, files: Files) -> Self {
        Self {
            path,
            command,
            files,
        }
    }

    /// Writes the files. All are written beside the present ones first, and then moved.
    ///
    /// # Errors
    /// A text that names the file, the problem and what to do. Nothing has been changed then, unless moving a file failed.
    pub(in crate::operator) fn write(&self) -> Result<(), String> {
        let record = self.record()?;
        let mut contents = Files::new();
        for (name, generated) in &self.files {
            contents.insert(
                name.clone(),
                self.content(name, generated, record.get(name))?,
            );
        }
        let mut outdated = Vec::new();
        for (name, checksum) in record
            .iter()
            .filter(|(name, _)| !self.files.contains_key(*name))
        {
            let Some(present) = self.present(name, Some(checksum))? else {
                continue;
            };
            if !present.is_unchanged || present.places.values().any(|lines| !lines.is_empty()) {
                let problem = "was changed, but is not generated any more: remove it";
                return Err(self.problem(name, problem));
            }
            outdated.push(self.path.join(name));
        }
        contents.insert(RECORD.into(), self.new_record());
        let mut written: Vec<(PathBuf, PathBuf)> = Vec::new();
        let mut created: Vec<PathBuf> = Vec::new();
        for (name, content) in &contents {
            let place = self.path.join(name);
            let beside = place.with_file_name(format!(
                ".{}.new",
                place.file_name().unwrap_or_default().display()
            ));
            let folder = place.parent().unwrap_or(self.path).to_owned();
            let done =
                create_folders(&folder, &mut created).and_then(|()| fs::write(&beside, content));
            written.push((beside, place));
            if let Err(error) = done {
                for (beside, _) in &written {
                    // The first error is what the user has to know.
                    let _ = fs::remove_file(beside);
                }
                // A folder that is left would keep the next run from writing.
                for folder in created.iter().rev() {
                    let _ = fs::remove_dir(folder);
                }
                let advice = match error.kind() {
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => format!(
                        ": let this user write to {}, or name another folder",
                        folder.display()
                    ),
                    _ => String::new(),
                };
                return Err(self.problem(name, &format!("cannot be written: {error}{advice}")));
            }
        }
        // The record is moved last: if the process ends before, the next run finds what it would write.
        written.sort_by_key(|(_, place)| place.ends_with(RECORD));
        for place in outdated {
            fs::remove_file(&place)
                .map_err(|error| format!("{} cannot be removed: {error}", place.display()))?;
        }
        for (beside, place) in &written {
            fs::rename(beside, place)
                .map_err(|error| format!("{} cannot be written: {error}", place.display()))?;
        }
        Ok(())
    }

    /// Returns what `write` would change in the folder, as a text of differences. The text is empty if `write` would change nothing.
    ///
    /// # Errors
    /// A text that names the file, the problem and what to do.
    pub(in crate::operator) fn difference(&self) -> Result<String, String> {
        let mut differences = String::new();
        let record = self.record()?;
        let mut files: BTreeMap<&str, &str> = BTreeMap::new();
        files.extend(record.keys().map(|name| (&**name, "")));
        let new_record = self.new_record();
        files.insert(RECORD, &new_record);
        files.extend(self.files.iter().map(|(name, text)| (&**name, &**text)));
        for (name, generated) in files {
            let present = self.present(name, None)?;
            let (places, text) = match present {
                Some(present) => (present.places, present.text),
                None => (Places::new(), String::new()),
            };
            let wanted = places::fill(generated, &places);
            let wanted = wanted.map_err(|problem| self.problem(name, &problem))?;
            if text != wanted {
                differences += &format!("{}\n", self.path.join(name).display());
                differences += &printed::difference(&text, &wanted);
            }
        }
        Ok(differences)
    }

    /// The text of a generated file, with the lines that the user has added to the present one.
    fn content(
        &self,
        name: &str,
        generated: &str,
        checksum: Option<&String>,
    ) -> Result<String, String> {
        let Some(present) = self.present(name, checksum)? else {
            return Ok(generated.to_owned());
        };
        let is_new = places::split(&present.text).is_ok_and(|(rest, _)| rest == generated);
        if !present.is_unchanged && !is_new {
            let problem = match checksum {
                Some(_) => {
                    "was changed outside of the marks `BEGIN own` and `END own`: move the change between them or into a file of its own, \
                     or remove the file to have it generated anew"
                }
                None => "exists, but was not generated: move it elsewhere",
            };
            return Err(self.problem(name, problem));
        }
        places::fill(generated, &present.places).map_err(|problem| self.problem(name, &problem))
    }

    fn present(&self, name: &str, checksum: Option<&String>) -> Result<Option<Present>, String> {
        let text = match fs::read_to_string(self.path.join(name)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.problem(name, &format!("cannot be read: {error}"))),
        };
        let (rest, places) =
            places::split(&text).map_err(|problem| self.problem(name, &problem))?;
        Ok(Some(Present {
            is_unchanged: checksum.is_some_and(|checksum| *checksum == sum(&rest)),
            places,
            text,
        }))
    }

    /// The checksums of the files that were generated last time.
    fn record(&self) -> Result<BTreeMap<String, String>, String> {
        self.check_place()?;
        let text = match fs::read_to_string(self.path.join(RECORD)) {
            Ok(text) if text.trim().is_empty() => {
                let problem = "is empty: restore it from version control, or remove the folder and generate it anew";
                return Err(self.problem(RECORD, problem));
            }
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.check_empty().map(|()| BTreeMap::new());
            }
            Err(error) => return Err(self.problem(RECORD, &format!("cannot be read: {error}"))),
        };
        let mut lines = text.lines();
        let command = lines.next().unwrap_or_default();
        if command != format!("# {}", self.command) {
            return Err(format!(
                "{} was generated by another command, {}: choose another folder",
                self.path.display(),
                command.trim_start_matches("# ")
            ));
        }
        let mut files = BTreeMap::new();
        for line in lines {
            let entry = line.split_once("  ").filter(|(_, name)| is_below(name));
            let Some((checksum, name)) = entry else {
                let problem = "is broken: restore it from version control, or remove the folder and generate it anew";
                return Err(self.problem(RECORD, problem));
            };
            files.insert(name.to_owned(), checksum.to_owned());
        }
        Ok(files)
    }

    /// Whether the folder is new or empty.
    fn check_empty(&self) -> Result<(), String> {
        let shown = self.path.display();
        match fs::read_dir(self.path) {
            Ok(mut entries) => match entries.next() {
                None => Ok(()),
                Some(_) => Err(format!(
                    "{shown} is not empty and has no {RECORD}: choose a new or an empty folder. If it was generated, restore {RECORD} from version \
                     control; if an interrupted run left the files, delete them"
                )),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!("{shown} cannot be used as a folder: {error}")),
        }
    }

    /// Whether a folder is at the path, or could be created there.
    fn check_place(&self) -> Result<(), String> {
        let shown = self.path.display();
        for place in self.path.ancestors() {
            match fs::metadata(place) {
                Ok(found) if found.is_dir() => break,
                Ok(_) => {
                    return Err(format!(
                        "{shown} cannot be a folder because {} is a file: name another folder",
                        place.display()
                    ));
                }
                // A link to nothing.
                Err(error) if error.kind() == io::ErrorKind::NotFound && place.is_symlink() => {
                    return Err(format!(
                        "{shown} cannot be a folder because the symbolic link {} points to nothing: create what it points to, or remove \
                         the link",
                        place.display()
                    ));
                }
                // The parent says why, or is missing, too.
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn new_record(&self) -> String {
        let mut text = format!("# {}\n", self.command);
        for (name, content) in &self.files {
            text += &format!("{}  {name}\n", sum(content));
        }
        text
    }

    fn problem(&self, name: &str, problem: &str) -> String {
        format!("{} {problem}", self.path.join(name).display())
    }
}

/// Whether a path of the record stays in the folder. The file may come from elsewhere, and its files are removed.
fn is_below(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// Creates a folder and its missing parents. Adds those that it has created.
fn create_folders(folder: &Path, created: &mut Vec<PathBuf>) -> io::Result<()> {
    let all = folder.ancestors();
    let is_missing = |one: &&Path| !one.as_os_str().is_empty() && !one.exists();
    let missing: Vec<&Path> = all.take_while(is_missing).collect();
    for one in missing.into_iter().rev() {
        fs::create_dir(one)?;
        created.push(one.to_owned());
    }
    // An error if it is a file.
    fs::create_dir_all(folder)
}

/// The SHA-256 checksum as hexadecimal digits.
fn sum(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let path = temporary.path().join("deploy/chart");
        // A name of 255 bytes is possible, but the one beside it is longer.
        let too_long = "z".repeat(252);
        let error = folder(&path, &[("base/a", GENERATED), (&too_long, "")]).unwrap_err();
        assert!(error.contains("cannot be written"), "{error}");
        assert!(!temporary.path().join("deploy").exists());
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
}
