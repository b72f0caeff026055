use std::{
    env,
    future::Future,
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::{
    NoFlags, Operator, OperatorError,
    command_line::{CommandAction, CommandLine},
    logging,
    signals::Signals,
};
use crate::{
    client::{Client, Config, KubeconfigOptions},
    crd,
};

/// Exit code after a second signal, as shells report an interrupt.
const INTERRUPTED: u8 = 130;

impl Operator {
    /// The whole program: reads the command line and does what it says.
    ///
    /// It exits with 0 after an orderly stop, with 1 when it cannot start, with 2 for a command line that it does not
    /// understand, and with 130 after a second signal.
    #[must_use = "the exit code is what `main` returns"]
    pub fn main(self) -> ExitCode {
        self.main_with::<NoFlags>()
    }

    /// As [`main`](Self::main), with flags of the user's own beside the framework's; a reconciler gets them from
    /// [`Setup::flags`](super::Setup::flags). `F` may be written by hand or derived with clap.
    #[must_use = "the exit code is what `main` returns"]
    pub fn main_with<F: Args>(self) -> ExitCode {
        match CommandLine::parse::<F>(&self.name, env::args_os()) {
            Ok(line) => self.execute(line).unwrap_or_else(|error| {
                // Nothing is left to tell it to when standard error is closed.
                let _ = writeln!(io::stderr(), "error: {error}");
                ExitCode::FAILURE
            }),
            Err(error) => {
                let _ = error.print();
                u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
            }
        }
    }

    pub(super) fn execute(mut self, line: CommandLine) -> Result<ExitCode, OperatorError> {
        if line.action != CommandAction::Crd {
            logging::init(line.log.as_deref(), line.log_format)?;
        }
        self.flags = Some(line.matches);
        match line.action {
            CommandAction::Crd => self.print_definitions(),
            CommandAction::Run {
                kubeconfig,
                namespaces,
                metrics_address,
            } => {
                self = self.in_namespaces(namespaces);
                self.metrics_address = metrics_address;
                block_on(async move {
                    let cancel = CancellationToken::new();
                    supervised(&cancel, self.run_in_cluster(&kubeconfig, cancel.clone())).await
                })
            }
            CommandAction::Dev {
                port,
                namespaces,
                metrics_address,
            } => {
                self = self.in_namespaces(namespaces);
                self.metrics_address = metrics_address;
                block_on(async move {
                    let cancel = CancellationToken::new();
                    supervised(&cancel, self.develop(port, cancel.clone())).await
                })
            }
        }
    }

    /// What the command line says comes first.
    fn in_namespaces(self, namespaces: Vec<String>) -> Self {
        if namespaces.is_empty() {
            return self;
        }
        self.namespaces(namespaces)
    }

    fn print_definitions(&self) -> Result<ExitCode, OperatorError> {
        let mut output = io::stdout().lock();
        for definition in self.definitions()? {
            write!(output, "---\n{}", crd::to_yaml(&definition)).map_err(OperatorError::Output)?;
        }
        output.flush().map_err(OperatorError::Output)?;
        Ok(ExitCode::SUCCESS)
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
        let client = Client::builder(config)
            .metrics(self.metrics.clone())
            .user_agent(self.name.clone())
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
            cancel.cancelled().await;
            running.stop().await;
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

/// Does `work` until it ends. The first signal cancels it, which it answers in order; the second ends it at once.
pub(super) async fn supervised(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<(), OperatorError>>,
) -> Result<ExitCode, OperatorError> {
    let mut signals = Signals::new()?;
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done.map(|()| ExitCode::SUCCESS),
            () = signals.next() => {
                if cancel.is_cancelled() {
                    return Ok(ExitCode::from(INTERRUPTED));
                }
                tracing::info!("stopping; another signal stops at once");
                cancel.cancel();
            }
        }
    }
}

pub(super) fn block_on(
    work: impl Future<Output = Result<ExitCode, OperatorError>>,
) -> Result<ExitCode, OperatorError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(work);
    // A name being looked up or a file being read must not hold the end.
    runtime.shutdown_background();
    done
}

#[cfg(feature = "dev")]
fn say(text: &str) -> Result<(), OperatorError> {
    let mut output = io::stdout().lock();
    writeln!(output, "{text}")
        .and_then(|()| output.flush())
        .map_err(OperatorError::Output)
}
