//! The walk through all pages.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process,
    time::{Duration, Instant},
};

use crate::{
    include, output,
    page::{Command, Place, Scene, Step},
    source,
    terminal::{Shell, Terminal},
};

/// A command may build the framework.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// What a reader has.
#[derive(Debug)]
pub struct Tools {
    /// The copy of the repository.
    pub repository: PathBuf,
    /// The folder into which Cargo builds.
    pub target: PathBuf,
    /// kubectl; without it, that of the PATH.
    pub kubectl: Option<PathBuf>,
}

impl Tools {
    /// The tools of this repository and of the environment.
    pub fn of_environment() -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let repository = repository.canonicalize().unwrap_or(repository);
        let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        // The first of several versions is the newest.
        let kubectl = env::var("PILOTHOUSE_KUBECTL").unwrap_or_default();
        let kubectl = kubectl.split(':').next().filter(|path| !path.is_empty());
        Self {
            target: target.unwrap_or_else(|| repository.join("target")),
            kubectl: kubectl.map(PathBuf::from),
            repository,
        }
    }
}

/// The pages of the tutorial in their order: the names of the files and their texts.
///
/// # Errors
/// If the book cannot be read.
pub fn pages(repository: &Path) -> Result<Vec<(String, String)>, String> {
    let book = repository.join("book/src");
    let read = |path: PathBuf| {
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let contents = read(book.join("SUMMARY.md"))?;
    let links = contents.split("](tutorial/").skip(1);
    let names = links.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    names
        .map(|name| Ok((name.clone(), read(book.join("tutorial").join(name))?)))
        .collect()
}

/// The text of another page of the book, with what it includes.
///
/// # Errors
/// If the page or what it includes cannot be read.
pub fn page(repository: &Path, name: &str) -> Result<String, String> {
    include::page(&repository.join("book/src").join(name))
}

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// An empty folder, in which the copy of the repository is called `pilothouse`.
    Beside,
    /// The copy of the repository.
    Repository,
}

/// Walks through the steps in an empty folder, as [`walk_from`] does.
pub fn walk(tools: &Tools, steps: &[Step]) -> Vec<String> {
    walk_from(Start::Beside, tools, steps)
}

/// Walks through the steps, and returns what was not as the book shows it.
///
/// After an output or an exit code that differs the walk goes on, so that one walk shows all differences. It stops after a listing that has no place, after
/// a command that does not end, and after a line that does not appear.
pub fn walk_from(start: Start, tools: &Tools, steps: &[Step]) -> Vec<String> {
    let mut walk = match Walk::begin(start, tools) {
        Ok(walk) => walk,
        Err(problem) => return vec![problem],
    };
    // The listings between two commands are saved together, as by an editor: the operator is built once.
    let mut unsaved = BTreeMap::new();
    for step in steps {
        let done = match step {
            Step::File { path, text, .. } => {
                unsaved.insert(walk.path(path), text.clone());
                Ok(())
            }
            Step::Items { place, path, text } => walk.put(&mut unsaved, place, path, text),
            Step::Run(command) => walk.save(&mut unsaved).and_then(|()| walk.run(command)),
            Step::Terminal { place, name, scene } => {
                let saved = walk.save(&mut unsaved);
                saved.and_then(|()| walk.terminal(place, name, scene))
            }
        };
        if let Err(problem) = done {
            walk.problems.push(problem);
            break;
        }
    }
    walk.end()
}

struct Walk<'a> {
    tools: &'a Tools,
    /// Programs and the caches of kubectl, beside the reader's folder.
    folder: PathBuf,
    shell: Shell,
    terminals: BTreeMap<String, Terminal>,
    problems: Vec<String>,
    began: Instant,
    /// Ends last.
    _temporary: tempfile::TempDir,
}

impl<'a> Walk<'a> {
    fn begin(start: Start, tools: &'a Tools) -> Result<Self, String> {
        let begin = || {
            let temporary = tempfile::tempdir()?;
            let folder = temporary.path().canonicalize()?;
            let home = folder.join("home");
            for folder in [&home, &folder.join("bin")] {
                fs::create_dir(folder)?;
            }
            symlink(&tools.repository, home.join("pilothouse"))?;
            if let Some(kubectl) = &tools.kubectl {
                symlink(kubectl, folder.join("bin/kubectl"))?;
            }
            let begins = match start {
                Start::Beside => &home,
                Start::Repository => &tools.repository,
            };
            let shell = Shell::start(bash(tools, &folder), begins)?;
            std::io::Result::Ok((temporary, folder, shell))
        };
        let (temporary, folder, mut shell) = begin().map_err(|error| error.to_string())?;
        // The tool and the operators are not built with all optimizations, and the tool with the locked dependencies. Its target folder is another one than the folder of the builds:
        // otherwise Cargo waits for itself.
        let quick = "cargo() { case $1 in install) CARGO_TARGET_DIR=$CARGO_INSTALL_ROOT/target command cargo \"$@\" --debug --locked ;; build) command cargo \"${@/#--release/--profile=dev}\" ;; *) command cargo \"$@\" ;; esac; }";
        shell.run(quick, LIMIT)?;
        Ok(Self {
            tools,
            folder,
            shell,
            terminals: BTreeMap::new(),
            problems: Vec::new(),
            began: Instant::now(),
            _temporary: temporary,
        })
    }

    fn path(&self, path: &str) -> PathBuf {
        self.shell.folder.join(path)
    }

    fn put(
        &self,
        unsaved: &mut BTreeMap<PathBuf, String>,
        place: &Place,
        path: &str,
        text: &str,
    ) -> Result<(), String> {
        let full = self.path(path);
        let source = match unsaved.get(&full) {
            Some(source) => source.clone(),
            None => {
                fs::read_to_string(&full).map_err(|error| format!("{place}: {path}: {error}"))?
            }
        };
        let source = source::put(&source, text).map_err(|problem| format!("{place}: {problem}"))?;
        unsaved.insert(full, source);
        Ok(())
    }

    fn save(&mut self, unsaved: &mut BTreeMap<PathBuf, String>) -> Result<(), String> {
        if !unsaved.is_empty() {
            // What comes now is about these files.
            self.terminals.values_mut().for_each(Terminal::skip);
        }
        for (path, text) in std::mem::take(unsaved) {
            let problem = |error| format!("{}: {error}", path.display());
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(problem)?;
            }
            fs::write(&path, text).map_err(problem)?;
        }
        Ok(())
    }

    fn run(&mut self, command: &Command) -> Result<(), String> {
        let Command {
            place,
            line,
            fails,
            output,
        } = command;
        let began = Instant::now();
        let done = self.shell.run(line, LIMIT);
        let done = done.map_err(|problem| format!("{place}: {line}\n{problem}"))?;
        self.progress(place, line, began);
        self.lock()?;
        if (done.code != 0) != *fails {
            let (code, printed) = (done.code, done.output);
            let problem = format!("{place}: {line}\nended with {code}:\n{printed}");
            self.problems.push(problem);
            return Ok(());
        }
        let lines: Vec<&str> = done.output.trim_end().lines().collect();
        if !output.is_empty() && !output::fits(output, &lines) {
            let (expected, printed) = (output.join("\n"), done.output);
            self.problems.push(format!(
                "{place}: {line}\nThe book shows:\n{expected}\nThe command printed:\n{printed}"
            ));
        }
        Ok(())
    }

    fn terminal(&mut self, place: &Place, name: &str, scene: &Scene) -> Result<(), String> {
        let began = Instant::now();
        match scene {
            Scene::Begin(line) => {
                let bash = bash(self.tools, &self.folder);
                let begun = Terminal::begin(bash, &self.shell.folder, line);
                let terminal = begun.map_err(|error| format!("{place}: {error}"))?;
                self.terminals.insert(name.to_owned(), terminal);
                self.progress(place, line, began);
                return Ok(());
            }
            Scene::Appears(expected) => {
                let terminal = self.open(place, name)?;
                let found = terminal.until(|line| output::line_fits(expected, line), LIMIT);
                found.map_err(|problem| {
                    format!("{place}: `{expected}` does not appear\n{problem}")
                })?;
                self.progress(place, expected, began);
            }
            Scene::Interrupt => {
                let mut terminal = self.terminals.remove(name);
                let terminal = terminal.as_mut().ok_or(format!("{place}: nothing runs"))?;
                let ended = terminal.interrupt(Duration::from_secs(60));
                ended.map_err(|problem| format!("{place}: {problem}"))?;
                self.warnings(&terminal.seen.clone());
                self.progress(place, "^C", began);
            }
        }
        Ok(())
    }

    fn open(&mut self, place: &Place, name: &str) -> Result<&mut Terminal, String> {
        let terminal = self.terminals.get_mut(name);
        terminal.ok_or_else(|| format!("{place}: nothing runs in the terminal `{name}`"))
    }

    /// The listings lead to no warning of the compiler.
    fn warnings(&mut self, lines: &[String]) {
        let begins = |line: &&String| line.starts_with("warning");
        let found = lines.iter().filter(begins);
        self.problems
            .extend(found.map(|line| format!("the compiler warns: {line}")));
    }

    /// A new project takes the versions of this repository, so that a walk does not depend on what was published today.
    fn lock(&self) -> Result<(), String> {
        let lock = self.path("Cargo.lock");
        if self.path("Cargo.toml").exists() && !lock.exists() {
            let copied = fs::copy(self.tools.repository.join("Cargo.lock"), &lock);
            copied.map_err(|error| format!("{}: {error}", lock.display()))?;
        }
        Ok(())
    }

    fn progress(&self, place: &Place, what: &str, began: Instant) {
        let (at, took) = (
            self.began.elapsed().as_secs(),
            began.elapsed().as_secs_f32(),
        );
        println!("{at:4} s  {took:5.1} s  {place}  {what}");
    }

    fn end(mut self) -> Vec<String> {
        for (name, mut terminal) in std::mem::take(&mut self.terminals) {
            if let Err(problem) = terminal.interrupt(Duration::from_secs(60)) {
                self.problems
                    .push(format!("the terminal `{name}`: {problem}"));
            }
            self.warnings(&terminal.seen.clone());
        }
        self.problems
    }
}

/// bash with the environment of a reader.
fn bash(tools: &Tools, folder: &Path) -> process::Command {
    let mut bash = process::Command::new("bash");
    let path = env::var_os("PATH").unwrap_or_default();
    let own = [folder.join("bin"), folder.join("installed/bin")];
    let all = own.into_iter().chain(env::split_paths(&path));
    if let Ok(path) = env::join_paths(all) {
        bash.env("PATH", path);
    }
    // What Cargo tells the test.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            bash.env_remove(&name);
        }
    }
    // The folder of the reader is the home, and Cargo stays where it is.
    for (name, place) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if let (None, Some(home)) = (env::var_os(name), env::home_dir()) {
            bash.env(name, home.join(place));
        }
    }
    bash.env("HOME", folder.join("home"))
        .env_remove("XDG_CACHE_HOME")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("KUBECONFIG")
        // What was built for the repository is not built again; the programs are in the folder of the reader.
        .env("CARGO_BUILD_BUILD_DIR", &tools.target)
        // A project without settings of its own would have debug information of its dependencies, and build all of them a second time.
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env("CARGO_INSTALL_ROOT", folder.join("installed"))
        .env("KUBECACHEDIR", folder.join("cache"));
    bash
}
