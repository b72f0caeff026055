use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
    time::{Instant, SystemTime},
};

use tokio::signal::unix::{SignalKind, signal};

use super::{
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
    let mut session = Session {
        sources: Sources::new(package.sources.clone(), ignored),
        options,
        package,
        program,
        server: &server,
        operator: None,
        started: None,
        banner: Banner::Shown,
    };
    let done = tokio::select! {
        done = session.work() => done,
        signal = stop_requested() => signal,
    };
    say("Stopping …");
    let operator = session.operator.take();
    let stopped = async {
        match operator {
            Some(operator) => operator.stop().await,
            None => Ok(()),
        }
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
    /// The operator of the last good build.
    operator: Option<Operator>,
    /// When its program was built.
    started: Option<SystemTime>,
    banner: Banner,
}

impl Session<'_> {
    async fn work(&mut self) -> Result<(), Error> {
        loop {
            let began = Instant::now();
            say(&format!("Building {} …", self.package.name));
            match build(&self.package, &self.program).await? {
                None => {
                    let meanwhile = match self.operator {
                        Some(_) => "The operator of the last build goes on. ",
                        None => "",
                    };
                    say(&format!(
                        "The build failed. {meanwhile}Waiting for a change …"
                    ));
                }
                Some(path) => {
                    // Another Cargo may have built it meanwhile, so that it is new although this build did nothing.
                    let built = fs::metadata(&path)
                        .and_then(|metadata| metadata.modified())
                        .ok();
                    if self.operator.is_some() && built.is_some() && built == self.started {
                        say("The program is as it was. Waiting for a change …");
                    } else {
                        self.started = built;
                        self.restart(&path, began).await?;
                    }
                }
            }
            self.until_change(began).await?;
        }
    }

    /// Starts the program, and ends its predecessor before.
    async fn restart(&mut self, path: &Path, began: Instant) -> Result<(), Error> {
        if let Some(operator) = self.operator.take() {
            let time = began.elapsed().as_secs_f32();
            say(&format!("Built in {time:.1} s. Restarting …"));
            operator.stop().await?;
        }
        self.server.write_kubeconfig()?;
        let (kubeconfig, arguments) = (&self.server.kubeconfig, &self.options.arguments);
        let operator = Operator::start(path, kubeconfig, arguments, self.banner)?;
        self.operator = Some(operator);
        Ok(())
    }

    /// Waits for a change of a source, and tells what the operator does meanwhile.
    async fn until_change(&mut self, began: Instant) -> Result<(), Error> {
        loop {
            let event = async {
                match &mut self.operator {
                    Some(operator) => operator.event().await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                path = self.sources.changed() => {
                    say(&format!("\n{} has changed.", self.shown(&path)));
                    return Ok(());
                }
                event = event => event?,
            };
            match event {
                Event::Ready if self.banner == Banner::Shown => {
                    self.banner = Banner::Left;
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

    fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.package.folder).unwrap_or(path);
        path.display().to_string()
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
