use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::Instant,
};

use super::{
    operator::{Banner, Event, Operator},
    server::Server,
    sources::Sources,
};
use crate::{
    arguments::DevOptions,
    build::{Built, build},
    error::Error,
    package::Package,
};

/// Works until Ctrl-C or SIGTERM.
pub(super) async fn run(
    options: DevOptions,
    package: Package,
    program: String,
) -> Result<(), Error> {
    let folder = package.target.join("pilothouse").join(&package.name);
    let _alone = alone(&folder, &package.name)?;
    let server = Server::start(options.port, options.data.as_deref(), &folder).await?;
    println!(
        "The API server runs: export KUBECONFIG={}",
        server.kubeconfig.display()
    );
    let mut session = Session {
        sources: Sources::new(package.sources.clone(), package.target.clone()),
        options,
        package,
        program,
        kubeconfig: server.kubeconfig.clone(),
        operator: None,
        banner: Banner::Shown,
    };
    let done = tokio::select! {
        done = session.work() => done,
        signal = stop_requested() => signal,
    };
    println!("Stopping …");
    if let Some(operator) = session.operator.take() {
        operator.stop().await?;
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
        Err(TryLockError::Error(source)) => Err(Error::file(path)(source)),
    }
}

/// A run of `dev`.
struct Session {
    options: DevOptions,
    package: Package,
    program: String,
    kubeconfig: PathBuf,
    sources: Sources,
    /// The operator of the last good build.
    operator: Option<Operator>,
    banner: Banner,
}

impl Session {
    async fn work(&mut self) -> Result<(), Error> {
        loop {
            let began = Instant::now();
            println!("Building {} …", self.package.name);
            match build(&self.package, &self.program).await? {
                Built::Failed => {
                    let meanwhile = match self.operator {
                        Some(_) => "The operator of the last build goes on. ",
                        None => "",
                    };
                    println!("The build failed. {meanwhile}Waiting for a change …");
                }
                Built::Same(_) if self.operator.is_some() => {
                    println!("The program is as it was. Waiting for a change …");
                }
                Built::New(path) | Built::Same(path) => self.restart(&path, began).await?,
            }
            self.until_change(began).await?;
        }
    }

    /// Starts the program, and ends its predecessor before.
    async fn restart(&mut self, path: &Path, began: Instant) -> Result<(), Error> {
        if let Some(operator) = self.operator.take() {
            println!(
                "Built in {:.1} s. Restarting …",
                began.elapsed().as_secs_f32()
            );
            operator.stop().await?;
        }
        let arguments = &self.options.arguments;
        let operator = Operator::start(path, &self.kubeconfig, arguments, self.banner)?;
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
                    println!("\n{} has changed.", self.shown(&path));
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
                    println!(
                        "Save a source, and the operator is built and started again. Ctrl-C stops it and {objects}."
                    );
                }
                Event::Ready => {
                    let time = began.elapsed().as_secs_f32();
                    println!(
                        "{} is running, {time:.1} s after the change.",
                        self.package.name
                    );
                }
                Event::Ended(status) => {
                    println!("The operator has ended ({status}). Waiting for a change …");
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

/// Returns on Ctrl-C or SIGTERM.
async fn stop_requested() -> Result<(), Error> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminated = signal(SignalKind::terminate())?;
        tokio::select! {
            done = tokio::signal::ctrl_c() => done?,
            _ = terminated.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
}
