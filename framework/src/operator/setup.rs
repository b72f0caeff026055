use std::{collections::BTreeSet, fmt};

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, error::ErrorKind};

use super::{
    LogHandle, OperatorError,
    own_checks::{self, HealthEndpoint},
};
use crate::{
    client::Client,
    health::{Checks, Health},
    metrics::Metrics,
};

/// What the functions that build a reconciler receive, see
/// [`Operator::controller_with`](super::Operator::controller_with).
#[derive(Clone)]
pub struct Setup {
    pub(super) client: Client,
    pub(super) metrics: Metrics,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) flags: Option<ArgMatches>,
    pub(super) log: LogHandle,
    pub(super) live: Checks,
    pub(super) ready: Checks,
}

impl Setup {
    /// The operator's client. It does not read from caches.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The operator's metrics. [`Metrics::register`] adds metrics of your own, which `/metrics` shows beside the framework's.
    ///
    /// ```
    /// use pilothouse::{metrics::prometheus::IntCounter, operator::Setup, prelude::*};
    ///
    /// struct Websites {
    ///     published: IntCounter,
    /// }
    ///
    /// impl Websites {
    ///     fn new(setup: &Setup) -> Result<Self> {
    ///         let published = IntCounter::new("website_pages_published_total", "Pages that were published.")?;
    ///         Ok(Self { published: setup.metrics().register(published)? })
    ///     }
    /// }
    /// ```
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Adds a check to `/readyz`, for something that was built with this setup. A process that is not ready gets no requests
    /// from Services, and a rolling update waits for it. `check` must return at once: it reports what is already known.
    /// [`Operator::ready_check`](super::Operator::ready_check) adds one before the start.
    ///
    /// # Errors
    /// [`OperatorError::Check`] if the name is not possible, or if another check has it.
    pub fn ready_check(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Health + Send + Sync + 'static,
    ) -> Result<(), OperatorError> {
        own_checks::add(&self.ready, HealthEndpoint::Ready, name.into(), check)
    }

    /// Adds a check to `/livez` and `/healthz`. A process that is not live is killed and started again, so fail only for what
    /// a restart repairs. `check` must return at once: it reports what is already known.
    /// [`Operator::live_check`](super::Operator::live_check) adds one before the start.
    ///
    /// # Errors
    /// [`OperatorError::Check`] if the name is not possible, or if another check has it.
    pub fn live_check(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Health + Send + Sync + 'static,
    ) -> Result<(), OperatorError> {
        own_checks::add(&self.live, HealthEndpoint::Live, name.into(), check)
    }

    /// Changes the log filter while the operator runs.
    pub fn log(&self) -> &LogHandle {
        &self.log
    }

    /// The namespace of an operator that works in exactly one; otherwise `None`.
    pub fn namespace(&self) -> Option<&str> {
        let mut namespaces = self.namespaces.iter();
        let first = namespaces.next();
        first
            .filter(|_| namespaces.next().is_none())
            .map(String::as_str)
    }

    /// The namespaces of the operator. An empty set means all namespaces.
    pub fn namespaces(&self) -> &BTreeSet<String> {
        &self.namespaces
    }

    /// The program's own flags, of the type that was given to [`Operator::main_with`](super::Operator::main_with). If the
    /// operator was started without a command line, the flags have their default values.
    ///
    /// # Errors
    /// clap's error if `main_with` got another type, if `main` was called instead of it, or if a flag is required but there is no
    /// command line.
    pub fn flags<F: Args>(&self) -> Result<F, clap::Error> {
        match &self.flags {
            Some(matches) => flags_in(matches),
            None => {
                let matches = F::augment_args(Command::new("")).try_get_matches_from([""])?;
                F::from_arg_matches(&matches)
            }
        }
    }
}

/// The flags of type `F` on a command line.
pub(super) fn flags_in<F: Args>(matches: &ArgMatches) -> Result<F, clap::Error> {
    // clap panics when it reads a flag that the command line does not define.
    let is_unknown = |flag: &&Arg| matches.try_contains_id(flag.get_id().as_str()).is_err();
    let command = F::augment_args(Command::new(""));
    let Some(flag) = command.get_arguments().find(is_unknown) else {
        return F::from_arg_matches(matches);
    };
    let path = std::any::type_name::<F>();
    let name = path.rsplit("::").next().unwrap_or(path);
    let text = format!(
        "the command line does not define the flag `{}` of {path}: end `main` with `.main_with::<{name}>()`\n",
        flag.get_id()
    );
    Err(clap::Error::raw(ErrorKind::UnknownArgument, text))
}

/// Leaves the flags out, because one of them may be a secret.
impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("client", &self.client)
            .field("namespaces", &self.namespaces)
            .finish_non_exhaustive()
    }
}

/// No flags of the program's own, for [`Operator::main`](super::Operator::main).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoFlags;

impl FromArgMatches for NoFlags {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}

impl Args for NoFlags {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
