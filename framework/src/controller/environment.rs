use crate::{cache::Informers, client::Client, metrics::Metrics};

/// What a controller runs in; an operator gives the same to all its controllers.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Where the caches come from. They have to be started by whoever made them.
    pub informers: Informers,
    /// For writes, and for what a reconciler reads past the cache.
    pub client: Client,
    /// Where the numbers go.
    pub metrics: Metrics,
    /// Field manager of all applies: the operator's name.
    pub field_manager: String,
    /// Only objects of this namespace, and cluster-scoped ones; `None` for all namespaces.
    pub namespace: Option<String>,
}

impl Environment {
    /// All namespaces, with a field manager.
    pub fn new(
        informers: Informers,
        client: Client,
        metrics: Metrics,
        field_manager: impl Into<String>,
    ) -> Self {
        Self {
            informers,
            client,
            metrics,
            field_manager: field_manager.into(),
            namespace: None,
        }
    }
}
