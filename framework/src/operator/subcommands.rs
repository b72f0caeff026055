use std::{fmt, future::Future};

use clap::{ArgMatches, Command, Subcommand};
use futures_util::future::BoxFuture;

use super::OperatorError;
use crate::{
    client::{Client, Config, KubeconfigOptions},
    controller::Failure,
    metrics::Metrics,
};

type Work = BoxFuture<'static, Result<(), Failure>>;
type Run = Box<dyn FnOnce(&ArgMatches, CommandSetup) -> Result<Work, clap::Error> + Send>;

/// Subcommands of the program's own, of one type.
pub(super) struct Subcommands {
    describe: fn() -> Command,
    run: Run,
}

impl Subcommands {
    pub(super) fn new<C, R, F>(run: R) -> Self
    where
        C: Subcommand + Send + 'static,
        R: FnOnce(C, CommandSetup) -> F + Send + 'static,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        Self {
            describe: || C::augment_subcommands(Command::new("")),
            run: Box::new(|matches, setup| {
                let command = C::from_arg_matches(matches)?;
                Ok(Box::pin(run(command, setup)))
            }),
        }
    }

    /// The clap definitions of the subcommands.
    pub(super) fn definitions(&self) -> Vec<Command> {
        (self.describe)().get_subcommands().cloned().collect()
    }

    /// Whether one of them has this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        let definitions = self.definitions();
        definitions.iter().any(|one| one.get_name() == name)
    }

    /// Reads the subcommand from the matches of the whole command line, and starts it.
    ///
    /// # Errors
    /// clap's error if the arguments do not make a value of the type.
    pub(super) fn start(
        self,
        matches: &ArgMatches,
        setup: CommandSetup,
    ) -> Result<Work, clap::Error> {
        (self.run)(matches, setup)
    }
}

impl fmt::Debug for Subcommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subcommands")
            .field(&self.definitions())
            .finish()
    }
}

/// What a subcommand of the program's own receives, see [`Operator::subcommands`](super::Operator::subcommands).
#[derive(Clone)]
pub struct CommandSetup {
    pub(super) operator: String,
    pub(super) version: Option<String>,
    pub(super) metrics: Metrics,
    pub(super) kubeconfig: KubeconfigOptions,
}

impl CommandSetup {
    /// A client for the cluster that `run` works with: that of `--kubeconfig` and `--context`, of the environment, or of the
    /// pod. Nothing is read and nothing connects before this is called.
    ///
    /// # Errors
    /// [`OperatorError::Config`] if there is no usable configuration.
    pub async fn client(&self) -> Result<Client, OperatorError> {
        self.client_of(Config::infer_with(&self.kubeconfig).await?)
    }

    pub(super) fn client_of(&self, config: Config) -> Result<Client, OperatorError> {
        let version = self.version.as_deref();
        connect(config, &self.operator, version, &self.metrics)
    }
}

impl fmt::Debug for CommandSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSetup")
            .field("operator", &self.operator)
            .field("kubeconfig", &self.kubeconfig)
            .finish_non_exhaustive()
    }
}

/// A client of the program, with its name and version as `User-Agent`.
pub(super) fn connect(
    config: Config,
    operator: &str,
    version: Option<&str>,
    metrics: &Metrics,
) -> Result<Client, OperatorError> {
    let user_agent = match version {
        Some(version) => format!("{operator}/{version}"),
        None => operator.to_owned(),
    };
    let client = Client::builder(config)
        .metrics(metrics.clone())
        .user_agent(user_agent)
        .build()?;
    Ok(client)
}
