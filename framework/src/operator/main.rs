use std::{
    env,
    future::Future,
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::{
    LogHandle, NoFlags, Operator, OperatorError,
    command_line::{CommandAction, CommandLine, Shared},
    logs::{self, Followed},
    settings::Defaults,
    signals::{Ends, SignalWatch},
    traces::Traces,
};
use crate::{
    client::{Client, Config, KubeconfigOptions},
    crd,
};

impl Operator {
    /// The whole program: reads the command line and does what it says.
    ///
    /// What it exits with stands on the [module's page](super).
    #[must_use = "the exit code is what `main` returns"]
    pub fn main(self) -> ExitCode {
        self.main_with::<NoFlags>()
    }

    /// As [`main`](Self::main), with flags of the user's own beside the framework's; a reconciler gets them from
    /// [`Setup::flags`](super::Setup::flags). `F` may be written by hand or derived with clap.
    #[must_use = "the exit code is what `main` returns"]
    pub fn main_with<F: Args>(self) -> ExitCode {
        let defaults = Defaults {
            metrics_address: self.metrics_address,
            namespaces: self.namespaces.clone(),
            elects: self.elects,
            election: self.election.clone(),
            serving: self.serving.clone(),
            debug_page: self.debug_page,
            debug_hosts: self.debug_hosts.clone(),
        };
        let environment = |name: &str| env::var_os(name);
        match CommandLine::parse::<F>(&self.name, &defaults, env::args_os(), &environment) {
            Ok(line) => self.execute(line).unwrap_or_else(|error| {
                // Nothing is left to tell it to when standard error is closed.
                let _ = writeln!(io::stderr(), "error: {error}");
                error.exit_code()
            }),
            Err(error) => {
                let _ = error.print();
                u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
            }
        }
    }

    pub(super) fn execute(mut self, line: CommandLine) -> Result<ExitCode, OperatorError> {
        let origin = line.settings.origin("log");
        let file = line.settings.file;
        let followed = file.map(|file| Followed { file, origin });
        self.flags = Some(line.settings.matches);
        match line.action {
            CommandAction::Crd => self.print_definitions(),
            CommandAction::Print(text) => print(&text),
            CommandAction::Run { kubeconfig, shared } => {
                supervised(self.stopping.clone(), |cancel| async move {
                    let (operator, observed) = self.observed(shared, followed)?;
                    let run = operator.run_in_cluster(&kubeconfig, cancel);
                    observed.until(run).await
                })
            }
            CommandAction::Dev { port, shared } => {
                supervised(self.stopping.clone(), |cancel| async move {
                    let (operator, observed) = self.observed(shared, followed)?;
                    observed.until(operator.develop(port, cancel)).await
                })
            }
        }
    }

    /// With what the settings say, and with its log and traces set up.
    fn observed(
        self,
        shared: Shared,
        followed: Option<Followed>,
    ) -> Result<(Self, Observed), OperatorError> {
        let traces = Traces::start(&self.name).map_err(OperatorError::Traces)?;
        let (traces, layer) = traces.unzip();
        logs::init(shared.log, shared.log_format, layer, &self.log);
        let observed = Observed {
            followed,
            log: self.log.clone(),
            traces,
        };
        let operator = Self {
            namespaces: shared.namespaces,
            election: shared.election.map(|flags| flags.onto(self.election)),
            metrics_address: shared.metrics_address,
            serving: shared.serving.serving,
            debug_page: shared.serving.debug_page,
            debug_hosts: shared.serving.debug_hosts,
            ..self
        };
        Ok((operator, observed))
    }

    fn print_definitions(&self) -> Result<ExitCode, OperatorError> {
        let mut text = String::new();
        for definition in self.definitions()? {
            text.push_str("---\n");
            text.push_str(&crd::to_yaml(&definition));
        }
        print(&text)
    }

    async fn run_in_cluster(
        self,
        kubeconfig: &KubeconfigOptions,
        cancel: CancellationToken,
    ) -> Result<(), OperatorError> {
        let client = self.client(Config::infer_with(kubeconfig).await?)?;
        tracing::info!(operator = self.name, server = client.server(), "starting");
        self.run(client, cancel).await
    }

    fn client(&self, config: Config) -> Result<Client, OperatorError> {
        let user_agent = match &self.version {
            Some(version) => format!("{}/{version}", self.name),
            None => self.name.clone(),
        };
        let client = Client::builder(config)
            .metrics(self.metrics.clone())
            .user_agent(user_agent)
            .build()?;
        Ok(client)
    }

    #[cfg(not(feature = "dev"))]
    #[expect(clippy::unused_async, reason = "the other build awaits")]
    async fn develop(self, _: u16, _: CancellationToken) -> Result<(), OperatorError> {
        Err(OperatorError::NoSandbox)
    }

    #[cfg(feature = "dev")]
    async fn develop(self, port: u16, cancel: CancellationToken) -> Result<(), OperatorError> {
        use super::dev::{Banner, DevCluster};

        say("Starting an API server in this process …")?;
        let cluster = DevCluster::start(&self.name, port).await?;
        let mut banner = Banner {
            operator: self.name.clone(),
            api_server: cluster.address(),
            kubeconfig: cluster.kubeconfig().to_owned(),
            http: None,
            serving: self.serving.clone(),
            example: self.example.clone(),
            definitions: self.definitions()?,
        };
        // What was started by then ends with the future that is dropped.
        let config = cluster.config();
        let started = cancel.run_until_cancelled(self.start_in(config, &banner.definitions));
        if let Some(running) = started.await {
            let running = running?;
            banner.http = running.http_address();
            if cancel.run_until_cancelled(running.synced()).await.is_some() {
                say(&banner.to_string())?;
            }
            let done = running.run_until(cancel).await;
            cluster.stop().await;
            return done;
        }
        cluster.stop().await;
        Ok(())
    }

    #[cfg(feature = "dev")]
    async fn start_in(
        self,
        config: Config,
        definitions: &[crd::CustomResourceDefinition],
    ) -> Result<super::Running, OperatorError> {
        let client = self.client(config)?;
        for definition in definitions {
            let name = definition.metadata.name.as_deref().unwrap_or_default();
            say(&format!("Installing {name} …"))?;
        }
        self.install(&client).await?;
        say("Starting the operator …")?;
        self.start(client).await
    }
}

/// The log and the traces of an operator that works.
struct Observed {
    followed: Option<Followed>,
    log: LogHandle,
    traces: Option<Traces>,
}

impl Observed {
    /// Follows the file of settings, if there is one, while the operator works; sends the last spans when it is done.
    async fn until(
        self,
        work: impl Future<Output = Result<(), OperatorError>>,
    ) -> Result<(), OperatorError> {
        let done = match self.followed {
            None => work.await,
            Some(followed) => {
                tracing::info!("settings of {}", followed.file.path.display());
                tokio::select! {
                    done = work => done,
                    // It has no end of its own; losing it between two looks at the file loses nothing.
                    () = followed.follow(self.log) => Ok(()),
                }
            }
        };
        if let Some(traces) = self.traces {
            traces.end().await;
        }
        done
    }
}

/// Writes what a subcommand is for.
fn print(text: &str) -> Result<ExitCode, OperatorError> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(OperatorError::Output)?;
    Ok(ExitCode::SUCCESS)
}

/// Does `work` on a runtime until it ends. The first signal cancels it, which it answers in order; the second ends
/// the process at once.
fn supervised<F: Future<Output = Result<(), OperatorError>>>(
    stopping: CancellationToken,
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<ExitCode, OperatorError> {
    let cancel = CancellationToken::new();
    let ends = Ends {
        cancel: cancel.clone(),
        stopping,
    };
    let _watch = SignalWatch::start(ends)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(work(cancel));
    // A name being looked up, a file being read or a reconcile that blocks its thread must not hold the end.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

#[cfg(feature = "dev")]
fn say(text: &str) -> Result<(), OperatorError> {
    let mut output = io::stdout().lock();
    writeln!(output, "{text}")
        .and_then(|()| output.flush())
        .map_err(OperatorError::Output)
}
