use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    places::{self, Places},
    record::{RECORD, Record},
};
use crate::{manifests::Files, operator::printed};

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

/// A part of the change of a folder. The process may end after any of them: the next run then does the rest.
#[derive(Debug)]
pub(super) enum Step {
    /// A file that is not generated any more is removed.
    Remove(PathBuf),
    /// A file that was written beside its place is moved there.
    Move { beside: PathBuf, place: PathBuf },
}

impl Step {
    pub(super) fn take(&self) -> Result<(), String> {
        let (done, place, what) = match self {
            Self::Remove(place) => (fs::remove_file(place), place, "removed"),
            Self::Move { beside, place } => (fs::rename(beside, place), place, "written"),
        };
        done.map_err(|error| {
            format!(
                "{} cannot be {what}: {error}: run the command again when this is mended",
                place.display()
            )
        })
    }
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
        self.prepare()?.iter().try_for_each(Step::take)
    }

    /// Checks everything, and writes the files beside their places. Returns what is left to do, in its order.
    ///
    /// The first step records the checksums of the old and of the new content, and the last one only those of the new content. So after
    /// each step, every file is one of the record's, and a change of the user is still seen.
    pub(super) fn prepare(&self) -> Result<Vec<Step>, String> {
        let old = self.record()?;
        self.check_parent()?;
        let mut contents = Files::new();
        for (name, generated) in &self.files {
            contents.insert(name.clone(), self.content(name, generated, &old)?);
        }
        let outdated = old.names().filter(|name| !self.files.contains_key(*name));
        let mut removals = Vec::new();
        for name in outdated {
            // An interrupted run of another version left it.
            let left = beside(&self.path.join(name), BESIDE);
            removals.extend(left.exists().then_some(Step::Remove(left)));
            let Some(present) = self.present(name, &old)? else {
                continue;
            };
            if !present.is_unchanged || present.places.values().any(|lines| !lines.is_empty()) {
                let problem = "was changed, but is not generated any more: remove it";
                return Err(self.problem(name, problem));
            }
            removals.push(Step::Remove(self.path.join(name)));
        }
        let new = Record::new(&self.files);
        let both = old.and(&new).to_text(&self.command);
        let new = new.to_text(&self.command);
        let place = |name: &str| self.path.join(name);
        let files = contents
            .iter()
            .map(|(name, content)| (place(name), &**content));
        let files = files.chain([(place(RECORD), &*new)]);
        let mut writing = Writing::default();
        let recorded = writing.write(place(RECORD), RECORD_FIRST, &both);
        let moves = recorded.and_then(|recorded| {
            let moves = files.map(|(place, content)| writing.write(place, BESIDE, content));
            let moves = moves.collect::<Result<Vec<_>, _>>()?;
            Ok([recorded]
                .into_iter()
                .chain(removals)
                .chain(moves)
                .collect())
        });
        moves.inspect_err(|_| writing.undo())
    }

    /// Returns what `write` would change in the folder, as a text of differences. The text is empty if `write` would change nothing.
    ///
    /// # Errors
    /// A text that names the file, the problem and what to do.
    pub(in crate::operator) fn difference(&self) -> Result<String, String> {
        let mut differences = String::new();
        let old = self.record()?;
        if !self.path.exists() {
            let shown = self.path.display();
            return Err(format!(
                "{shown} does not exist: correct the name, or write it with `{} {shown}` and the other flags of this command",
                self.command
            ));
        }
        let new = Record::new(&self.files).to_text(&self.command);
        let mut files: BTreeMap<&str, &str> = BTreeMap::new();
        files.extend(old.names().map(|name| (name, "")));
        files.insert(RECORD, &new);
        files.extend(self.files.iter().map(|(name, text)| (&**name, &**text)));
        for (name, generated) in files {
            let present = self.present(name, &old)?;
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
    fn content(&self, name: &str, generated: &str, old: &Record) -> Result<String, String> {
        let Some(present) = self.present(name, old)? else {
            return Ok(generated.to_owned());
        };
        let is_new = places::split(&present.text).is_ok_and(|(rest, _)| rest == generated);
        if !present.is_unchanged && !is_new {
            let problem = match old.has(name) {
                true => {
                    "was changed outside of the marks `BEGIN own` and `END own`: move the change between them or into a file of its own, \
                     or remove the file to have it generated anew"
                }
                false => NOT_GENERATED,
            };
            return Err(self.problem(name, problem));
        }
        places::fill(generated, &present.places).map_err(|problem| self.problem(name, &problem))
    }

    fn present(&self, name: &str, old: &Record) -> Result<Option<Present>, String> {
        let Some(bytes) = self.read(name)? else {
            return Ok(None);
        };
        let Ok(text) = String::from_utf8(bytes) else {
            let problem = match name == RECORD || old.has(name) {
                true => {
                    "is no text in UTF-8 any more: restore it from version control, or remove it to have it generated anew"
                }
                false => NOT_GENERATED,
            };
            return Err(self.problem(name, problem));
        };
        let (rest, places) =
            places::split(&text).map_err(|problem| self.problem(name, &problem))?;
        Ok(Some(Present {
            is_unchanged: old.has_text(name, &rest),
            places,
            text,
        }))
    }

    /// The content of a file in the folder. A symbolic link is an error: the generated file would take its place, or be written outside of
    /// the folder.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let mut place = self.path.to_owned();
        let mut parts = Path::new(name).components().peekable();
        while let Some(part) = parts.next() {
            place.push(part);
            let Ok(found) = fs::symlink_metadata(&place) else {
                break;
            };
            let problem = match parts.peek() {
                _ if found.is_symlink() => {
                    "is a symbolic link, and would be replaced: put what it points to in its place, or remove it"
                }
                Some(_) if !found.is_dir() => {
                    "is a file, but a folder is generated there: move it elsewhere"
                }
                None if found.is_dir() => {
                    "is a folder, but a file is generated there: move it elsewhere"
                }
                _ => continue,
            };
            return Err(format!("{} {problem}", place.display()));
        }
        match fs::read(self.path.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.problem(name, &unreadable(&error))),
        }
    }

    /// The record of what was generated last time.
    fn record(&self) -> Result<Record, String> {
        self.check_place()?;
        let Some(bytes) = self.read(RECORD)? else {
            return self.check_empty().map(|()| Record::default());
        };
        let again = |problem: &str| {
            let advice =
                "restore it from version control, or remove the folder and generate it anew";
            self.problem(RECORD, &format!("{problem}: {advice}"))
        };
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(again("is broken"));
        };
        if text.trim().is_empty() {
            return Err(again("is empty"));
        }
        let (command, lines) = text.split_once('\n').unwrap_or((&text, ""));
        if command != format!("# {}", self.command) {
            return Err(format!(
                "{} was generated by another command, {}: choose another folder",
                self.path.display(),
                command.trim_start_matches("# ")
            ));
        }
        Record::parse(lines).ok_or_else(|| again("is broken"))
    }

    /// Whether the folder is new or empty, apart from what an interrupted run has left before its first step.
    fn check_empty(&self) -> Result<(), String> {
        let shown = self.path.display();
        match self.has_only_files_beside(self.path) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!(
                "{shown} is not empty and has no {RECORD}: choose a new or an empty folder. If it was generated, restore {RECORD} from version \
                 control"
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!(
                "{shown} cannot be used as a folder: {error}: name another folder"
            )),
        }
    }

    fn has_only_files_beside(&self, folder: &Path) -> io::Result<bool> {
        for entry in fs::read_dir(folder)? {
            let (kind, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
            let names = self.files.keys().map(String::as_str).chain([RECORD]);
            let mut places = names.map(|name| self.path.join(name));
            let is_beside = match kind?.is_dir() {
                true => self.has_only_files_beside(&path)?,
                false => places.any(|place| {
                    [BESIDE, RECORD_FIRST]
                        .iter()
                        .any(|suffix| beside(&place, suffix) == path)
                }),
            };
            if !is_beside {
                return Ok(false);
            }
        }
        Ok(true)
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

    /// Whether the folder in which a new one is created exists. Its name may be misspelled, so it is not created, too.
    fn check_parent(&self) -> Result<(), String> {
        let parent = self.path.parent();
        let Some(parent) = parent.filter(|parent| !parent.as_os_str().is_empty()) else {
            return Ok(());
        };
        match fs::metadata(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!(
                "{} cannot be created because the folder {parent} does not exist: correct the name, or create it with `mkdir -p {parent}`",
                self.path.display(),
                parent = parent.display()
            )),
            // Other errors come again when the folder is written.
            _ => Ok(()),
        }
    }

    fn problem(&self, name: &str, problem: &str) -> String {
        format!("{} {problem}", self.path.join(name).display())
    }
}

const NOT_GENERATED: &str = "exists, but was not generated: move it elsewhere";

/// Ends the name of a new file before it is moved.
const BESIDE: &str = ".new";
/// The same for the record that is moved first.
const RECORD_FIRST: &str = ".both";

/// Where a file is written before it is moved.
fn beside(place: &Path, suffix: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().display();
    place.with_file_name(format!(".{name}{suffix}"))
}

pub(super) fn unreadable(error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => ": let this user read it",
        _ => "",
    };
    format!("cannot be read: {error}{advice}")
}

/// Files and folders that were created so far.
#[derive(Default)]
struct Writing {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Writing {
    /// Writes a file beside its place. Returns how it gets there.
    fn write(&mut self, place: PathBuf, suffix: &str, content: &str) -> Result<Step, String> {
        let beside = beside(&place, suffix);
        let folder = place.parent().unwrap_or(Path::new("")).to_owned();
        let done = self.create_folders(&folder).and_then(|()| {
            self.files.push(beside.clone());
            write_new(&beside, content)
        });
        match done {
            Ok(()) => Ok(Step::Move { beside, place }),
            Err(error) => {
                let advice = match error.kind() {
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => format!(
                        ": let this user write to {}, or name another folder",
                        folder.display()
                    ),
                    _ => String::new(),
                };
                Err(format!(
                    "{} cannot be written: {error}{advice}",
                    place.display()
                ))
            }
        }
    }

    /// Creates a folder and its missing parents.
    fn create_folders(&mut self, folder: &Path) -> io::Result<()> {
        let all = folder.ancestors();
        let is_missing = |one: &&Path| !one.as_os_str().is_empty() && !one.exists();
        let missing: Vec<&Path> = all.take_while(is_missing).collect();
        for one in missing.into_iter().rev() {
            fs::create_dir(one)?;
            self.folders.push(one.to_owned());
        }
        // An error if it is a file.
        fs::create_dir_all(folder)
    }

    /// Removes everything. The error before is what the user has to know.
    fn undo(&self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Writes a file that an interrupted run may have left. If it is a link, nothing is written to where it points.
fn write_new(path: &Path, content: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)?.write_all(content.as_bytes())
}
