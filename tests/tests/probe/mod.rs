//! A reconciler that runs a function of the test and records its calls.

// Each test program uses another part of this module.
#![allow(dead_code)]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pilothouse::{
    prelude::*,
    resource::{ObjectKey, Resource},
};
use tokio::time::Instant;

/// The kind of the tests.
#[derive(Resource, Clone, Debug)]
#[resource(group = "test.pilothouse.dev", version = "v1", namespaced)]
pub(crate) struct Widget {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: WidgetSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub(crate) struct WidgetSpec {
    pub(crate) size: i32,
}

/// Returns a widget in the default namespace.
pub(crate) fn widget(name: &str, size: i32) -> Widget {
    Widget {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        spec: WidgetSpec { size },
    }
}

type Act = dyn Fn(Arc<Widget>, usize) -> BoxFuture<'static, Result<Action>> + Send + Sync;
type Wire = fn(Controller<Probe>) -> Controller<Probe>;

/// The reconciler. Its function gets the widget and the number of the call for this key, from 1.
pub(crate) struct Probe {
    seen: Seen,
    act: Box<Act>,
    name: Option<&'static str>,
    wire: Wire,
}

impl Probe {
    pub(crate) fn new<F>(act: impl Fn(Arc<Widget>, usize) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Action>> + Send + 'static,
    {
        Self {
            seen: Seen::default(),
            act: Box::new(move |widget, call| Box::pin(act(widget, call))),
            name: None,
            wire: |controller| controller,
        }
    }

    /// Returns a probe that does nothing.
    pub(crate) fn idle() -> Self {
        Self::new(|_, _| async { Ok(Action::wait()) })
    }

    /// Sets the name of the controller, because two controllers of one kind need different names.
    pub(crate) fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// Sets the name, and declares that it reads `K`.
    pub(crate) fn reading<K: Resource>(self, name: &'static str) -> Self {
        let mut probe = self.named(name);
        probe.wire = |controller| controller.reads::<K>();
        probe
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.clone()
    }
}

impl Reconciler for Probe {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = (self.wire)(controller).concurrency(4);
        match self.name {
            Some(name) => controller.named(name),
            None => controller,
        }
    }

    async fn reconcile(&self, widget: Arc<Widget>, _: &Context<Widget>) -> Result<Action> {
        let name = widget.name().to_owned();
        let call = self.seen.begin(&name, Some(widget.spec.size));
        // Records the end even if the call panics or is dropped.
        let end = End(&self.seen, &name);
        let result = (self.act)(widget.clone(), call).await;
        self.seen
            .state
            .lock()
            .keys
            .entry(name.clone())
            .or_default()
            .finished += 1;
        drop(end);
        result
    }

    async fn deleted(&self, key: &ObjectKey, _: &Context<Widget>) -> Result<()> {
        self.seen.begin(key.name(), None);
        drop(End(&self.seen, key.name()));
        Ok(())
    }
}

struct End<'a>(&'a Seen, &'a str);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

/// The calls of a probe. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    keys: BTreeMap<String, Key>,
    running: usize,
    most_running: usize,
    calls: usize,
}

#[derive(Default)]
struct Key {
    /// The size and the time of each call.
    reconciles: Vec<(i32, Instant)>,
    /// When each call ended.
    ends: Vec<Instant>,
    deletions: usize,
    finished: usize,
    running: usize,
    most_running: usize,
}

impl Seen {
    fn begin(&self, name: &str, size: Option<i32>) -> usize {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.calls += 1;
        state.running += 1;
        state.most_running = state.most_running.max(state.running);
        let key = state.keys.entry(name.into()).or_default();
        key.running += 1;
        key.most_running = key.most_running.max(key.running);
        match size {
            Some(size) => key.reconciles.push((size, Instant::now())),
            None => key.deletions += 1,
        }
        key.reconciles.len()
    }

    fn end(&self, name: &str) {
        let mut state = self.state.lock();
        state.running -= 1;
        if let Some(key) = state.keys.get_mut(name) {
            key.running -= 1;
            key.ends.push(Instant::now());
        }
    }

    fn of<T: Default>(&self, name: &str, get: impl FnOnce(&Key) -> T) -> T {
        self.state
            .lock()
            .keys
            .get(name)
            .map(get)
            .unwrap_or_default()
    }

    /// Returns the size that each call for the key saw.
    pub(crate) fn sizes(&self, name: &str) -> Vec<i32> {
        self.of(name, |key| {
            key.reconciles.iter().map(|(size, _)| *size).collect()
        })
    }

    /// Returns the time from the end of each call to the start of the next.
    pub(crate) fn pauses(&self, name: &str) -> Vec<Duration> {
        self.of(name, |key| {
            let begins = key.reconciles.iter().skip(1).map(|(_, begin)| *begin);
            key.ends
                .iter()
                .zip(begins)
                .map(|(end, begin)| begin - *end)
                .collect()
        })
    }

    /// Returns how often `deleted` ran for the key.
    pub(crate) fn deletions(&self, name: &str) -> usize {
        self.of(name, |key| key.deletions)
    }

    /// Returns how many calls for the key ended by themselves.
    pub(crate) fn finished(&self, name: &str) -> usize {
        self.of(name, |key| key.finished)
    }

    /// Returns the largest number of calls for the key that ran at once.
    pub(crate) fn most_at_once(&self, name: &str) -> usize {
        self.of(name, |key| key.most_running)
    }

    /// Returns the largest number of calls that ran at once.
    pub(crate) fn most_at_once_of_all(&self) -> usize {
        self.state.lock().most_running
    }

    /// Waits until there were this many calls for the key.
    pub(crate) async fn until_calls(&self, name: &str, calls: usize) {
        let deadline = Instant::now() + Duration::from_secs(600);
        while self.sizes(name).len() < calls {
            let sizes = self.sizes(name);
            assert!(
                Instant::now() < deadline,
                "{name}: waited for {calls} calls, saw {sizes:?}"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until no call runs and none has started for 30 s.
    pub(crate) async fn until_quiet(&self) {
        loop {
            let calls = self.state.lock().calls;
            tokio::time::sleep(Duration::from_secs(30)).await;
            let state = self.state.lock();
            if state.running == 0 && state.calls == calls {
                return;
            }
        }
    }
}
