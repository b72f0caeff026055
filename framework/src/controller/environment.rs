use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;

use crate::{
    cache::{InformerScope, Informers},
    client::Client,
    election::LeadershipGate,
    events::Recorder,
    metrics::Metrics,
};

/// What a controller runs in. An operator gives the same environment to all its controllers.
///
/// No reconcile starts, and so nothing is pruned or cleaned up, before each cache has reached a consistent list of the API
/// server: one that was made after the [leadership gate](Self::leadership_gate) opened, or any if there is no gate. The client is asked for this.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The caches. The owner of the environment has to start them.
    pub informers: Informers,
    /// Sends writes, and reads that do not use the cache. Its [clock](Client::clock) is that of the reconciles.
    pub client: Client,
    /// The registry of the metrics.
    pub metrics: Metrics,
    /// Records the Events of reconcilers. The owner of the environment has to start and stop it.
    pub events: Recorder,
    /// The field manager of all applies: the operator's name.
    pub field_manager: String,
    /// The watched namespaces; empty means all. Cluster-scoped objects are always watched.
    pub namespaces: BTreeSet<String>,
    /// No reconcile starts before this gate opens, nor after leadership is lost; caches fill meanwhile. `None`:
    /// reconciles need no leadership. The gate does not hold back the client's requests: see [`LeadershipGate::fence`].
    pub leadership_gate: Option<LeadershipGate>,
    /// Cancelled, it drops the reconciles that run where they wait. [`Controller::run`](super::Controller::run)
    /// still returns only when none runs any more.
    pub abort: CancellationToken,
}

impl Environment {
    /// An environment for all namespaces, with a recorder that has the name of the field manager and is not started.
    pub fn new(
        informers: Informers,
        client: Client,
        metrics: Metrics,
        field_manager: impl Into<String>,
    ) -> Self {
        let field_manager = field_manager.into();
        Self {
            events: Recorder::with_metrics(&client, &field_manager, &metrics),
            informers,
            client,
            metrics,
            field_manager,
            namespaces: BTreeSet::new(),
            leadership_gate: None,
            abort: CancellationToken::new(),
        }
    }

    /// The scope of the informers.
    pub(crate) fn scope(&self) -> InformerScope {
        InformerScope::all().namespaces(&self.namespaces)
    }
}
