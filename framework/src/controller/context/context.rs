use std::{
    any::TypeId,
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    marker::PhantomData,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{
    apply_detached::FirstApplies,
    blocking::BlockingCalls,
    call_notes::{LastStatus, ReadKinds, RequestedChildren, UndecodableReads},
    fingerprints::Fingerprints,
    ready_condition::ReadyCondition,
    written_objects::WrittenObjects,
};
use crate::{
    cache::Lister,
    client::{Api, Client},
    controller::{
        error::Error, finalizer_rules::FinalizerRules, reconcilable::Reconcilable,
        sources::Sources, state::ControllerState,
    },
    events::{NewEvent, Recorder},
    queue::PerWorkerArc,
    resource::{ApiResource, ObjectKey, ObjectRef, Undecodable},
};

/// What a reconcile works with: the caches of the wired kinds, and writes that know the reconciled object.
///
/// Reads come from the caches and never wait. Reading a kind that `wire` does not declare returns an error that names the
/// line to add; it never starts a watch.
pub struct Context<K> {
    pub(super) key: ObjectKey,
    /// `None` when the object is gone.
    pub(super) object: Option<Arc<K>>,
    /// The number of this run, to tell what it applied from what an earlier run applied.
    pub(crate) run: u64,
    pub(super) cancellation: Cancellation,
    pub(super) shared: PerWorkerArc<SharedContext<K>>,
    /// The next reconcile does not wait for what this context writes.
    pub(super) uncached: bool,
    pub(super) requested: RequestedChildren,
    pub(super) read_kinds: ReadKinds,
    live: OnceLock<Client>,
    pub(super) written: WrittenObjects,
    pub(super) undecodable_reads: UndecodableReads,
    pub(super) last_status: LastStatus,
    pub(super) blocking_calls: BlockingCalls,
    /// The finalizer that is removed when the cleanup has succeeded.
    pub(super) finalizer: Option<Arc<str>>,
    /// The call is made only because finalizers have to be added or removed.
    pub(crate) only_finalizers: bool,
}

/// What all contexts of a controller share.
pub(crate) struct SharedContext<K> {
    pub(crate) controller: Arc<ControllerState>,
    /// The cache of the reconciled kind.
    pub(crate) own: Lister<K>,
    pub(crate) client: Client,
    pub(crate) events: Recorder,
    pub(crate) field_manager: String,
    pub(crate) fingerprints: Fingerprints,
    /// The kinds of detached children, with the Rust type that each is read as.
    pub(crate) detached_kinds: Vec<(TypeId, ApiResource)>,
    pub(crate) finalizers: Arc<FinalizerRules<K>>,
    pub(crate) first_applies: FirstApplies,
    /// Set if the framework sets the condition `Ready` on the objects.
    pub(crate) ready: Option<ReadyCondition>,
    /// Whether failed calls are recorded as Events on the objects.
    pub(crate) failure_events: bool,
    /// The watched namespaces; empty means all.
    pub(crate) namespaces: BTreeSet<String>,
    pub(crate) sources: Sources<K>,
    /// Cancelled when the controller begins to stop.
    pub(crate) stop: CancellationToken,
}

impl<K: Reconcilable> Context<K> {
    /// The context of the call with number `run`. `object` is `None` when the object is gone.
    pub(crate) fn new(
        shared: &PerWorkerArc<SharedContext<K>>,
        key: ObjectKey,
        object: Option<Arc<K>>,
        run: u64,
    ) -> Self {
        Self {
            key,
            object,
            run,
            cancellation: Cancellation::default(),
            shared: shared.clone(),
            uncached: false,
            requested: RequestedChildren::default(),
            read_kinds: ReadKinds::default(),
            live: OnceLock::new(),
            written: WrittenObjects::default(),
            undecodable_reads: UndecodableReads::default(),
            last_status: LastStatus::default(),
            blocking_calls: BlockingCalls::default(),
            finalizer: None,
            only_finalizers: false,
        }
    }

    /// A context of the same call, with a newer version of the object.
    pub(crate) fn with_object(&self, object: Arc<K>) -> Self {
        Self {
            object: Some(object),
            finalizer: None,
            ..self.lend()
        }
    }

    /// The same context for a cleanup after which `finalizer` is removed.
    pub(crate) fn with_finalizer(mut self, finalizer: Arc<str>) -> Self {
        self.finalizer = Some(finalizer);
        self
    }

    /// The same context, but the next reconcile does not wait for what it writes.
    pub(crate) fn without_read_your_writes(mut self) -> Self {
        self.uncached = true;
        self
    }

    /// A second context of the same call, which ends with this one.
    fn lend(&self) -> Self {
        Self {
            key: self.key.clone(),
            object: self.object.clone(),
            run: self.run,
            cancellation: self.cancellation.lend(&self.shared.stop),
            shared: self.shared.clone(),
            uncached: self.uncached,
            requested: self.requested.clone(),
            read_kinds: self.read_kinds.clone(),
            live: self.live.clone(),
            written: self.written.clone(),
            undecodable_reads: self.undecodable_reads.clone(),
            last_status: self.last_status.clone(),
            blocking_calls: self.blocking_calls.clone(),
            finalizer: self.finalizer.clone(),
            only_finalizers: self.only_finalizers,
        }
    }

    /// The key that is reconciled.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The reconciled kind.
    pub fn resource(&self) -> &ApiResource {
        &self.shared.controller.resource
    }

    /// The finalizer that is removed when the running [`Cleanup::cleanup`](crate::controller::Cleanup::cleanup) has
    /// succeeded. Returns `None` outside of a cleanup.
    pub fn finalizer(&self) -> Option<&str> {
        self.finalizer.as_deref()
    }

    /// The present time, by the [clock](crate::clock::Clock) of the controller's client: the time of the machine, and in tests
    /// the time of the test.
    ///
    /// Use it for each timestamp that a reconcile writes and for each decision by the time of day. The framework uses the same
    /// clock for the condition `Ready` and for Events, and `testing::Cluster` for its API server.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use pilothouse::{controller::{Action, Context, Result}, k8s::api::batch::v1::CronJob};
    /// # fn example(cx: &Context<CronJob>) -> Result<Action> {
    /// let minute = cx.now().as_second().rem_euclid(3600) / 60;
    /// let left = u64::try_from(60 - minute)? * 60;
    /// Ok(Action::requeue_after(Duration::from_secs(left)))
    /// # }
    /// ```
    pub fn now(&self) -> Timestamp {
        self.shared.client.clock().now()
    }

    /// A token that is cancelled when the controller begins to stop, and when this call ends: done, failed, panicked,
    /// timed out or outdated.
    ///
    /// Use it to end long work early on a stop. Use it also to end tasks that must not outlive the call: such tasks are not
    /// dropped together with the call.
    pub fn cancellation(&self) -> &CancellationToken {
        self.cancellation.token(&self.shared.stop)
    }

    /// Adds sources to the controller, for good or until they are removed.
    pub fn sources(&self) -> &Sources<K> {
        &self.shared.sources
    }

    /// A client that sends requests to the API server and does not read the caches. It sends only what `wire` declares:
    /// [`client::ErrorKind::NotDeclared`](crate::client::ErrorKind::NotDeclared) names the missing line.
    ///
    /// The next call for the key starts only when the caches of the controller have the objects that this client has read, by
    /// [`Api::get`], [`Api::list`] and [`Api::list_all`], or written ([R5](crate#guarantees)). So it does not decide by an older
    /// state than this one. From now on this call counts as one that has read all kinds: the events of later writes lead to
    /// another call ([R2](crate#guarantees)).
    pub fn live(&self) -> &Client {
        self.read_kinds.note_all();
        self.live.get_or_init(|| {
            let (controller, key) = (self.shared.controller.clone(), self.key.clone());
            self.shared.client.on_objects(move |resource, objects| {
                controller.writes.read(&key, resource, objects);
            })
        })
    }

    /// Records `event` on the reconciled object, in the name of `<operator>/<controller>`.
    ///
    /// This never waits and never fails; [`events`](crate::events) says what happens with an event. Do a write that matters
    /// first, and record the event about it afterwards.
    ///
    /// ```no_run
    /// # use pilothouse::{controller::{Context, Result}, events::NewEvent, k8s::api::core::v1::ConfigMap};
    /// # async fn example(cx: &Context<ConfigMap>, child: ConfigMap) -> Result<()> {
    /// let child = cx.apply(child).await?;
    /// cx.event(NewEvent::normal("Applied", "Apply").note("the page is up to date").related(&child));
    /// # Ok(()) }
    /// ```
    pub fn event(&self, event: NewEvent) {
        let uid = self.object.as_ref().and_then(|object| object.uid());
        let regarding = ObjectRef {
            uid: uid.map(str::to_owned),
            ..ObjectRef::new(self.resource().clone(), self.key.clone())
        };
        self.shared.events.event_on(&regarding, event);
    }

    /// The same context, but the next reconcile of this object does not wait until the caches have what is written
    /// through it. These writes give up the guarantee ([R5](crate#guarantees)).
    ///
    /// Use it for objects that this controller writes and never reads: `cx.uncached().apply(report).await?`. Reads still
    /// come from the caches; [`live`](Self::live) reads from the API server.
    pub fn uncached(&self) -> Uncached<'_, K> {
        Uncached::new(self.lend().without_read_your_writes())
    }

    /// The reconciled object; `None` when it is gone.
    pub(crate) fn object(&self) -> Option<&Arc<K>> {
        self.object.as_ref()
    }

    pub(crate) fn shared(&self) -> &SharedContext<K> {
        &self.shared
    }

    /// The name of the reconciled kind, for errors.
    pub(super) fn kind(&self) -> Cow<'static, str> {
        self.resource().kind.clone()
    }

    /// The API for the reconciled object.
    pub(crate) fn own_api(&self) -> Api<K> {
        self.api_in(self.resource(), &self.key)
    }

    /// The reconciled object. Only an object that exists can own children and have a status.
    pub(crate) fn owner(&self, verb: &'static str) -> Result<&Arc<K>, Error> {
        self.object.as_ref().ok_or_else(|| Error::Gone {
            verb,
            kind: self.kind(),
            key: self.key.clone(),
        })
    }

    /// Whether this call asked for the child: by an apply, a creation, an update, a patch or a claim.
    pub(crate) fn has_requested(&self, resource: &ApiResource, child: &ObjectKey) -> bool {
        self.requested.contains(resource, child)
    }

    /// The call has ended. The events that it held back lead to another call, unless it succeeded and they only echo its writes.
    ///
    /// An echo is no change only for a call that did not read the kind before the answer, which [`write`](Self::write) sees to:
    /// otherwise it may have decided by an older version. Reads after the answer must have shown it. And only if it is the one
    /// request for the object: between two of them another client may have changed the object.
    pub(crate) fn end(&self, succeeded: bool) {
        if self.requested.is_empty() {
            return;
        }
        self.shared.controller.end_run(&self.key, |object| {
            succeeded && self.requested.is_noted_once(object) && !self.written.was_missed(object)
        });
    }

    /// An object that this call read, alone or in a list, and that does not decode.
    pub(crate) fn undecodable_read(&self) -> Option<Arc<Undecodable>> {
        self.undecodable_reads.first()
    }
}

impl<K> fmt::Debug for Context<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A [`Context`] for whose writes the next reconcile does not wait. See [`Context::uncached`].
pub struct Uncached<'a, K> {
    context: Context<K>,
    /// Keeps it from outliving the reconcile.
    reconcile: PhantomData<&'a Context<K>>,
}

impl<K: Reconcilable> Uncached<'_, K> {
    fn new(context: Context<K>) -> Self {
        Self {
            context,
            reconcile: PhantomData,
        }
    }
}

impl<K> Deref for Uncached<'_, K> {
    type Target = Context<K>;

    fn deref(&self) -> &Context<K> {
        &self.context
    }
}

impl<K> fmt::Debug for Uncached<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Uncached").field(&self.context).finish()
    }
}

/// A token that is cancelled when the call that it belongs to ends.
#[derive(Debug, Default)]
pub(super) struct Cancellation {
    /// Made at the first use: most reconciles never need it.
    token: OnceLock<CancellationToken>,
    /// The token belongs to another context of the same call, which cancels it.
    lent: bool,
}

impl Cancellation {
    /// The same token, for another context of the call.
    pub(super) fn lend(&self, stop: &CancellationToken) -> Self {
        Self {
            token: self.token(stop).clone().into(),
            lent: true,
        }
    }

    pub(super) fn token(&self, stop: &CancellationToken) -> &CancellationToken {
        self.token.get_or_init(|| stop.child_token())
    }
}

impl Drop for Cancellation {
    fn drop(&mut self) {
        if let Some(token) = self.token.get()
            && !self.lent
        {
            token.cancel();
        }
    }
}
