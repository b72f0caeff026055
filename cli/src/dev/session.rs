use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Instant, SystemTime},
};

use tokio::signal::unix::{SignalKind, signal};

use super::{
    inputs::{self, Inputs},
    operator::{Banner, Event, Operator},
    server::Server,
    sources::Sources,
};
use crate::{
    arguments::DevOptions,
    build::build,
    error::Error,
    package::Package,
    terminal::{quoted, say},
};

/// The most changed files that are named.
const MOST_NAMED: usize = 3;

/// Works until Ctrl-C, SIGTERM, or the end of the terminal.
pub(super) async fn run(
    options: DevOptions,
    package: Package,
    program: String,
) -> Result<(), Error> {
    let folder = package.target.join("pilothouse").join(&package.name);
    let _alone = alone(&folder, &package.name)?;
    let server = Server::start(options.port, options.data.as_deref(), &folder).await?;
    let kubeconfig = quoted(&server.kubeconfig);
    say(&format!(
        "The API server runs: export KUBECONFIG={kubeconfig}"
    ));
    let data = options.data.iter().map(|data| data.canonicalize());
    let ignored = data.flatten().chain([package.target.clone()]).collect();
    let places = package.sources.iter().cloned();
    let places = places.chain(inputs::settings(&package.folder)).collect();
    let mut session = Session {
        sources: Sources::new(places, ignored),
        folder,
        options,
        package,
        program,
        server: &server,
        operator: None,
        next: None,
        next_built: None,
        started: None,
        banner: Banner::Shown,
        not_simulated: BTreeSet::new(),
    };
    let done = tokio::select! {
        done = session.work() => done,
        signal = stop_requested() => signal,
    };
    say("Stopping …");
    let operators = [session.next.take(), session.operator.take()];
    let stopped = async {
        for operator in operators.into_iter().flatten() {
            operator.stop().await?;
        }
        Ok::<(), Error>(())
    };
    // A second request does not wait for the operator, which is killed when it is dropped.
    tokio::select! {
        stopped = stopped => stopped?,
        signal = stop_requested() => signal?,
    }
    server.stop().await;
    done
}

/// A lock that ends with the process: a second run would take the kubeconfig of the first one.
fn alone(folder: &Path, name: &str) -> Result<File, Error> {
    let path = folder.join("lock");
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let lock = File::create(&path).map_err(Error::file(&path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::Running(name.into())),
        // Some network file systems have no locks.
        Err(TryLockError::Error(source)) if source.kind() == io::ErrorKind::Unsupported => Ok(lock),
        Err(TryLockError::Error(source)) => Err(Error::file(path)(source)),
    }
}

/// A run of `dev`.
struct Session<'a> {
    options: DevOptions,
    package: Package,
    program: String,
    server: &'a Server,
    sources: Sources,
    /// The folder of this run in the target folder.
    folder: PathBuf,
    /// The operator that works.
    operator: Option<Operator>,
    /// The operator of the last build, until its definitions are installed.
    next: Option<Operator>,
    /// When its program was built.
    next_built: Option<SystemTime>,
    /// When the program of the operator that works was built.
    started: Option<SystemTime>,
    banner: Banner,
    /// The kinds that the user knows as not simulated.
    not_simulated: BTreeSet<String>,
}

impl Session<'_> {
    async fn work(&mut self) -> Result<(), Error> {
        loop {
            let (began, wall) = (Instant::now(), SystemTime::now());
            say(&format!("Building {} …", self.package.name));
            let built = build(&self.package, &self.program).await?;
            let read = built.as_ref();
            let read = read.and_then(|path| Inputs::of(path, &self.package));
            self.sources.built(read, wall);
            match built {
                None => say(&format!(
                    "The build failed. {}Waiting for a change …",
                    self.meanwhile()
                )),
                Some(path) => {
                    // Another Cargo may have built it meanwhile, so that it is new although this build did nothing.
                    let built = fs::metadata(&path)
                        .and_then(|metadata| metadata.modified())
                        .ok();
                    if self.operator.is_some() && built.is_some() && built == self.started {
                        say("The program is as it was. Waiting for a change …");
                    } else {
                        self.server.write_kubeconfig()?;
                        self.next_built = built;
                        self.next = Some(self.start(&path)?);
                    }
                }
            }
            self.until_change(began).await?;
        }
    }

    /// Starts the program, which does not work yet.
    fn start(&self, path: &Path) -> Result<Operator, Error> {
        let (kubeconfig, arguments) = (&self.server.kubeconfig, &self.options.arguments);
        Operator::start(path, kubeconfig, &self.folder, arguments, self.banner)
    }

    /// Ends the operator that works, and lets the next one work.
    async fn take_turns(&mut self, mut next: Operator, began: Instant) -> Result<(), Error> {
        if let Some(operator) = self.operator.take() {
            let time = began.elapsed().as_secs_f32();
            say(&format!("Built in {time:.1} s. Restarting …"));
            operator.stop().await?;
        }
        next.work().await;
        self.started = self.next_built;
        self.operator = Some(next);
        Ok(())
    }

    fn meanwhile(&self) -> &'static str {
        match self.operator {
            Some(_) => "The operator of the last build goes on. ",
            None => "",
        }
    }

    /// Waits for a change of a source, and tells what the operators do meanwhile.
    async fn until_change(&mut self, began: Instant) -> Result<(), Error> {
        loop {
            let event = tokio::select! {
                paths = self.sources.changed() => {
                    say(&format!("\n{}", self.told(&paths)));
                    if let Some(next) = self.next.take() {
                        next.stop().await?;
                    }
                    return Ok(());
                }
                event = event_of(&mut self.operator) => event?,
                event = event_of(&mut self.next) => match (event?, self.next.take()) {
                    (Event::Ended(status), _) => {
                        let next = match self.operator {
                            Some(_) => "new operator",
                            None => "operator",
                        };
                        say(&format!(
                            "The {next} does not start ({status}). {}Waiting for a change …",
                            self.meanwhile()
                        ));
                        continue;
                    }
                    (_, Some(next)) => {
                        self.take_turns(next, began).await?;
                        continue;
                    }
                    (_, None) => continue,
                },
            };
            match event {
                Event::Installed => {}
                Event::Ready if self.banner == Banner::Shown => {
                    self.banner = Banner::Left;
                    self.tell_not_simulated().await;
                    let objects = match &self.options.data {
                        None => "deletes everything in it".into(),
                        Some(folder) => format!("keeps the objects in {}", folder.display()),
                    };
                    say(&format!(
                        "Save a source, and the operator is built and started again. Ctrl-C stops it and {objects}."
                    ));
                }
                Event::Ready => {
                    let (name, time) = (&self.package.name, began.elapsed().as_secs_f32());
                    say(&format!("{name} is running, {time:.1} s after the change."));
                    self.tell_not_simulated().await;
                }
                Event::Ended(status) => {
                    say(&format!(
                        "The operator has ended ({status}). Waiting for a change …"
                    ));
                    self.operator = None;
                }
            }
        }
    }

    /// Names the kinds that the operator of the last change watches, and that nothing acts on here. Each is named once.
    async fn tell_not_simulated(&mut self) {
        let all = self.server.only_stored().await;
        let new: Vec<&str> = all
            .difference(&self.not_simulated)
            .map(|kind| &**kind)
            .collect();
        if !new.is_empty() {
            say(&format!(
                "Not simulated: {}.\nThe API server only stores these objects: nothing acts on them, and their status does not change.\n\
                 Write the status yourself: kubectl patch --subresource=status …\n",
                new.join(", ")
            ));
        }
        self.not_simulated.extend(all);
    }

    /// Which files have changed.
    fn told(&self, paths: &[PathBuf]) -> String {
        let shown = |path: &PathBuf| {
            let inner = path.strip_prefix(&self.package.folder);
            let inner = inner.or_else(|_| path.strip_prefix(&self.package.workspace));
            inner.unwrap_or(path).display().to_string()
        };
        changed(&paths.iter().map(shown).collect::<Vec<_>>())
    }
}

/// What an operator does by itself. It never returns without an operator.
async fn event_of(operator: &mut Option<Operator>) -> Result<Event, Error> {
    match operator {
        Some(operator) => operator.event().await,
        None => std::future::pending().await,
    }
}

/// The sentence about changed files.
fn changed(names: &[String]) -> String {
    let named = names.len().min(MOST_NAMED);
    match (&names[..named], names.len() - named) {
        ([one], 0) => format!("{one} has changed."),
        ([before @ .., last], 0) => format!("{} and {last} have changed.", before.join(", ")),
        (some, more) => format!("{} and {more} more files have changed.", some.join(", ")),
    }
}

/// Returns on Ctrl-C, on SIGTERM, and when the terminal is closed: the operator is in a process group of its own, and would stay.
async fn stop_requested() -> Result<(), Error> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    tokio::select! {
        done = tokio::signal::ctrl_c() => done?,
        _ = terminated.recv() => {}
        _ = hung_up.recv() => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_changed_files_are_told_or_counted() {
        let told = |names: &str| changed(&names.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(told("a.rs"), "a.rs has changed.");
        assert_eq!(told("a.rs b.rs"), "a.rs and b.rs have changed.");
        assert_eq!(told("a b c"), "a, b and c have changed.");
        assert_eq!(told("a b c d e"), "a, b, c and 2 more files have changed.");
    }
}
