//! Blocking code of a reconcile. While it runs, tokio's paused clock advances only when the test advances it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc as blocking_mpsc,
    },
    time::Duration,
};

use futures_util::future::{BoxFuture, join_all};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::{sync::mpsc, task::yield_now};
use tokio_util::sync::CancellationToken;

use super::world::*;
use crate::{
    controller::{Action, Context, Controller, Reconciler, Result},
    logged::logged,
    resource::Object,
};

/// Lets all tasks do their work that needs no time. The clock stands still.
async fn settle() {
    for _ in 0..500 {
        yield_now().await;
    }
}

/// Advances the clock by so many seconds, one after the other.
async fn advance(seconds: u64) {
    for _ in 0..seconds {
        tokio::time::advance(Duration::from_secs(1)).await;
        settle().await;
    }
}

/// A closure that has begun. The test lets it go on.
struct Begun {
    key: String,
    go_on: blocking_mpsc::Sender<()>,
    token: CancellationToken,
}

/// Calls a closure that tells the test that it has begun, and waits for the test.
#[derive(Clone)]
struct Waiting {
    begun: mpsc::UnboundedSender<Begun>,
    wire: Arc<dyn Fn(Controller<Self>) -> Controller<Self> + Send + Sync>,
    /// What each closure does at its end, by the number of the call.
    end: fn(usize),
    calls: Arc<AtomicUsize>,
    active: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    ended: Arc<Mutex<Vec<String>>>,
}

impl Waiting {
    fn new(
        wire: impl Fn(Controller<Self>) -> Controller<Self> + Send + Sync + 'static,
    ) -> (Self, mpsc::UnboundedReceiver<Begun>) {
        let (begun, receiver) = mpsc::unbounded_channel();
        let waiting = Self {
            begun,
            wire: Arc::new(wire),
            end: |_| (),
            calls: Arc::default(),
            active: Arc::default(),
            most: Arc::default(),
            ended: Arc::default(),
        };
        (waiting, receiver)
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn closure(&self, cx: &Context<ConfigMap>) -> impl FnOnce() -> String + Send + use<> {
        let number = self.calls();
        let (this, key, token) = (
            self.clone(),
            cx.key().to_string(),
            cx.cancellation().clone(),
        );
        move || {
            let active = this.active.fetch_add(1, Ordering::SeqCst) + 1;
            this.most.fetch_max(active, Ordering::SeqCst);
            let (go_on, waits) = blocking_mpsc::channel();
            let begun = Begun {
                key: key.clone(),
                go_on,
                token,
            };
            // The test may be over.
            let _ = this.begun.send(begun);
            let _ = waits.recv();
            this.active.fetch_sub(1, Ordering::SeqCst);
            (this.end)(number);
            format!("value of {key}")
        }
    }
}

impl Reconciler for Waiting {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        (self.wire)(controller)
    }

    async fn reconcile(&self, map: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let closures = map
            .annotation("closures")
            .map_or(1, |number| number.parse().unwrap());
        let works = (0..closures).map(|_| {
            let work = cx.blocking(self.closure(cx));
            Box::pin(work) as BoxFuture<'_, String>
        });
        let values = join_all(works).await;
        self.ended.lock().extend(values);
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_gets_the_value_of_its_blocking_code_and_other_objects_go_on() {
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    let (waiting, mut begun) = Waiting::new(|wire| wire);
    world.start(Controller::new(waiting.clone()));
    maps.put(named("a"));
    let first = begun.recv().await.unwrap();
    maps.put(named("b"));
    let second = begun.recv().await.unwrap();
    assert_eq!((&*first.key, &*second.key), ("default/a", "default/b"));
    second.go_on.send(()).unwrap();
    while waiting.ended.lock().is_empty() {
        yield_now().await;
    }
    assert_eq!(*waiting.ended.lock(), ["value of default/b"]);
    assert!(!first.token.is_cancelled());
    first.go_on.send(()).unwrap();
    pass(10).await;
    assert_eq!(waiting.ended.lock().len(), 2);
    assert_eq!(world.metrics.controller("configmap").success.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn after_a_timeout_no_second_call_begins_before_the_blocking_code_has_ended() {
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    let (waiting, mut begun) = Waiting::new(|wire| wire.timeout(Duration::from_secs(10)));
    world.start(Controller::new(waiting.clone()));
    maps.put(named("a"));
    let first = begun.recv().await.unwrap();
    advance(9).await;
    assert!(!first.token.is_cancelled());
    advance(2).await;
    // The closure is told to end. It does not, and the object changes meanwhile.
    assert!(first.token.is_cancelled());
    maps.put(named("a"));
    advance(600).await;
    assert_eq!(waiting.calls(), 1);
    let metrics = world.metrics.controller("configmap");
    assert_eq!(metrics.timeouts.get(), 0);

    first.go_on.send(()).unwrap();
    let second = begun.recv().await.unwrap();
    assert_eq!((waiting.calls(), metrics.timeouts.get()), (2, 1));
    assert!(!second.token.is_cancelled());
    // The value of the first call was dropped.
    assert!(waiting.ended.lock().is_empty());
    second.go_on.send(()).unwrap();
    pass(10).await;
    assert_eq!(*waiting.ended.lock(), ["value of default/a"]);
    assert_eq!(waiting.most.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_newer_generation_cancels_the_token_and_waits_for_the_blocking_code() {
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    let (waiting, mut begun) = Waiting::new(Controller::cancel_on_new_generation);
    world.start(Controller::new(waiting.clone()));
    let generation = |number| {
        let mut map: ConfigMap = named("a");
        map.metadata.generation = Some(number);
        map
    };
    maps.put(generation(1));
    let first = begun.recv().await.unwrap();
    // A change of the metadata or of the status is no newer generation.
    maps.put(generation(1));
    settle().await;
    assert!(!first.token.is_cancelled());
    maps.put(generation(2));
    first.token.cancelled().await;
    advance(60).await;
    assert_eq!(waiting.calls(), 1);
    first.go_on.send(()).unwrap();
    let second = begun.recv().await.unwrap();
    second.go_on.send(()).unwrap();
    pass(10).await;
    assert_eq!((waiting.calls(), waiting.ended.lock().len()), (2, 1));
    let metrics = world.metrics.controller("configmap");
    assert_eq!(
        (metrics.requeues.outdated.get(), metrics.errors.get()),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_blocking_code_is_a_panic_of_the_reconcile_with_its_message() {
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    let (mut waiting, mut begun) = Waiting::new(|wire| wire);
    waiting.end = |call| assert!(call > 1, "no {call}");
    let controller = Controller::new(waiting.clone());
    let status = controller.status();
    world.start(controller);
    maps.put(named("a"));
    begun.recv().await.unwrap().go_on.send(()).unwrap();
    let second = begun.recv().await.unwrap();
    let metrics = world.metrics.controller("configmap");
    assert_eq!((metrics.panics.get(), metrics.errors.get()), (1, 1));
    let failures = format!("{:?}", status.report(10));
    assert!(failures.contains("no 1"), "{failures}");
    second.go_on.send(()).unwrap();
    pass(10).await;
    assert_eq!((metrics.success.get(), metrics.panics.get()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_blocking_code_after_its_call_is_counted_and_logged() {
    let (log, _guard) = logged(tracing::Level::WARN);
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    let (mut waiting, mut begun) = Waiting::new(|wire| wire.timeout(Duration::from_secs(10)));
    waiting.end = |call| assert!(call > 1, "too late");
    world.start(Controller::new(waiting.clone()));
    maps.put(named("a"));
    let first = begun.recv().await.unwrap();
    advance(11).await;
    assert!(
        log.text().contains("its blocking code still runs"),
        "{}",
        log.text()
    );
    first.go_on.send(()).unwrap();
    let second = begun.recv().await.unwrap();
    let metrics = world.metrics.controller("configmap");
    assert_eq!((metrics.panics.get(), metrics.timeouts.get()), (1, 1));
    let line = "blocking code of ConfigMap default/a panicked after its call had ended: too late";
    assert!(log.text().contains(line), "{}", log.text());
    second.go_on.send(()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn at_most_one_closure_for_each_worker_runs_at_once() {
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    let (waiting, mut begun) = Waiting::new(|wire| wire.concurrency(2));
    world.start(Controller::new(waiting.clone()));
    let mut map: ConfigMap = named("a");
    map.metadata.annotations = Some([("closures".to_owned(), "10".to_owned())].into());
    maps.put(map);
    let mut running = Vec::new();
    for _ in 0..10 {
        if running.len() == 2 {
            // Threads that have been started reach the counter meanwhile.
            for _ in 0..10 {
                tokio::task::spawn_blocking(|| ()).await.unwrap();
            }
            let one: Begun = running.remove(0);
            one.go_on.send(()).unwrap();
        }
        running.push(begun.recv().await.unwrap());
    }
    for one in running {
        one.go_on.send(()).unwrap();
    }
    pass(10).await;
    assert_eq!(waiting.ended.lock().len(), 10);
    assert_eq!(waiting.most.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_aborted_returns_when_its_blocking_code_has_ended() {
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    let (waiting, mut begun) = Waiting::new(|wire| wire);
    let environment = world.environment();
    let abort = environment.abort.clone();
    let controller = Controller::new(waiting.clone());
    let mut running = tokio::spawn(controller.run(environment, world.cancel.child_token()));
    maps.put(named("a"));
    let first = begun.recv().await.unwrap();
    world.cancel.cancel();
    settle().await;
    assert!(first.token.is_cancelled());
    abort.cancel();
    advance(60).await;
    assert!(futures_util::poll!(&mut running).is_pending());
    first.go_on.send(()).unwrap();
    running.await.unwrap();
    // The reconcile was dropped.
    assert!(waiting.ended.lock().is_empty());
}
