use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;

use crate::{
    cache::{InformerScope, Informers},
    client::Client,
    election::Turn,
    events::Recorder,
    metrics::Metrics,
};

/// What a controller runs in; an operator gives the same to all its controllers.
///
/// No reconcile starts, and so nothing is pruned or cleaned up, before each cache has reached a consistent list of the API
/// server: one that was made after the [turn](Self::turn) came, or any if there is no turn. The client is asked for this.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Where the caches come from. They have to be started by whoever made them.
    pub informers: Informers,
    /// For writes, and for what a reconciler reads past the cache.
    pub client: Client,
    /// Where the numbers go.
    pub metrics: Metrics,
    /// Where the events of reconcilers go. It has to be started, and stopped, by whoever made it.
    pub events: Recorder,
    /// Field manager of all applies: the operator's name.
    pub field_manager: String,
    /// Only objects of these namespaces, and cluster-scoped ones; empty means all namespaces.
    pub namespaces: BTreeSet<String>,
    /// No reconcile starts before this turn came, nor after it is over; caches fill meanwhile. `None`: it is
    /// always this process's turn. What the client sends is another matter: see [`Turn::fence`].
    pub turn: Option<Turn>,
    /// Cancelled, it drops the reconciles that run where they wait. [`Controller::run`](super::Controller::run)
    /// still returns only when none runs any more.
    pub abort: CancellationToken,
}

impl Environment {
    /// All namespaces, with a field manager, and a recorder of that name which is not started.
    pub fn new(
        informers: Informers,
        client: Client,
        metrics: Metrics,
        field_manager: impl Into<String>,
    ) -> Self {
        let field_manager = field_manager.into();
        Self {
            events: Recorder::with_metrics(&client, &field_manager, metrics.events()),
            informers,
            client,
            metrics,
            field_manager,
            namespaces: BTreeSet::new(),
            turn: None,
            abort: CancellationToken::new(),
        }
    }

    /// What is read of a kind.
    pub(super) fn scope(&self) -> InformerScope {
        InformerScope::all().namespaces(&self.namespaces)
    }
}
