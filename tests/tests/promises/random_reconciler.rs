use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use pilothouse::{
    controller::{Cleanup, Owned, Predicate},
    k8s::api::core::v1::ConfigMap,
    prelude::*,
    resource::ObjectKey,
};
use tokio::time::{Instant, sleep};

use super::seeded_random::SeededRandom;
use crate::probe::Widget;

/// A reconciler that applies a child for each widget, is slow, fails, panics and hangs at random, and records what it
/// saw.
pub(crate) struct RandomReconciler {
    pub(crate) random: SeededRandom,
    pub(crate) record: Record,
    /// Whether it uses a finalizer.
    pub(crate) finalizes: bool,
    /// Whether its calls read children.
    pub(crate) reads: bool,
}

/// The function of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Reconcile,
    Cleanup,
    Deleted,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Running,
    Well,
    Failed,
    /// The call panicked or was dropped.
    Gone,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    pub(crate) size: Option<i32>,
    pub(crate) uid: Option<String>,
    pub(crate) ended: Ended,
}

/// The record of all calls. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) calls: BTreeMap<String, Vec<Call>>,
    /// Calls that began while another one of the same key ran.
    pub(crate) overlaps: Vec<String>,
    /// Calls that got another state than the cache held.
    pub(crate) not_level: Vec<String>,
    /// Calls that began before a cache had synced.
    pub(crate) unsynced: Vec<String>,
    /// Calls that found an older child in the cache than the last written one.
    pub(crate) stale: Vec<String>,
    pub(crate) panics: u64,
    pub(crate) handler_panics: u64,
    written: HashMap<String, (Option<String>, u64, Instant)>,
}

/// The name of ConfigMaps that exist from the start to the end.
pub(crate) const ANCHOR: &str = "anchor";
pub(crate) const ANCHORS: usize = 20;
/// The time limit of a call.
const LIMIT: Duration = Duration::from_secs(5);
/// The longest wait for a cache.
const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const VALUE: &str = "size";

impl Record {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    fn begin(&self, name: &str, call: Call) -> RunningCall<'_> {
        let mut state = self.state();
        let calls = state.calls.entry(name.to_owned()).or_default();
        let overlaps = calls.iter().any(|call| call.ended == Ended::Running);
        let place = calls.len();
        let what = format!("{name}: {:?} is call {place}", call.verb);
        calls.push(call);
        if overlaps {
            state.overlaps.push(what);
        }
        RunningCall {
            record: self,
            name: name.to_owned(),
            place,
            ended: Ended::Gone,
        }
    }
}

/// A call that has begun, and ends when this is dropped.
struct RunningCall<'a> {
    record: &'a Record,
    name: String,
    place: usize,
    ended: Ended,
}

impl RunningCall<'_> {
    fn ended<T>(mut self, result: Result<T>) -> Result<T> {
        self.ended = match &result {
            Ok(_) => Ended::Well,
            Err(_) => Ended::Failed,
        };
        result
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let mut state = self.record.state();
        if let Some(calls) = state.calls.get_mut(&self.name) {
            calls[self.place].ended = self.ended;
        }
    }
}

impl RandomReconciler {
    /// Records the state on which a call works.
    fn check_state(&self, cx: &Context<Widget>, object: Option<&Widget>) -> Result<()> {
        if !self.reads {
            return Ok(());
        }
        let name = cx.key().name();
        let own = cx.get::<Widget>(name)?;
        let child = cx.get::<ConfigMap>(name)?;
        let anchors = cx.list::<ConfigMap>()?;
        let anchors = anchors
            .items
            .iter()
            .filter(|one| one.name().starts_with(ANCHOR));
        let anchors = anchors.count();
        let mut state = self.record.state();
        // After the framework added the finalizer, the object is newer than the cache.
        let level = match (object, own.as_deref()) {
            (Some(object), Some(own)) if self.finalizes => number(object) >= number(own),
            (object, own) => object.map(number) == own.map(number),
        };
        if !level {
            let text = format!("{name}: {object:?} instead of {own:?}");
            state.not_level.push(text);
        }
        if anchors != ANCHORS {
            state
                .unsynced
                .push(format!("{name}: {anchors} of {ANCHORS}"));
        }
        if let (Some(child), Some((uid, written, at))) = (child, state.written.get(name))
            && child.metadata.uid == *uid
            && number(&*child) < *written
            && at.elapsed() < PATIENCE
        {
            let seen = number(&*child);
            let text = format!("{name}: {seen} after {written} was written");
            state.stale.push(text);
        }
        Ok(())
    }

    /// Does something random besides the work of the call.
    async fn act_randomly(&self) -> Result<()> {
        sleep(Duration::from_millis(self.random.below(1500))).await;
        match self.random.below(100) {
            0..8 => Err(Failure::new("as the test wants it")),
            8..12 => {
                self.record.state().panics += 1;
                panic!("as the test wants it");
            }
            12..14 => std::future::pending().await,
            _ => Ok(()),
        }
    }

    /// Records the written version and the time. A repeated record of the same version keeps its first time.
    fn wrote(&self, name: &str, child: &ConfigMap) {
        let (uid, version) = (child.metadata.uid.clone(), number(child));
        let written = &mut self.record.state().written;
        let before = written.get(name);
        if before.is_none_or(|(before, at, _)| (before, *at) != (&uid, version)) {
            written.insert(name.to_owned(), (uid, version, Instant::now()));
        }
    }

    async fn apply_child(&self, widget: &Widget, cx: &Context<Widget>) -> Result<Action> {
        self.check_state(cx, Some(widget))?;
        self.act_randomly().await?;
        let mut child = ConfigMap::named(widget.name());
        child.data = Some([(VALUE.to_owned(), widget.spec.size.to_string())].into());
        let child = cx.apply(child).await?;
        self.wrote(widget.name(), &child);
        self.act_randomly().await?;
        Ok(match self.random.percent(5) {
            true => Action::requeue_after(Duration::from_secs(self.random.below(60))),
            false => Action::wait(),
        })
    }
}

fn number(object: &impl Object) -> u64 {
    object.resource_version().unwrap().parse().unwrap()
}

fn call(verb: Verb, widget: Option<&Widget>) -> Call {
    Call {
        verb,
        size: widget.map(|widget| widget.spec.size),
        uid: widget.and_then(|widget| widget.uid().map(str::to_owned)),
        ended: Ended::Running,
    }
}

impl Reconciler for RandomReconciler {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let (random, record) = (self.random.clone(), self.record.clone());
        let whimsical = Predicate::new(move |_: &ConfigMap, _: &ConfigMap| {
            if random.percent(50) {
                record.state().handler_panics += 1;
                panic!("as the test wants it");
            }
            true
        });
        let controller = controller
            .watch(Owned::<ConfigMap>::new().when(whimsical))
            .timeout(LIMIT)
            .concurrency(4);
        match self.finalizes {
            true => controller.finalizer("test.pilothouse.dev/walker"),
            false => controller,
        }
    }

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        let open = self
            .record
            .begin(widget.name(), call(Verb::Reconcile, Some(&widget)));
        open.ended(self.apply_child(&widget, cx).await)
    }

    async fn deleted(&self, key: &ObjectKey, cx: &Context<Widget>) -> Result<()> {
        let open = self.record.begin(key.name(), call(Verb::Deleted, None));
        let apply_child = async {
            self.check_state(cx, None)?;
            self.act_randomly().await
        };
        open.ended(apply_child.await)
    }
}

impl Cleanup for RandomReconciler {
    async fn cleanup(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        let open = self
            .record
            .begin(widget.name(), call(Verb::Cleanup, Some(&widget)));
        let apply_child = async {
            self.check_state(cx, Some(&widget))?;
            self.act_randomly().await?;
            Ok(Action::wait())
        };
        open.ended(apply_child.await)
    }
}
