use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pilothouse::{
    controller::{Cleanup, Predicate},
    k8s::api::core::v1::ConfigMap,
    prelude::*,
    resource::ObjectKey,
};
use tokio::time::{Instant, sleep};

use super::{dice::Dice, probe::Widget};

/// A reconciler that applies a child for each widget, takes its time, fails, panics and hangs as the dice say, and writes
/// down what it saw.
pub(crate) struct Walker {
    pub(crate) dice: Dice,
    pub(crate) record: Record,
    /// Asks for a finalizer.
    pub(crate) finalizes: bool,
}

/// What a call was for.
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
    /// It panicked or was dropped.
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

/// What happened. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) calls: BTreeMap<String, Vec<Call>>,
    /// Calls that began while another one of the same key ran.
    pub(crate) overlaps: Vec<String>,
    /// Calls that were given another state than the cache had.
    pub(crate) not_level: Vec<String>,
    /// Calls that began before a cache had synced.
    pub(crate) unsynced: Vec<String>,
    /// Calls that found an older child in the cache than had been written.
    pub(crate) stale: Vec<String>,
    pub(crate) panics: u64,
    pub(crate) handler_panics: u64,
    written: HashMap<String, (Option<String>, u64, Instant)>,
}

/// ConfigMaps of this name are there from the beginning to the end.
pub(crate) const ANCHOR: &str = "anchor";
pub(crate) const ANCHORS: usize = 20;
/// A call takes no longer than this.
const LIMIT: Duration = Duration::from_secs(5);
/// So long a cache is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const VALUE: &str = "size";

impl Record {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, name: &str, call: Call) -> Open<'_> {
        let mut state = self.state();
        let calls = state.calls.entry(name.to_owned()).or_default();
        let overlaps = calls.iter().any(|call| call.ended == Ended::Running);
        let place = calls.len();
        let what = format!("{name}: {:?} is call {place}", call.verb);
        calls.push(call);
        if overlaps {
            state.overlaps.push(what);
        }
        Open {
            record: self,
            name: name.to_owned(),
            place,
            ended: Ended::Gone,
        }
    }
}

/// A call that has begun, and ends when this is dropped.
struct Open<'a> {
    record: &'a Record,
    name: String,
    place: usize,
    ended: Ended,
}

impl Open<'_> {
    fn ended<T>(mut self, result: Result<T>) -> Result<T> {
        self.ended = match &result {
            Ok(_) => Ended::Well,
            Err(_) => Ended::Failed,
        };
        result
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut state = self.record.state();
        if let Some(calls) = state.calls.get_mut(&self.name) {
            calls[self.place].ended = self.ended;
        }
    }
}

impl Walker {
    /// Writes down on what ground a call stands.
    fn look(&self, cx: &Context<Widget>, object: Option<&Widget>) -> Result<()> {
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
        // With the finalizer that was just added it is newer than the cache.
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

    /// Something that a call does beside its work.
    async fn stroll(&self) -> Result<()> {
        sleep(Duration::from_millis(self.dice.below(1500))).await;
        match self.dice.below(100) {
            0..8 => Err(Failure::new("as the test wants it")),
            8..12 => {
                self.record.state().panics += 1;
                panic!("as the test wants it");
            }
            12..14 => std::future::pending().await,
            _ => Ok(()),
        }
    }

    /// Writes down what was written, and when: what is known to be there already is not written again.
    fn wrote(&self, name: &str, child: &ConfigMap) {
        let (uid, version) = (child.metadata.uid.clone(), number(child));
        let written = &mut self.record.state().written;
        let before = written.get(name);
        if before.is_none_or(|(before, at, _)| (before, *at) != (&uid, version)) {
            written.insert(name.to_owned(), (uid, version, Instant::now()));
        }
    }

    async fn walk(&self, widget: &Widget, cx: &Context<Widget>) -> Result<Action> {
        self.look(cx, Some(widget))?;
        self.stroll().await?;
        let mut child = ConfigMap::named(widget.name());
        child.data = Some([(VALUE.to_owned(), widget.spec.size.to_string())].into());
        let child = cx.apply(child).await?;
        self.wrote(widget.name(), &child);
        self.stroll().await?;
        Ok(match self.dice.percent(5) {
            true => Action::requeue_after(Duration::from_secs(self.dice.below(60))),
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

impl Reconciler for Walker {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let (dice, record) = (self.dice.clone(), self.record.clone());
        let whimsical = Predicate::new(move |_: &ConfigMap, _: &ConfigMap| {
            if dice.percent(50) {
                record.state().handler_panics += 1;
                panic!("as the test wants it");
            }
            true
        });
        let controller = controller
            .owns_when::<ConfigMap>(whimsical)
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
        open.ended(self.walk(&widget, cx).await)
    }

    async fn deleted(&self, key: &ObjectKey, cx: &Context<Widget>) -> Result<()> {
        let open = self.record.begin(key.name(), call(Verb::Deleted, None));
        let walk = async {
            self.look(cx, None)?;
            self.stroll().await
        };
        open.ended(walk.await)
    }
}

impl Cleanup for Walker {
    async fn cleanup(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        let open = self
            .record
            .begin(widget.name(), call(Verb::Cleanup, Some(&widget)));
        let walk = async {
            self.look(cx, Some(&widget))?;
            self.stroll().await?;
            Ok(Action::wait())
        };
        open.ended(walk.await)
    }
}
