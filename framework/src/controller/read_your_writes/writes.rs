use std::{cmp::Ordering, collections::BTreeSet, iter::repeat_n, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, join_all};
use tokio::{sync::Notify, time::Instant};

use super::{
    cached::{Cached, Informer},
    catch_up::{Obstacles, catch_up},
    core::{Admission, Waiting, Woken},
    demand::{Demand, compare},
    follower::Follower,
    informers::{Followed, Informers},
    locked_core::LockedCore,
};
use crate::{
    cache::{BatchInfo, Field, SharedInformer},
    client::Client,
    controller::cause::{Cause, Causes},
    metrics::ReadYourWritesMetrics,
    queue::{Note, Priority, Work, WorkQueue},
    resource::{ApiResource, Object, ObjectKey, ObjectMeta},
};

/// What the keys of a controller wrote and the caches do not have yet.
pub(crate) struct ReadYourWrites {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) shared: LockedCore<ObjectKey, (Priority, Causes)>,
    pub(super) caches: Informers,
    queue: WorkQueue<ObjectKey, Causes>,
    pub(super) metrics: ReadYourWritesMetrics,
    epoch: Instant,
    /// Notified when the API server has to be asked earlier than planned.
    pub(super) due: Notify,
    /// Why the caches do not [catch up](ReadYourWrites::catch_up).
    obstacles: Obstacles,
}

/// A key that waits until the caches have what it wrote.
pub(crate) struct WaitingKey {
    pub(crate) key: ObjectKey,
    pub(crate) since: Duration,
    /// The objects that are not there yet.
    pub(crate) waits_for: Vec<String>,
}

/// The UIDs of an object in the caches before its deletion was sent, per informer.
pub(crate) struct Before(Vec<(usize, Option<String>)>);

impl Before {
    /// The UID that a cache had.
    pub(crate) fn uid(&self) -> Option<&str> {
        self.0.iter().find_map(|(_, uid)| uid.as_deref())
    }
}

impl ReadYourWrites {
    /// Keys that waited go back to `queue`. So do keys that wrote an object which is gone.
    pub(crate) fn new(queue: WorkQueue<ObjectKey, Causes>, metrics: ReadYourWritesMetrics) -> Self {
        Self {
            inner: Arc::new(Inner {
                shared: LockedCore::new(),
                caches: Informers::default(),
                queue,
                metrics,
                epoch: Instant::now(),
                due: Notify::new(),
                obstacles: Obstacles::default(),
            }),
        }
    }

    /// From now on writes to objects that `informer` may hold are waited for, until [`unfollow`](Self::unfollow) was called as
    /// often as this.
    pub(crate) fn follow<C: Object>(&self, informer: &SharedInformer<C>) -> Followed {
        self.follow_cached(Arc::new(Informer {
            informer: informer.clone(),
            lister: informer.lister(),
        }))
    }

    fn follow_cached(&self, cached: Arc<dyn Cached>) -> Followed {
        self.inner.caches.follow(cached, |cached, informer| {
            let writes = Arc::downgrade(&self.inner);
            cached.follow(Follower { informer, writes })
        })
    }

    /// Undoes one [`follow`](Self::follow). After the last one of an informer, no demands are made on it, and its demands are
    /// dropped.
    pub(crate) async fn unfollow(&self, Followed(number): Followed) {
        if let Some(subscription) = self.inner.caches.unfollow(number) {
            // Keys that wait for this informer stop waiting.
            self.inner.reached(number, BatchInfo::default());
            subscription.remove().await;
        }
    }

    /// Waits until each cache that has synced has all changes that the API server had made by `since`. With `None` any moment
    /// will do. No reconcile may start before.
    pub(crate) fn catch_up<'a>(
        &self,
        client: &'a Client,
        since: Option<Instant>,
    ) -> BoxFuture<'a, ()> {
        let mut caches = self.inner.caches.all();
        // A source that is added at run time catches up itself after it has synced. The others do not wait for it.
        caches.retain(|cache| cache.has_synced());
        let inner = self.inner.clone();
        Box::pin(async move {
            let all = caches.iter();
            join_all(all.map(|one| catch_up(&**one, client, since, &inner.obstacles))).await;
        })
    }

    /// As [`catch_up`](Self::catch_up), for one cache.
    pub(crate) fn catch_up_one<'a>(
        &self,
        Followed(number): &Followed,
        client: &'a Client,
        since: Option<Instant>,
    ) -> BoxFuture<'a, ()> {
        let cache = self.inner.caches.get(*number);
        let inner = self.inner.clone();
        Box::pin(async move {
            if let Some(cache) = cache {
                catch_up(&*cache, client, since, &inner.obstacles).await;
            }
        })
    }

    /// Why [`catch_up`](Self::catch_up) has not ended: the last error of a request that it repeats. Returns `None` if no request
    /// fails.
    pub(crate) fn not_caught_up(&self) -> Option<String> {
        self.inner.obstacles.text()
    }

    /// Whether the key of `work` may be reconciled now. If not, the key is parked with its note and priority, and goes back to
    /// the queue when its demands are met.
    pub(crate) fn admits(&self, work: &mut Work<ObjectKey, Causes>) -> bool {
        let inner = &self.inner;
        if inner.shared.has_no_demands() {
            return true;
        }
        let kept = (work.priority, std::mem::take(&mut work.note));
        let gate = inner
            .shared
            .ask(&work.key, kept, merge, &inner.caches, inner.now());
        match gate {
            Admission::Open((priority, note), waited) => {
                (work.priority, work.note) = (priority, note);
                waited.into_iter().for_each(|waited| inner.waited(waited));
                true
            }
            Admission::Closed { first } => {
                if first {
                    inner.metrics.skips.inc();
                }
                inner.due.notify_one();
                false
            }
        }
    }

    /// `key` is not reconciled any more.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.inner.shared.forget(key);
        self.inner.due.notify_one();
    }

    /// A write for `key` was answered with `object`. `field` returns the value of a field that a field selector names.
    pub(crate) fn wrote(
        &self,
        key: &ObjectKey,
        resource: &ApiResource,
        object: &impl Object,
        field: impl Fn(&str) -> Option<Field>,
    ) {
        let Some(version) = object.resource_version() else {
            return;
        };
        let caches = &self.inner.caches;
        let fit = caches.for_one_like(resource, object.metadata(), &field);
        self.demand_of(key, &object.key(), fit, Demand::at(object.uid(), version));
    }

    /// A call for `key` read `objects` from the API server, in one request. The caches may be behind.
    ///
    /// A cache that selects by fields or by shard does not wait: it is not known whether it holds the object.
    pub(crate) fn read(&self, key: &ObjectKey, resource: &ApiResource, objects: &[&ObjectMeta]) {
        let caches = &self.inner.caches;
        let holds_some = |cached: &dyn Cached| !cached.scope().is_whole();
        let newest = objects.iter().copied().reduce(newer);
        // A cache that has the newest of these versions has the others, if it holds all objects.
        let objects = match caches.of(resource, holds_some).is_empty() {
            true => newest.as_slice(),
            false => objects,
        };
        for metadata in objects {
            let Some(version) = metadata.resource_version.as_deref() else {
                continue;
            };
            let name = metadata.name.as_deref().unwrap_or_default();
            let object = ObjectKey::new(metadata.namespace.as_deref(), name);
            let holds = |cached: &dyn Cached| {
                let scope = cached.scope();
                let is_certain = scope.field_selector.is_none() && scope.shard_selector.is_none();
                is_certain && scope.may_hold(metadata, &|_| None)
            };
            let demand = Demand::as_new_as(metadata.uid.as_deref(), version);
            self.demand_of(key, &object, caches.of(resource, holds), demand);
        }
    }

    /// Whether a cache of the controller holds objects of `resource`.
    pub(crate) fn follows(&self, resource: &ApiResource) -> bool {
        !self.inner.caches.of(resource, |_| true).is_empty()
    }

    /// Whether `key` has an unmet demand on `object`.
    pub(crate) fn awaits(
        &self,
        key: &ObjectKey,
        resource: &ApiResource,
        object: &ObjectKey,
    ) -> bool {
        let all = self.inner.caches.of(resource, |_| true);
        let informers: Vec<_> = all.into_iter().map(|(informer, _)| informer).collect();
        self.inner.shared.awaits(key, &informers, object)
    }

    /// The state of `object` in the caches before its deletion is sent. Pass it to [`deleted`](Self::deleted).
    pub(crate) fn before(&self, resource: &ApiResource, object: &ObjectKey) -> Before {
        let all = self.inner.caches.of(resource, |_| true);
        let held = |(informer, _)| (informer, self.inner.caches.uid(informer, object));
        Before(all.into_iter().map(held).collect())
    }

    /// A deletion for `key` was answered: `object` is gone. `uid` and `version` are its UID and its last version, if they are
    /// known; `before` is its state in the caches before the deletion.
    pub(crate) fn deleted(
        &self,
        key: &ObjectKey,
        resource: &ApiResource,
        object: &ObjectKey,
        uid: Option<&str>,
        version: Option<&str>,
        before: &Before,
    ) {
        let caches = &self.inner.caches;
        let all = caches.of(resource, |_| true);
        let demands = all.into_iter().filter_map(|(informer, kind)| {
            let held = before.0.iter().find(|(one, _)| *one == informer);
            let held = held.and_then(|(_, uid)| uid.as_deref());
            let uid = uid.or(held)?;
            let had = held == Some(uid);
            // A cache that holds only some objects, and not this one, has nothing to delete.
            let is_partial = caches.is_selective(informer);
            if is_partial && !had && caches.uid(informer, object).as_deref() != Some(uid) {
                return None;
            }
            Some((informer, kind, Demand::gone(uid, version, had)))
        });
        let demands: Vec<_> = demands.collect();
        self.demand(key, object, demands);
    }

    /// The result of a write of `object` for `key` is not known.
    pub(crate) fn unknown(&self, key: &ObjectKey, resource: &ApiResource, object: &ObjectKey) {
        let all = self.inner.caches.of(resource, |_| true);
        self.demand_of(key, object, all, Demand::Unknown);
        self.inner.due.notify_one();
    }

    /// Some of the waiting keys, at most `limit`.
    pub(crate) fn parked(&self, limit: usize) -> Vec<WaitingKey> {
        let (inner, now) = (&self.inner, self.inner.now());
        let parked = inner.shared.parked(limit).into_iter();
        let parked = parked.map(|Waiting { key, since, asked }| {
            // A set, because two caches may hold the same objects.
            let waits_for: BTreeSet<_> = asked
                .into_iter()
                .map(|(informer, object, demand)| {
                    let kind = inner.caches.get(informer);
                    let kind = kind.map_or_else(String::new, |one| one.resource().kind.to_string());
                    format!("{kind} {object} {demand}")
                })
                .collect();
            WaitingKey {
                key,
                since: Duration::from_millis(now.saturating_sub(since)),
                waits_for: waits_for.into_iter().collect(),
            }
        });
        parked.collect()
    }

    /// Makes the same demand on each of these informers.
    fn demand_of(
        &self,
        key: &ObjectKey,
        object: &ObjectKey,
        informers: Vec<(usize, usize)>,
        demand: Demand,
    ) {
        let demands = repeat_n(demand, informers.len());
        let each = informers.into_iter().zip(demands);
        let each = each.map(|((informer, kind), demand)| (informer, kind, demand));
        self.demand(key, object, each);
    }

    fn demand(
        &self,
        key: &ObjectKey,
        object: &ObjectKey,
        demands: impl IntoIterator<Item = (usize, usize, Demand)>,
    ) {
        let inner = &self.inner;
        inner
            .shared
            .demand(key, object, demands, &inner.caches, inner.now());
        inner.count_dropped();
        inner.add_missing();
    }

    /// The number of keys with demands.
    pub(crate) fn len(&self) -> usize {
        self.inner.shared.len()
    }
}

impl Inner {
    pub(super) fn now(&self) -> u64 {
        self.epoch.elapsed().as_millis() as u64
    }

    /// The time at which the clock shows `at` milliseconds.
    pub(super) fn instant(&self, at: u64) -> Instant {
        self.epoch + Duration::from_millis(at)
    }

    /// The cache of `informer` has changed.
    pub(super) fn reached(&self, informer: usize, how: BatchInfo) {
        if how.went_back {
            let woken = self.shared.went_back(informer, self.now());
            self.count_dropped();
            self.wake(woken);
        }
        let woken = self
            .shared
            .wake(informer, how.listed, &self.caches, self.now());
        self.wake(woken);
        self.add_missing();
    }

    /// Adds the keys to the queue that do not wait and that wrote an object which is gone.
    pub(super) fn add_missing(&self) {
        for key in self.shared.take_missing() {
            self.queue
                .add_with(key, Priority::Normal, Cause::Missing.into());
        }
    }

    /// Puts keys back into the queue.
    pub(super) fn wake(&self, woken: Vec<Woken<ObjectKey, (Priority, Causes)>>) {
        for Woken { key, note, waited } in woken {
            self.waited(waited);
            self.queue.add_with(key, note.0, note.1);
        }
    }

    pub(super) fn count_dropped(&self) {
        self.metrics.dropped.inc_by(self.shared.take_dropped());
    }

    fn waited(&self, milliseconds: u64) {
        self.metrics.waiting.observe(milliseconds as f64 / 1000.0);
    }
}

fn newer<'a>(one: &'a ObjectMeta, other: &'a ObjectMeta) -> &'a ObjectMeta {
    let versions = (&one.resource_version, &other.resource_version);
    let order = match versions {
        (Some(one), Some(other)) => compare(one, other),
        _ => None,
    };
    match order {
        Some(Ordering::Less) => other,
        _ => one,
    }
}

fn merge(mut earlier: (Priority, Causes), later: (Priority, Causes)) -> (Priority, Causes) {
    earlier.0 = earlier.0.max(later.0);
    earlier.1.merge(later.1);
    earlier
}
