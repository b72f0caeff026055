use std::{sync::Arc, time::Duration};

use super::Informers;
use crate::{
    cache::{
        InformerFailure, InformerScope, ListBudget, Packing,
        informer::{AllKindOptions, TransformError},
        status::FailureHandler,
    },
    client::Client,
    events::Recorder,
    metrics::Metrics,
    resource::{ApiResource, Object, Resource},
};

/// Builds [`Informers`] with options for each kind (which part of an object is stored, in which form, and whether it
/// is delivered again) and for lists.
///
/// ```no_run
/// use pilothouse::cache::Informers;
/// use pilothouse::client::Client;
/// use pilothouse::k8s::api::core::v1::Secret;
/// use pilothouse::metrics::Metrics;
///
/// # fn example(client: Client) {
/// // The program needs the names of the Secrets and not their contents.
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
    on_failure: Option<FailureHandler>,
}

impl InformersBuilder {
    pub(in crate::cache) fn new(client: Client, metrics: Metrics) -> Self {
        Self {
            client,
            metrics,
            budget: ListBudget::default(),
            options: AllKindOptions::default(),
            events: None,
            on_failure: None,
        }
    }

    /// Sets how many lists run at the same time.
    pub fn list_budget(mut self, budget: ListBudget) -> Self {
        self.budget = budget;
        self
    }

    /// Calls `function` once with each version of each object of `K` before it is stored and delivered, so that all
    /// informers of the kind and type hold the same. The final state of a deleted object passes through it too; a
    /// version that the cache already has does not.
    ///
    /// Fields that the function removes are missing for all readers: a program that writes an object back as it read
    /// it would delete them on the server. If the function fails or panics, or changes the name, namespace, UID or
    /// resource version, the object counts as one that does not decode, with the error as the reason, and is counted
    /// as `transform_errors`. The error appears in the log, so it must not contain secrets. `managedFields` need no
    /// transform: they are not read unless the source [requests them](crate::client::Api::with_managed_fields).
    pub fn transform<K: Resource>(
        self,
        function: impl Fn(&mut K) -> Result<(), TransformError> + Send + Sync + 'static,
    ) -> Self {
        self.transform_of(ApiResource::of::<K>(), function)
    }

    /// Like [`transform`](Self::transform), for objects of `resource` that are read as `K`s, such as dynamic ones.
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

    /// Stores the objects of `K` in the form that `packing` gives them, in all informers of the kind and type, in place of
    /// the form in which the server sent them. For readers nothing changes, except that each read decodes the object.
    pub fn packing<K: Resource>(self, packing: impl Packing<K>) -> Self {
        self.packing_of(ApiResource::of::<K>(), packing)
    }

    /// Like [`packing`](Self::packing), for objects of `resource` that are read as `K`s, such as dynamic ones.
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

    /// Sets which share of the objects of each cache may stay decoded in memory, beside their encoded form.
    ///
    /// A cache stores an object as the API server sent it, without the managed fields. A read decodes it, which takes about
    /// 2 µs for each KiB. The objects that were read last stay decoded, so that another read costs nothing. Each takes about six
    /// times the memory of its encoded form. An object of at most 1 KiB (512 bytes in protobuf) stays decoded once it was read; its
    /// decoded form is not counted here. A cache of less than 1 MiB keeps all objects decoded that were read. What a caller
    /// holds stays in memory in any case, and up to 20 s longer.
    ///
    /// The default is a sixteenth of the bytes, and as much more as the program needs: an object that would be decoded three times
    /// in ten seconds stays decoded as long as it is read in each ten seconds. A share that the program sets is a limit, also for such objects:
    /// 0.0 saves memory, and 1.0 keeps everything decoded that was read once. A share that is not between 0 and 1 counts as the nearest of
    /// the two, and `NaN` as the default.
    pub fn decoded_share(mut self, share: f64) -> Self {
        self.options.decoded_share = (!share.is_nan()).then(|| share.clamp(0.0, 1.0));
        self
    }

    /// Compresses the objects of the caches with zstd and a dictionary. Objects that repeat each other, as Pods do, become four
    /// times smaller. It is for large caches of which little is read.
    ///
    /// A cache of more than 1 MiB gets a dictionary, which is trained from 128 of its objects. These and the first MiB stay as they are
    /// until they change. Objects of less than 512 bytes or more than 64 KiB always stay as they are. When the dictionary makes newer
    /// objects less small than the first ones, another one is trained.
    ///
    /// The price is processor time on the threads of the runtime: about 10 µs for each change of an object of 2 KB, and 50 to 100 ms for
    /// a training. A read of an object that is not decoded, of its labels, its owner references or its metadata decompresses
    /// the object; label indexes and selectors read labels. An object whose compressed form is broken is one that does not decode
    /// ([R8](crate#guarantees)).
    ///
    /// It applies to what [`decoded_share`](Self::decoded_share) applies to, whose share counts the bytes before the compression. The metric of
    /// the bytes in a cache counts them after it. The default is to compress nothing.
    #[cfg(feature = "zstd")]
    pub fn compressed(mut self) -> Self {
        self.options.is_compressed = true;
        self
    }

    /// Delivers each object again once in `period` to the listeners of `K`s that do not [set a
    /// period](crate::cache::ListenerOptions::resync) of their own. By default nothing is delivered again.
    pub fn resync<K: Resource>(self, period: Duration) -> Self {
        self.resync_of::<K>(ApiResource::of::<K>(), period)
    }

    /// Like [`resync`](Self::resync), for objects of `resource` that are read as `K`s, such as dynamic ones.
    pub fn resync_of<K: Object>(mut self, resource: ApiResource, period: Duration) -> Self {
        self.options
            .change::<K>(resource, |options| options.resync = Some(period));
        self
    }

    /// Records an Event about each object that does not decode, in addition to the log.
    pub fn events(mut self, recorder: Recorder) -> Self {
        self.events = Some(recorder);
        self
    }

    /// Gathers the changes of each `K` while they wait for the cache, as client-go's `DeltaFIFO` does: all that happened to
    /// one object since it was processed last is processed together, and two deletions of it become one.
    ///
    /// By default changes are processed in the order of the server. That is what most programs want. With this option,
    /// the changes of one object are still in order, but those of different objects are not. The version of the cache
    /// grows only when everything before it was processed.
    pub fn delta_fifo<K: Resource>(self) -> Self {
        self.delta_fifo_of::<K>(ApiResource::of::<K>())
    }

    /// Like [`delta_fifo`](Self::delta_fifo), for objects of `resource` that are read as `K`s, such as dynamic ones.
    pub fn delta_fifo_of<K: Object>(mut self, resource: ApiResource) -> Self {
        self.options
            .change::<K>(resource, |options| options.delta_fifo = true);
        self
    }

    /// Calls `function` with each failure of a list or a watch of any of the informers; see
    /// [`SharedInformer::on_failure`](crate::cache::SharedInformer::on_failure). A second call replaces the function.
    pub fn on_failure(
        mut self,
        function: impl Fn(&InformerFailure<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.on_failure = Some(Arc::new(function));
        self
    }

    /// Changes how all informers of `K` ask for their objects: client-go's `TweakListOptions`. `function` gets the scope
    /// that a caller asked for and returns the one that counts. It cannot change the namespaces. Callers whose scopes are
    /// equal after that get the same informer.
    ///
    /// With a selector, the controllers of the operator see only the objects that it selects. If they own objects of the kind,
    /// let them apply only children that it selects: they do not notice changes of other children, and do not prune them.
    ///
    /// ```
    /// # use pilothouse::{cache::Informers, client::Client, k8s::api::core::v1::Pod, metrics::Metrics};
    /// # fn example(client: Client) {
    /// let informers = Informers::builder(client, Metrics::new())
    ///     .tweak::<Pod>(|scope| scope.page_size(100).fields("spec.nodeName=node-1"))
    ///     .build();
    /// # drop(informers);
    /// # }
    /// ```
    pub fn tweak<K: Resource>(
        self,
        function: impl Fn(InformerScope) -> InformerScope + Send + Sync + 'static,
    ) -> Self {
        self.tweak_of::<K>(ApiResource::of::<K>(), function)
    }

    /// Like [`tweak`](Self::tweak), for objects of `resource` that are read as `K`s, such as dynamic ones.
    pub fn tweak_of<K: Object>(
        mut self,
        resource: ApiResource,
        function: impl Fn(InformerScope) -> InformerScope + Send + Sync + 'static,
    ) -> Self {
        let function = Arc::new(function);
        self.options
            .change::<K>(resource, |options| options.tweak = Some(function));
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
            self.on_failure,
        )
    }
}
