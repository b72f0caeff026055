use std::{
    env,
    future::Future,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{ArgMatches, Args};
use tokio_util::sync::CancellationToken;

use super::{
    CommandSetup, LogHandle, NoFlags, Operator, OperatorError,
    command_line::{CommandAction, CommandLine, DevOptions, RunOptions},
    compatible, definition_check,
    logs::{self, Filter, LogFormat, WatchedSettings},
    output::{Folder, Output},
    printed,
    settings::{Defaults, clash},
    signals::{SignalWatch, StopTokens},
    subcommands::{Subcommands, connect},
    traces::Traces,
};
use crate::{
    client::{Client, Config, KubeconfigOptions},
    crd,
};

impl Operator {
    /// Runs the whole program: parses the command line and executes its subcommand.
    ///
    /// The [module's page](super) lists the exit codes.
    #[must_use = "the exit code is what `main` returns"]
    pub fn main(self) -> ExitCode {
        self.main_with::<NoFlags>()
    }

    /// As [`main`](Self::main), with the program's own flags beside the framework's. A reconciler gets them from
    /// [`Setup::flags`](super::Setup::flags). Write `F` by hand or derive it with clap.
    #[must_use = "the exit code is what `main` returns"]
    pub fn main_with<F: Args>(self) -> ExitCode {
        let defaults = Defaults {
            version: self.version.clone(),
            metrics_address: self.metrics_address,
            namespaces: self.namespaces.clone(),
            elects: self.elects,
            election: self.election.clone(),
            serving: self.serving.clone(),
            debug_page: self.debug_page,
            debug_hosts: self.debug_hosts.clone(),
            webhooks: self.has_webhooks().then(|| self.webhook_serving.clone()),
            subcommands: self
                .subcommands
                .iter()
                .flat_map(Subcommands::definitions)
                .collect(),
        };
        let checked = self.check().and_then(|()| {
            clash::<F>(&self.name, &defaults)
                .map_or(Ok(()), |text| Err(OperatorError::CommandLine(text)))
        });
        if let Err(error) = checked {
            return failed(&error);
        }
        let environment = |name: &str| env::var_os(name);
        match CommandLine::parse::<F>(&self.name, &defaults, env::args_os(), &environment) {
            Ok(line) => self.execute(line).unwrap_or_else(|error| failed(&error)),
            Err(error) => refused(&error),
        }
    }

    pub(super) fn execute(mut self, line: CommandLine) -> Result<ExitCode, OperatorError> {
        let origin = line.settings.origin("log");
        let file = line.settings.file;
        let watched_settings = file.map(|file| WatchedSettings { file, origin });
        self.flags = Some(line.settings.matches);
        self.ends_process = true;
        match line.action {
            CommandAction::Own { name, kubeconfig } => {
                self.run_subcommand(name, kubeconfig, &line.settings.whole)
            }
            CommandAction::Crd {
                compatible_with: Some(file),
                ..
            } => {
                compatible::check(&file, &self.checked_definitions()?)?;
                Ok(ExitCode::SUCCESS)
            }
            CommandAction::Crd { check, .. } => {
                deliver(&self.definitions_as_yaml()?, check.as_deref())
            }
            CommandAction::InstallDefinitions {
                kubeconfig,
                is_forced,
            } => self.install_definitions(kubeconfig, is_forced),
            CommandAction::MigrateObjects { kubeconfig } => self.migrate_objects(kubeconfig),
            CommandAction::Rbac(mut options) => {
                let check = options.check.take();
                deliver(&self.roles_as_yaml(options)?, check.as_deref())
            }
            CommandAction::Manifests(mut options) => {
                let check = options.roles.check.take();
                let output = std::mem::replace(&mut options.output, Output::Yaml);
                let name = self.name.clone();
                let source = self.manifests_source(options)?;
                if let Some(warning) = source.warning() {
                    // If standard error is closed, it cannot be shown.
                    let _ = writeln!(io::stderr(), "warning: {warning}");
                }
                for note in source.notes() {
                    let _ = writeln!(io::stderr(), "note: {note}");
                }
                let (format, folder, files) = match &output {
                    Output::Yaml => {
                        if let Some(folder) = check.as_deref().filter(|path| path.is_dir()) {
                            let advice =
                                "say with --output kustomize or --output helm what is in it";
                            return Err(printed::is_folder(folder, advice));
                        }
                        return deliver(&source.to_yaml()?, check.as_deref());
                    }
                    Output::Kustomize(folder) => ("kustomize", folder, source.kustomize()?),
                    Output::Helm(folder) => ("helm", folder, source.helm()?),
                };
                let command = format!("{name} manifests --output {format}");
                let folder = Folder::new(folder, command, files);
                match check {
                    Some(path) => compare(&folder, path),
                    None => folder
                        .write()
                        .map(|()| ExitCode::SUCCESS)
                        .map_err(OperatorError::Folder),
                }
            }
            CommandAction::Alerts { format, check } => {
                deliver(&self.alerts_as_yaml(format)?, check.as_deref())
            }
            CommandAction::Dashboard { check } => {
                deliver(&self.dashboard_as_json()?, check.as_deref())
            }
            CommandAction::Uninstall(options) => self.uninstall(options),
            CommandAction::AdoptFrom {
                kubeconfig,
                flags,
                roles,
            } => self.adopt_from(kubeconfig, flags, roles),
            CommandAction::Print(text) => print(&text),
            CommandAction::Run {
                kubeconfig,
                options,
            } => supervised(self.stopping.clone(), |cancel| async move {
                let (operator, observability) =
                    self.with_observability(options, watched_settings)?;
                let run = operator.run_in_cluster(&kubeconfig, cancel);
                observability.run(run).await
            }),
            CommandAction::Dev { server, options } => {
                supervised(self.stopping.clone(), |cancel| async move {
                    let (operator, observability) =
                        self.with_observability(options, watched_settings)?;
                    let run = operator.run_dev(server, cancel);
                    observability.run(run).await
                })
            }
            CommandAction::Scorecard { files, options } => {
                // In front of the runtime: the check of the definitions has one of its own.
                let checked = self.checked_definitions();
                supervised(self.stopping.clone(), |cancel| async move {
                    let (operator, observability) =
                        self.with_observability(options, watched_settings)?;
                    let work = operator.scorecard(files, checked);
                    let work = async {
                        let done = cancel.run_until_cancelled(work).await;
                        let name = "scorecard".to_owned();
                        done.unwrap_or(Err(OperatorError::Interrupted { name }))
                    };
                    observability.run(work).await
                })
            }
        }
    }

    /// Runs a subcommand of the program's own until it ends or a signal comes.
    fn run_subcommand(
        self,
        name: String,
        kubeconfig: KubeconfigOptions,
        matches: &ArgMatches,
    ) -> Result<ExitCode, OperatorError> {
        let setup = self.command_setup(kubeconfig);
        let mut subcommands = self.subcommands.into_iter();
        let Some(subcommand) = subcommands.find(|one| one.contains(&name)) else {
            // The command line has only subcommands of these types.
            return Ok(ExitCode::FAILURE);
        };
        let work = match subcommand.start(matches, setup) {
            Ok(work) => work,
            Err(error) => return Ok(refused(&error)),
        };
        logs::init(Filter::default(), LogFormat::Text, None, &self.log);
        supervised(self.stopping, |cancel| async move {
            match cancel.run_until_cancelled(work).await {
                Some(Ok(())) => Ok(()),
                Some(Err(failure)) => {
                    let reason = failure.to_string();
                    Err(OperatorError::Subcommand { name, reason })
                }
                None => Err(OperatorError::Interrupted { name }),
            }
        })
    }

    /// Connects, and runs a command of the framework until it ends or a signal comes.
    pub(super) fn in_cluster<F: Future<Output = Result<(), OperatorError>>>(
        setup: CommandSetup,
        name: &str,
        stopping: CancellationToken,
        work: impl FnOnce(Client) -> F,
    ) -> Result<ExitCode, OperatorError> {
        logs::init(
            Filter::default(),
            LogFormat::Text,
            None,
            &LogHandle::default(),
        );
        supervised(stopping, |cancel| async move {
            let work = async {
                let config = Config::infer_with(&setup.kubeconfig).await?;
                // The output stays as it is for programs. If standard error is closed, the cluster cannot be shown.
                let _ = writeln!(io::stderr(), "Cluster: {}", shown_cluster(&config));
                work(setup.client_of(config)?).await
            };
            let done = cancel.run_until_cancelled(work).await;
            done.unwrap_or_else(|| {
                let name = name.to_owned();
                Err(OperatorError::Interrupted { name })
            })
        })
    }

    /// What a subcommand gets that connects to a cluster.
    pub(super) fn command_setup(&self, kubeconfig: KubeconfigOptions) -> CommandSetup {
        CommandSetup {
            operator: self.name.clone(),
            version: self.version.clone(),
            metrics: self.metrics.clone(),
            kubeconfig,
        }
    }

    /// Applies the settings, and sets up the log and the traces.
    fn with_observability(
        self,
        options: RunOptions,
        watched_settings: Option<WatchedSettings>,
    ) -> Result<(Self, Observability), OperatorError> {
        let traces = Traces::start(&self.name).map_err(OperatorError::Traces)?;
        let (traces, layer) = traces.unzip();
        logs::init(options.log.clone(), options.log_format, layer, &self.log);
        let observability = Observability {
            watched_settings,
            log: self.log.clone(),
            traces,
        };
        Ok((self.with_options(options), observability))
    }

    /// Applies the settings, except those of the log.
    pub(super) fn with_options(self, options: RunOptions) -> Self {
        Self {
            namespaces: options.namespaces,
            election: options.election.map(|flags| flags.onto(self.election)),
            metrics_address: options.metrics_address,
            serving: options.serving.serving,
            debug_page: options.serving.debug_page,
            debug_hosts: options.serving.debug_hosts,
            webhook_serving: options.webhooks.unwrap_or(self.webhook_serving),
            ..self
        }
    }

    fn definitions_as_yaml(&self) -> Result<String, OperatorError> {
        let definitions = self.checked_definitions()?;
        for note in definitions
            .iter()
            .filter_map(definition_check::conversion_note)
        {
            let _ = writeln!(io::stderr(), "note: {note}");
        }
        let text = crd::to_yaml(&definitions);
        let text = text.map_err(|error| OperatorError::Output(error.into()))?;
        // A leading separator lets the output of several programs be joined.
        let start = if text.is_empty() { "" } else { "---\n" };
        Ok(format!("{start}{text}"))
    }

    /// The definitions, after a check. Shows what the user should know about them.
    pub(super) fn checked_definitions(
        &self,
    ) -> Result<Vec<crd::CustomResourceDefinition>, OperatorError> {
        let definitions = self.own_definitions()?;
        for note in definition_check::check(&definitions)? {
            // If standard error is closed, the note cannot be shown.
            let _ = writeln!(io::stderr(), "note: {note}");
        }
        let definitions = definitions.into_iter().map(|own| own.definition);
        Ok(definitions.collect())
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
        connect(config, &self.name, self.version.as_deref(), &self.metrics)
    }

    #[cfg(not(feature = "dev"))]
    #[expect(clippy::unused_async, reason = "the other build awaits")]
    async fn run_dev(self, _: DevOptions, _: CancellationToken) -> Result<(), OperatorError> {
        Err(OperatorError::NoSandbox)
    }

    #[cfg(feature = "dev")]
    async fn run_dev(
        self,
        server: DevOptions,
        cancel: CancellationToken,
    ) -> Result<(), OperatorError> {
        use super::dev::{
            Banner, DevCluster, DevServer, Handover, InstallFiles, Objects, ambiguous_names,
            show_summary,
        };

        let mut operator = self;
        let handover = server.handover;
        let handover = handover.map(|folder| Handover::start(folder, cancel.clone()));
        let handover = handover.transpose()?;
        let install = InstallFiles::read(&server.install)?;
        let (cluster, objects) = match (&server.kubeconfig, server.data) {
            (Some(path), _) => (DevServer::of_kubeconfig(path).await?, Objects::Stay),
            (None, data) => {
                say("Starting an API server in this process …")?;
                let cluster =
                    DevCluster::start(&operator.name, server.port, data.as_deref()).await?;
                operator = operator.converts_in(cluster.sandbox());
                (
                    DevServer::Own(cluster),
                    data.map_or(Objects::End, Objects::Kept),
                )
            }
        };
        let mut banner = Banner {
            operator: operator.name.clone(),
            api_server: cluster.url(),
            kubeconfig: cluster.kubeconfig().to_owned(),
            taken_kubeconfig: cluster.taken_kubeconfig().map(Path::to_owned),
            http: None,
            serving: operator.serving.clone(),
            debug_page: operator.debug_page,
            example: operator.example.clone(),
            definitions: operator.definitions()?,
            ambiguous: Default::default(),
            routes: operator
                .routes
                .iter()
                .map(|(path, _)| path.clone())
                .collect(),
            objects,
            only_stored: Vec::new(),
        };
        // If the operator waits for something, its user needs kubectl to find out what.
        say(&banner.early())?;
        // Everything that was started ends with the dropped future.
        let config = cluster.config();
        let start = operator.start_in(config, &banner.definitions, install, handover);
        let started = cancel.run_until_cancelled(start);
        if let Some(running) = started.await {
            let running = running?;
            banner.http = running.http_address();
            banner.only_stored = cluster.only_stored(&running.kinds);
            let named = async {
                running.synced().await;
                ambiguous_names(cluster.config(), &banner.definitions).await
            };
            if let Some(ambiguous) = cancel.run_until_cancelled(named).await {
                banner.ambiguous = ambiguous;
                say(&banner.to_string())?;
                tokio::select! {
                    () = cancel.cancelled() => {}
                    () = running.shutdown_cause.reported().cancelled() => {}
                    never = show_summary(&running) => never,
                }
            }
            let done = running.run_until(cancel).await;
            cluster.stop().await;
            return done;
        }
        cluster.stop().await;
        Ok(())
    }

    #[cfg(not(feature = "dev"))]
    #[expect(clippy::unused_async, reason = "the other build awaits")]
    async fn scorecard(
        self,
        _: Vec<PathBuf>,
        _: Result<Vec<crd::CustomResourceDefinition>, OperatorError>,
    ) -> Result<(), OperatorError> {
        Err(OperatorError::NoSandbox)
    }

    /// Lists what should be better. `checked` is the result of [`checked_definitions`](Self::checked_definitions).
    #[cfg(feature = "dev")]
    async fn scorecard(
        self,
        files: Vec<PathBuf>,
        checked: Result<Vec<crd::CustomResourceDefinition>, OperatorError>,
    ) -> Result<(), OperatorError> {
        use super::{
            dev::InstallFiles,
            scorecard::{Finding, Trial, verdict},
        };

        let files = InstallFiles::read(&files)?;
        let definitions = self.definitions()?;
        let is_own = |committed: &&crd::CustomResourceDefinition| {
            let mut own = definitions.iter();
            own.any(|one| one.spec.group == committed.spec.group)
        };
        let committed: Vec<_> = files.definitions().filter(is_own).cloned().collect();
        let changes = crd::breaking_changes(&committed, &definitions);
        let show = |findings: &[Finding]| {
            let mut findings = findings.iter();
            findings.try_for_each(|finding| say(&finding.to_string()))
        };
        let changes: Vec<_> = changes.into_iter().map(Finding::from).collect();
        // At once: examples may not fit what has changed, which then ends the trial.
        show(&changes)?;
        // An API server refuses the definitions otherwise, so there is nothing to try.
        checked?;
        let findings = Trial::run(self, files).await?;
        show(&findings)?;
        match verdict(&[changes, findings].concat()) {
            Ok(text) => say(text),
            Err(count) => Err(OperatorError::Findings(count)),
        }
    }

    #[cfg(feature = "dev")]
    async fn start_in(
        mut self,
        config: Config,
        definitions: &[crd::CustomResourceDefinition],
        install: super::dev::InstallFiles,
        handover: Option<super::dev::Handover>,
    ) -> Result<super::Running, OperatorError> {
        let client = self.client(config)?;
        for definition in definitions {
            let name = definition.metadata.name.as_deref().unwrap_or_default();
            say(&format!("Installing {name} …"))?;
        }
        self.install(&client).await?;
        // The last rule may be gone.
        let rules = self.policies()?;
        rules.prune(&client).await?;
        let field_manager = format!("{}-dev", self.name);
        let own = self.own_parts(definitions);
        install.install(&client, &field_manager, &own, say).await?;
        if let Some(handover) = handover {
            say(super::dev::Handover::INSTALLED)?;
            handover.wait().await;
            self = handover.with_same_ports(self);
        }
        say("Starting the operator …")?;
        self.start(client).await
    }
}

/// The address of the API server, and the context of the kubeconfig that names it.
fn shown_cluster(config: &Config) -> String {
    let url = config.url().to_string();
    let url = url.trim_end_matches('/');
    match &config.context {
        Some(context) => format!("{url} (context {context})"),
        None => url.to_owned(),
    }
}

/// The log and the traces of a running operator.
struct Observability {
    watched_settings: Option<WatchedSettings>,
    log: LogHandle,
    traces: Option<Traces>,
}

impl Observability {
    /// Runs the operator and applies changes of the settings file meanwhile. Sends the last spans at the end.
    async fn run(
        self,
        work: impl Future<Output = Result<(), OperatorError>>,
    ) -> Result<(), OperatorError> {
        let done = match self.watched_settings {
            None => work.await,
            Some(watched_settings) => {
                tracing::info!(
                    "read settings from {}",
                    watched_settings.file.path.display()
                );
                tokio::select! {
                    done = work => done,
                    // It never ends by itself. Losing it between two checks of the file loses nothing.
                    () = watched_settings.watch(self.log) => Ok(()),
                }
            }
        };
        if let Some(traces) = self.traces {
            traces.end().await;
        }
        done
    }
}

/// Shows an error, and returns its exit code.
fn failed(error: &OperatorError) -> ExitCode {
    // If standard error is closed, the error cannot be shown.
    let _ = writeln!(io::stderr(), "error: {error}");
    error.exit_code()
}

/// Shows why clap does not accept the command line, or the help.
fn refused(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Writes the output of a subcommand, or compares it with a file.
fn deliver(text: &str, check: Option<&Path>) -> Result<ExitCode, OperatorError> {
    match check {
        Some(file) => printed::check(text, file, print),
        None => print(text),
    }
}

/// Compares generated files with those of a folder.
fn compare(folder: &Folder<'_>, path: PathBuf) -> Result<ExitCode, OperatorError> {
    let difference = folder.difference().map_err(OperatorError::Folder)?;
    if difference.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    print(&difference)?;
    Err(OperatorError::Outdated {
        file: path,
        problem: "differs from the output".into(),
    })
}

/// Writes the output of a subcommand.
fn print(text: &str) -> Result<ExitCode, OperatorError> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(OperatorError::Output)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `work` on a runtime until it ends. The first signal cancels `work`, which then stops in order; the second
/// ends the process at once.
fn supervised<F: Future<Output = Result<(), OperatorError>>>(
    stopping: CancellationToken,
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<ExitCode, OperatorError> {
    let cancel = CancellationToken::new();
    let tokens = StopTokens {
        cancel: cancel.clone(),
        stopping,
    };
    let _watch = SignalWatch::start(tokens)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(work(cancel));
    // A DNS lookup, a file read or a reconcile that blocks its thread must not delay the end of the process.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

#[cfg(feature = "dev")]
fn say(text: &str) -> Result<(), OperatorError> {
    print(&format!("{text}\n")).map(drop)
}
