use std::{collections::BTreeSet, fmt};

use clap::{ArgMatches, Args, Command};

use super::LogHandle;
use crate::{client::Client, metrics::Metrics};

/// What a reconciler can be built from; given to the function of
/// [`Operator::controller_with`](super::Operator::controller_with).
#[derive(Clone)]
pub struct Setup {
    pub(super) client: Client,
    pub(super) metrics: Metrics,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) flags: Option<ArgMatches>,
    pub(super) log: LogHandle,
}

impl Setup {
    /// The client that the operator works with. It does not read from caches.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The operator's metrics, to add one's own to their registry.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Changes what is logged while the operator runs.
    pub fn log(&self) -> &LogHandle {
        &self.log
    }

    /// The one namespace that the operator works in; `None` for all, and for several.
    pub fn namespace(&self) -> Option<&str> {
        let mut namespaces = self.namespaces.iter();
        let first = namespaces.next();
        first
            .filter(|_| namespaces.next().is_none())
            .map(String::as_str)
    }

    /// The namespaces that the operator works in; none for all.
    pub fn namespaces(&self) -> &BTreeSet<String> {
        &self.namespaces
    }

    /// The user's own flags, of the type that [`Operator::main_with`](super::Operator::main_with) was given; what
    /// their defaults say when the operator was not started by a command line.
    ///
    /// # Errors
    /// Clap's, when `F` is not the type that was given, or when there is no command line and a flag is required.
    pub fn flags<F: Args>(&self) -> Result<F, clap::Error> {
        match &self.flags {
            Some(matches) => F::from_arg_matches(matches),
            None => {
                let matches = F::augment_args(Command::new("")).try_get_matches_from([""])?;
                F::from_arg_matches(&matches)
            }
        }
    }
}

/// Without the flags: one of them may be a secret.
impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("client", &self.client)
            .field("namespaces", &self.namespaces)
            .finish_non_exhaustive()
    }
}
