use std::{sync::Arc, time::Duration};

use super::{
    Informers, ListBudget, Packing, kind_options::AllKindOptions, transform::TransformError,
};
use crate::{
    client::Client,
    events::Recorder,
    metrics::Metrics,
    resource::{ApiResource, Object, Resource},
};

/// Makes [`Informers`] with a say in what is kept of a kind and how, whether it is told again, and how many lists there
/// are at the same time.
///
/// ```no_run
/// use pilothouse::cache::Informers;
/// use pilothouse::client::Client;
/// use pilothouse::k8s::api::core::v1::Secret;
/// use pilothouse::metrics::Metrics;
///
/// # fn example(client: Client) {
/// // The names are needed, the contents are not.
/// let informers = Informers::builder(client, Metrics::new())
///     .transform::<Secret>(|secret| {
///         secret.data = None;
///         Ok(())
///     })
///     .build();
/// # drop(informers);
/// # }
/// ```
#[must_use]
pub struct InformersBuilder {
    client: Client,
    metrics: Metrics,
    budget: ListBudget,
    options: AllKindOptions,
    events: Option<Recorder>,
}

impl InformersBuilder {
    pub(super) fn new(client: Client, metrics: Metrics) -> Self {
        Self {
            client,
            metrics,
            budget: ListBudget::default(),
            options: AllKindOptions::default(),
            events: None,
        }
    }

    /// Another number of lists at the same time.
    pub fn list_budget(mut self, budget: ListBudget) -> Self {
        self.budget = budget;
        self
    }

    /// Calls `function` once with each version of each object of `K` before it is stored and told, so
    /// that all informers of the kind and type keep the same. A final state that comes with a deletion
    /// passes through it too; a version that is in the cache already does not.
    ///
    /// What it takes away is gone for all readers: an object that is written back as it was read
    /// would lose it. Where the function fails or panics, or changes the name, namespace, UID or resource version,
    /// the object counts as one that does not decode, with the error as the reason (the error stands in
    /// the log: it must not repeat secrets), and is counted as `transform_errors`. `managedFields` need no
    /// transform: they are not read unless the source [asks for them](crate::client::Api::with_managed_fields).
    pub fn transform<K: Resource>(
        self,
        function: impl Fn(&mut K) -> Result<(), TransformError> + Send + Sync + 'static,
    ) -> Self {
        self.transform_of(ApiResource::of::<K>(), function)
    }

    /// The same for objects of `resource` that are read as `K`s, such as dynamic ones.
    pub fn transform_of<K: Object>(
        mut self,
        resource: ApiResource,
        function: impl Fn(&mut K) -> Result<(), TransformError> + Send + Sync + 'static,
    ) -> Self {
        let function = Arc::new(function);
        self.options
            .change(resource, |options| options.transform = Some(function));
        self
    }

    /// Keeps the objects of `K` in the form that `packing` gives them, in all informers of the kind and type: for
    /// readers nothing changes but that each read decodes.
    pub fn packing<K: Resource>(self, packing: impl Packing<K>) -> Self {
        self.packing_of(ApiResource::of::<K>(), packing)
    }

    /// The same for objects of `resource` that are read as `K`s, such as dynamic ones.
    pub fn packing_of<K: Object>(
        mut self,
        resource: ApiResource,
        packing: impl Packing<K>,
    ) -> Self {
        let packing = Arc::new(packing);
        self.options
            .change(resource, |options| options.packing = Some(packing));
        self
    }

    /// Tells the listeners of `K`s each object again once in `period`, unless they
    /// [say it themselves](super::ListenerOptions::resync). By default nothing is told again.
    pub fn resync<K: Resource>(self, period: Duration) -> Self {
        self.resync_of::<K>(ApiResource::of::<K>(), period)
    }

    /// The same for objects of `resource` that are read as `K`s, such as dynamic ones.
    pub fn resync_of<K: Object>(mut self, resource: ApiResource, period: Duration) -> Self {
        self.options
            .change::<K>(resource, |options| options.resync = Some(period));
        self
    }

    /// Records an Event about each object that does not decode, beside the line in the log.
    pub fn events(mut self, recorder: Recorder) -> Self {
        self.events = Some(recorder);
        self
    }

    /// No informers yet.
    pub fn build(self) -> Informers {
        Informers::with(
            self.client,
            self.metrics,
            self.budget,
            self.options,
            self.events,
        )
    }
}
