use std::{collections::BTreeSet, iter::repeat_n, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, join_all};
use tokio::{sync::Notify, time::Instant};

use super::{
    cached::{Cached, Informer},
    catch_up::catch_up,
    core::{Gate, Waiting, Woken},
    demand::Demand,
    follower::Follower,
    informers::{Followed, Informers},
    shared::Shared,
};
use crate::{
    cache::{Field, Reached, SharedInformer},
    client::Client,
    controller::{
        causes::{Cause, Causes},
        report::Parked,
    },
    metrics::ReadYourWritesMetrics,
    queue::{Note, Priority, Work, WorkQueue},
    resource::{ApiResource, Object, ObjectKey},
};

/// What the keys of a controller wrote and its caches do not have yet.
pub(in crate::controller) struct ReadYourWrites {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) shared: Shared<ObjectKey, (Priority, Causes)>,
    pub(super) caches: Informers,
    queue: WorkQueue<ObjectKey, Causes>,
    pub(super) metrics: ReadYourWritesMetrics,
    epoch: Instant,
    /// The API server has to be asked earlier than was known.
    pub(super) due: Notify,
}

/// What the caches held of an object before it was to be deleted: informer and UID.
pub(in crate::controller) struct Before(Vec<(usize, Option<String>)>);

impl ReadYourWrites {
    /// Keys that wait no longer go to `queue`, and those of which something is gone that they wrote.
    pub(in crate::controller) fn new(
        queue: WorkQueue<ObjectKey, Causes>,
        metrics: ReadYourWritesMetrics,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                shared: Shared::new(),
                caches: Informers::default(),
                queue,
                metrics,
                epoch: Instant::now(),
                due: Notify::new(),
            }),
        }
    }

    /// What is written to objects that `informer` may hold is waited for from now on, until as many have
    /// [unfollowed](Self::unfollow) it.
    pub(in crate::controller) fn follow<C: Object>(
        &self,
        informer: &SharedInformer<C>,
    ) -> Followed {
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

    /// Takes back one [`follow`](Self::follow): when it was the last of its informer nothing is asked of that one
    /// any more, and nothing is kept of it.
    pub(in crate::controller) async fn unfollow(&self, Followed(number): Followed) {
        if let Some(subscription) = self.inner.caches.unfollow(number) {
            // Who waits for it waits no longer.
            self.inner.reached(number, Reached::default());
            subscription.remove().await;
        }
    }

    /// Waits until each cache that has synced holds all changes that the API server had made by `since`, or by any
    /// moment if it is `None`. No reconcile may start before.
    pub(in crate::controller) fn catch_up<'a>(
        &self,
        client: &'a Client,
        since: Option<Instant>,
    ) -> BoxFuture<'a, ()> {
        let mut caches = self.inner.caches.all();
        // A source that is added at run time catches up by itself when it has synced, and nobody waits for it.
        caches.retain(|cache| cache.has_synced());
        Box::pin(async move {
            join_all(caches.iter().map(|one| catch_up(&**one, client, since))).await;
        })
    }

    /// The same for one of them.
    pub(in crate::controller) fn catch_up_one<'a>(
        &self,
        Followed(number): &Followed,
        client: &'a Client,
        since: Option<Instant>,
    ) -> BoxFuture<'a, ()> {
        let cache = self.inner.caches.get(*number);
        Box::pin(async move {
            if let Some(cache) = cache {
                catch_up(&*cache, client, since).await;
            }
        })
    }

    /// Whether the key of `work` may be reconciled now. If not the work is put aside with its note and
    /// priority, and the key comes to the queue again when what it waits for is there.
    pub(in crate::controller) fn admits(&self, work: &mut Work<ObjectKey, Causes>) -> bool {
        let inner = &self.inner;
        if inner.shared.asks_nothing() {
            return true;
        }
        let kept = (work.priority, std::mem::take(&mut work.note));
        let gate = inner
            .shared
            .ask(&work.key, kept, merge, &inner.caches, inner.now());
        match gate {
            Gate::Open((priority, note), waited) => {
                (work.priority, work.note) = (priority, note);
                waited.into_iter().for_each(|waited| inner.waited(waited));
                true
            }
            Gate::Closed { first } => {
                if first {
                    inner.metrics.skips.inc();
                }
                inner.due.notify_one();
                false
            }
        }
    }

    /// `key` will not be reconciled any more.
    pub(in crate::controller) fn forget(&self, key: &ObjectKey) {
        self.inner.shared.forget(key);
        self.inner.due.notify_one();
    }

    /// A write for `key` was answered by `object` as it is now; `field` gives what a field selector
    /// asks for.
    pub(in crate::controller) fn wrote(
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

    /// Whether a cache is still to tell `key` what became of `object`, which it wrote.
    pub(in crate::controller) fn awaits(
        &self,
        key: &ObjectKey,
        resource: &ApiResource,
        object: &ObjectKey,
    ) -> bool {
        let all = self.inner.caches.of(resource, |_| true);
        let informers: Vec<_> = all.into_iter().map(|(informer, _)| informer).collect();
        self.inner.shared.awaits(key, &informers, object)
    }

    /// What the caches hold of `object`, to be told when it was [deleted](Self::deleted).
    pub(in crate::controller) fn before(
        &self,
        resource: &ApiResource,
        object: &ObjectKey,
    ) -> Before {
        let all = self.inner.caches.of(resource, |_| true);
        let held = |(informer, _)| (informer, self.inner.caches.uid(informer, object));
        Before(all.into_iter().map(held).collect())
    }

    /// A deletion for `key` was answered: `object`, of that UID if it is known, is gone. Its last `version`,
    /// if it is known, and what the caches held `before`.
    pub(in crate::controller) fn deleted(
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
            // One that holds only some objects and not this one has nothing to forget.
            let is_partial = caches.is_selective(informer);
            if is_partial && !had && caches.uid(informer, object).as_deref() != Some(uid) {
                return None;
            }
            Some((informer, kind, Demand::gone(uid, version, had)))
        });
        let demands: Vec<_> = demands.collect();
        self.demand(key, object, demands);
    }

    /// Whether a write of `object` for `key` was done is not known.
    pub(in crate::controller) fn unknown(
        &self,
        key: &ObjectKey,
        resource: &ApiResource,
        object: &ObjectKey,
    ) {
        let all = self.inner.caches.of(resource, |_| true);
        self.demand_of(key, object, all, Demand::Unknown);
        self.inner.due.notify_one();
    }

    /// Some of the keys that wait, `limit` at most.
    pub(in crate::controller) fn parked(&self, limit: usize) -> Vec<Parked> {
        let (inner, now) = (&self.inner, self.inner.now());
        let parked = inner.shared.parked(limit).into_iter();
        let parked = parked.map(|Waiting { key, since, asked }| {
            // Two caches may hold the same objects.
            let waits_for: BTreeSet<_> = asked
                .into_iter()
                .map(|(informer, object, demand)| {
                    let kind = inner.caches.get(informer);
                    let kind = kind.map_or_else(String::new, |one| one.resource().kind.to_string());
                    format!("{kind} {object} {demand}")
                })
                .collect();
            Parked {
                key,
                since: Duration::from_millis(now.saturating_sub(since)),
                waits_for: waits_for.into_iter().collect(),
            }
        });
        parked.collect()
    }

    /// The same of each of these informers.
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

    /// How many keys there are of which something is asked.
    pub(in crate::controller) fn len(&self) -> usize {
        self.inner.shared.len()
    }
}

impl Inner {
    pub(super) fn now(&self) -> u64 {
        self.epoch.elapsed().as_millis() as u64
    }

    /// When the clock says so many milliseconds.
    pub(super) fn instant(&self, at: u64) -> Instant {
        self.epoch + Duration::from_millis(at)
    }

    /// The cache of `informer` has changed.
    pub(super) fn reached(&self, informer: usize, how: Reached) {
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

    /// Gives keys to the queue that do not wait and wrote what is gone.
    pub(super) fn add_missing(&self) {
        for key in self.shared.take_missing() {
            self.queue
                .add_with(key, Priority::Normal, Cause::Missing.into());
        }
    }

    /// Gives keys back to the queue.
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

fn merge(mut earlier: (Priority, Causes), later: (Priority, Causes)) -> (Priority, Causes) {
    earlier.0 = earlier.0.max(later.0);
    earlier.1.merge(later.1);
    earlier
}
