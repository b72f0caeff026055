use std::{collections::BTreeSet, fmt, future::Future};

use tokio_util::sync::CancellationToken;

use super::{
    OperatorError, Running, Setup,
    readiness::OwnKinds,
    registration::{Registered, Registration},
};
use crate::{
    cache::InformersBuilder,
    client::Client,
    controller::{Failure, Reconciler},
    crd::{self, CustomResourceDefinition},
    metrics::Metrics,
    resource::ApiResource,
    server::Address,
};

/// One program's controllers with all that they share: client, caches, metrics, health, start and stop.
///
/// The name is the field manager of everything the operator applies, and the name of its command line. Keep it:
/// under another name the operator would not know its own fields again.
///
/// ```no_run
/// # use pilothouse::{k8s::api::core::v1::ConfigMap, prelude::*};
/// # struct Greeter;
/// # impl Reconciler for Greeter {
/// #     type Resource = ConfigMap;
/// #     async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> { Ok(Action::wait()) }
/// # }
/// fn main() -> ExitCode {
///     Operator::new("greeter").controller(Greeter).main()
/// }
/// ```
#[must_use = "nothing runs before `main`, `run` or `start`"]
pub struct Operator {
    pub(super) name: String,
    pub(super) metrics: Metrics,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) informers: Vec<InformerOptions>,
    pub(super) metrics_address: Option<Address>,
    pub(super) example: Option<String>,
    pub(super) flags: Option<clap::ArgMatches>,
    pub(super) registered: Vec<Box<dyn Registration>>,
}

/// What is said of the caches.
pub(super) type InformerOptions = Box<dyn FnOnce(InformersBuilder) -> InformersBuilder + Send>;

impl Operator {
    /// An operator without controllers, for all namespaces, that serves no HTTP.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            metrics: Metrics::new(),
            namespaces: BTreeSet::new(),
            informers: Vec::new(),
            metrics_address: None,
            example: None,
            flags: None,
            registered: Vec::new(),
        }
    }

    /// Adds a controller.
    pub fn controller<R: Reconciler>(self, reconciler: R) -> Self {
        self.controller_with(async move |_| Ok(reconciler))
    }

    /// Adds a controller whose reconciler needs a client, flags or metrics to be built. The function is called when
    /// the operator starts, and not at all when it only prints something.
    pub fn controller_with<R, F, B>(mut self, build: B) -> Self
    where
        R: Reconciler,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
        B: FnOnce(Setup) -> F + Send + 'static,
    {
        self.registered.push(Registered::boxed(build));
        self
    }

    /// Works in one namespace only: nothing else is listed, watched or asked for. The command line's `--namespace`
    /// comes before it.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// The same with several namespaces, each listed and watched by itself; of none of them, all namespaces. One that
    /// is forbidden holds the controllers of its kind back, and readiness names it; the caches hold the others
    /// meanwhile.
    pub fn namespaces<S: Into<String>>(mut self, namespaces: impl IntoIterator<Item = S>) -> Self {
        self.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// Says what the caches keep of a kind, and how: transforms, packings, resyncs, and how many lists there are at the
    /// same time. Calling it again adds to what was said.
    ///
    /// ```no_run
    /// # use pilothouse::{k8s::api::core::v1::Secret, prelude::*};
    /// // The names are needed, the contents are not.
    /// let operator = Operator::new("names").informers(|informers| {
    ///     informers.transform::<Secret>(|secret| {
    ///         secret.data = None;
    ///         Ok(())
    ///     })
    /// });
    /// # drop(operator);
    /// ```
    pub fn informers(
        mut self,
        options: impl FnOnce(InformersBuilder) -> InformersBuilder + Send + 'static,
    ) -> Self {
        self.informers.push(Box::new(options));
        self
    }

    /// Serves `/metrics`, `/healthz`, `/livez` and `/readyz` there, over plain HTTP. The command line decides instead
    /// when there is one; its default is `:8080`.
    pub fn metrics_address(mut self, address: Address) -> Self {
        self.metrics_address = Some(address);
        self
    }

    /// A manifest that `dev` suggests to apply, as a path from where the user is or a URL.
    pub fn example(mut self, manifest: impl Into<String>) -> Self {
        self.example = Some(manifest.into());
        self
    }

    /// The operator's metrics, to add one's own to their registry.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The definitions of the reconciled kinds that are not the API server's own, in the order of the controllers.
    ///
    /// # Errors
    /// A kind's types have no schema that Kubernetes accepts.
    pub fn definitions(&self) -> Result<Vec<CustomResourceDefinition>, OperatorError> {
        let mut names = BTreeSet::new();
        self.registered
            .iter()
            .filter_map(|registered| registered.definition())
            .filter(|definition| match definition {
                Ok(definition) => names.insert(definition.metadata.name.clone()),
                Err(_) => true,
            })
            .collect::<Result<_, _>>()
            .map_err(OperatorError::Definition)
    }

    /// Installs the definitions and waits until the server serves their kinds.
    ///
    /// # Errors
    /// A definition cannot be made, or the server refuses it.
    pub fn install<'a>(
        &self,
        client: &'a Client,
    ) -> impl Future<Output = Result<(), OperatorError>> + Send + use<'a> {
        // Not held while it waits: reconcilers that are to be built cannot be shared by threads.
        let (definitions, name) = (self.definitions(), self.name.clone());
        async move { Ok(crd::install(client, &definitions?, &name).await?) }
    }

    /// Runs until `cancel`, then stops in order; see the module's page. `client` is what everything goes through.
    ///
    /// # Errors
    /// Something needed for the start is not there. What goes wrong later is retried, logged and counted.
    pub async fn run(self, client: Client, cancel: CancellationToken) -> Result<(), OperatorError> {
        tokio::select! {
            running = self.start(client) => {
                let running = running?;
                cancel.cancelled().await;
                running.stop().await;
                Ok(())
            }
            // What was started by then ends with the guards that the dropped future holds.
            () = cancel.cancelled() => Ok(()),
        }
    }

    /// Starts everything and returns; caches may not have synced by then.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    pub async fn start(self, client: Client) -> Result<Running, OperatorError> {
        Running::start(self, client).await
    }

    /// The kinds it brings itself, for messages.
    pub(super) fn own_kinds(&self) -> OwnKinds {
        OwnKinds {
            operator: self.name.clone(),
            names: self
                .registered
                .iter()
                .filter(|registered| registered.definition().is_some())
                .map(|registered| registered.resource().qualified_plural())
                .collect(),
        }
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<ApiResource> = self
            .registered
            .iter()
            .map(|registered| registered.resource())
            .collect();
        f.debug_struct("Operator")
            .field("name", &self.name)
            .field("kinds", &kinds)
            .finish_non_exhaustive()
    }
}
