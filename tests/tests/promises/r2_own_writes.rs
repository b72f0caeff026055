//! R2: the event of an own write leads to no reconcile, if nothing in it can be news. Every other change does.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pilothouse::{
    client::{Api, Patch},
    controller::{Mapping, Watched},
    k8s::api::core::v1::ConfigMap,
    operator::{Operator, Running},
    prelude::*,
    resource::{AccessRule, ObjectKey},
    testing::{Cluster, RequestMatcher},
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{fault_run::FaultRun, seeded_random::seeds};
use crate::probe::{Widget, widget};

type Act = for<'a> fn(&'a Context<Widget>, usize) -> BoxFuture<'a, Result<Action>>;

/// Calls `act` with the number of the call for the object, from 1.
struct Writer {
    act: Act,
    calls: Calls,
}

#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<(String, Instant)>>>);

impl Calls {
    fn of(&self, name: &str) -> usize {
        let calls = self.0.lock();
        calls.iter().filter(|(one, _)| one == name).count()
    }
}

impl Reconciler for Writer {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let to_b = Mapping::objects(|child: &ConfigMap| match child.name() {
            "seen-by-b" => vec![ObjectKey::namespaced("default", "b")],
            _ => Vec::new(),
        });
        controller
            .owns::<ConfigMap>()
            .watch(Watched::new(to_b))
            .access(AccessRule::of::<ConfigMap>(["get", "patch", "create"]))
    }

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result<Action> {
        let call = (widget.name().to_owned(), Instant::now());
        self.calls.0.lock().push(call);
        (self.act)(cx, self.calls.of(widget.name())).await
    }
}

/// A child of the reconciled object.
fn child(cx: &Context<Widget>) -> ConfigMap {
    let mut child = ConfigMap::named(cx.key().name());
    child.data = Some([("value".to_owned(), "1".to_owned())].into());
    child
}

async fn apply(cx: &Context<Widget>) -> Result<Action> {
    cx.apply(child(cx)).await?;
    Ok(Action::wait())
}

async fn apply_slowly(cx: &Context<Widget>) -> Result<Action> {
    cx.apply(child(cx)).await?;
    sleep(Duration::from_secs(5)).await;
    Ok(Action::wait())
}

async fn started(act: Act) -> (Cluster, Running, Calls) {
    let cluster = Cluster::start().unwrap();
    let calls = Calls::default();
    let writer = Writer {
        act,
        calls: calls.clone(),
    };
    let operator = Operator::new("promises").controller(writer);
    let running = cluster.run(operator).await.unwrap();
    (cluster, running, calls)
}

/// How often `act` was called for the widget `a` after its creation, when nothing happens any more.
async fn calls_of(act: Act) -> usize {
    let (cluster, running, calls) = started(act).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    running.stop().await;
    calls.of("a")
}

fn applies() -> RequestMatcher {
    RequestMatcher::any().resource("configmaps").verb("patch")
}

fn child_watches() -> RequestMatcher {
    RequestMatcher::any().resource("configmaps").verb("watch")
}

async fn change_by_hand(cluster: &Cluster, name: &str) {
    let by_hand = json!({"data": {"value": "by hand"}});
    cluster.patch::<ConfigMap>(name, by_hand).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_event_of_an_own_write_leads_to_no_reconcile() {
    assert_eq!(calls_of(|cx, _| Box::pin(apply(cx))).await, 1);
    // The event comes while the reconcile goes on.
    assert_eq!(calls_of(|cx, _| Box::pin(apply_slowly(cx))).await, 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_overtakes_the_answer_leads_to_no_reconcile() {
    let (cluster, running, calls) = started(|cx, _| Box::pin(apply(cx))).await;
    let delay = Duration::from_secs(2);
    cluster.faults().delay_responses(applies(), delay, 1);
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(calls.of("a"), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_read_the_kind_is_called_again() {
    let reads: [Act; 3] = [
        |cx, _| {
            Box::pin(async {
                cx.get::<ConfigMap>("another")?;
                apply(cx).await
            })
        },
        |cx, _| {
            Box::pin(async {
                cx.list_owned::<ConfigMap>()?;
                apply(cx).await
            })
        },
        |cx, _| {
            Box::pin(async {
                Api::<ConfigMap>::namespaced(cx.live(), "default")
                    .get_opt("a")
                    .await?;
                apply(cx).await
            })
        },
    ];
    for (number, act) in reads.into_iter().enumerate() {
        assert_eq!(calls_of(act).await, 2, "{number}");
    }
}

/// What `uncached` writes is shown by the cache only.
#[tokio::test(start_paused = true)]
async fn a_read_that_misses_the_own_write_makes_its_event_a_change() {
    let act: Act = |cx, _| {
        Box::pin(async {
            cx.uncached().apply(child(cx)).await?;
            cx.get::<ConfigMap>("a")?;
            Ok(Action::wait())
        })
    };
    let (cluster, running, calls) = started(act).await;
    cluster.faults().hold_watches(child_watches());
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    cluster.faults().release_watches();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(calls.of("a"), 2);
    running.stop().await;
}

/// These reads show the own write.
#[tokio::test(start_paused = true)]
async fn reads_after_the_write_do_not_make_its_event_a_change() {
    let reads: [Act; 3] = [
        |cx, _| {
            Box::pin(async {
                let applied = apply(cx).await;
                let shown = cx.list::<ConfigMap>()?.items;
                assert!(shown.iter().any(|map| map.name() == "a"));
                applied
            })
        },
        |cx, _| {
            Box::pin(async {
                let applied = apply_slowly(cx).await;
                assert!(cx.get::<ConfigMap>("a")?.is_some());
                applied
            })
        },
        |cx, _| {
            Box::pin(async {
                let applied = apply(cx).await;
                let live = Api::<ConfigMap>::namespaced(cx.live(), "default");
                assert!(live.get_opt("a").await?.is_some());
                applied
            })
        },
    ];
    for (number, act) in reads.into_iter().enumerate() {
        assert_eq!(calls_of(act).await, 1, "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_failed_after_its_write_is_called_for_the_event() {
    let act: Act = |cx, call| {
        Box::pin(async move {
            let applied = apply(cx).await;
            match call {
                1 => Err(Failure::new("later").retry_after(Duration::from_secs(3600))),
                _ => applied,
            }
        })
    };
    assert_eq!(calls_of(act).await, 2);
}

/// Another client may have changed the object between the two.
#[tokio::test(start_paused = true)]
async fn two_writes_of_one_object_lead_to_a_reconcile() {
    let act: Act = |cx, call| {
        Box::pin(async move {
            let applied = apply(cx).await;
            if call == 1 {
                let patch = Patch::Merge(json!({"data": {"more": "yes"}}));
                cx.patch::<ConfigMap>(cx.key(), &patch).await?;
            }
            applied
        })
    };
    assert_eq!(calls_of(act).await, 2);
    // The events come after the call.
    let (cluster, running, calls) = started(act).await;
    cluster.faults().hold_watches(child_watches());
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(calls.of("a"), 1);
    cluster.faults().release_watches();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(calls.of("a"), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_is_lost_leads_to_a_reconcile() {
    let act: Act = |cx, call| {
        Box::pin(async move {
            match call {
                1 => {
                    drop(apply(cx).await);
                    Ok(Action::wait())
                }
                _ => apply(cx).await,
            }
        })
    };
    let (cluster, running, calls) = started(act).await;
    cluster.faults().lose_responses(applies(), 1);
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(calls.of("a"), 2);
    running.stop().await;
}

/// The second call began before the cache had the write, because the watch was held for longer than a call waits for it.
#[tokio::test(start_paused = true)]
async fn the_event_of_an_older_call_leads_to_a_reconcile() {
    let (cluster, running, calls) = started(|cx, _| Box::pin(apply(cx))).await;
    cluster.faults().hold_watches(child_watches());
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    super::resize(&cluster, "a", 2).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(calls.of("a"), 2);
    cluster.faults().release_watches();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(calls.of("a"), 3);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_by_others_leads_to_a_reconcile_during_and_after_the_call() {
    let (cluster, running, calls) = started(|cx, _| Box::pin(apply_slowly(cx))).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    change_by_hand(&cluster, "a").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(calls.of("a"), 1);
    sleep(Duration::from_secs(20)).await;
    // The second call puts the value back, which is an own write.
    assert_eq!(calls.of("a"), 2);
    for (change, expected) in [(true, 3), (false, 4)] {
        match change {
            true => change_by_hand(&cluster, "a").await,
            false => cluster.delete::<ConfigMap>("a").await.unwrap(),
        }
        sleep(Duration::from_secs(20)).await;
        assert_eq!(calls.of("a"), expected);
        let child = cluster.get::<ConfigMap>("a").await.unwrap().unwrap();
        assert_eq!(child.data.unwrap()["value"], "1");
    }
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn only_the_key_that_wrote_is_spared() {
    let act: Act = |cx, _| {
        Box::pin(async {
            if cx.key().name() == "a" {
                let mut child = child(cx);
                child.metadata.name = Some("seen-by-b".into());
                cx.apply(child).await?;
            }
            Ok(Action::wait())
        })
    };
    let (cluster, running, calls) = started(act).await;
    cluster.create(&widget("b", 1)).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    assert_eq!((calls.of("a"), calls.of("b")), (1, 2));
    running.stop().await;
}

/// A reconciler that reads no child is spared its own writes. Under faults, with others that change and delete children, each
/// child is as its parent wants it in the end.
#[tokio::test(start_paused = true)]
async fn under_faults_no_change_of_a_child_is_taken_for_an_own_write() {
    for seed in seeds(700, 2) {
        let fault_run = FaultRun::without_reads(seed).await;
        let parents = fault_run.parents().await;
        assert!(!parents.is_empty());
        for parent in &parents {
            let (wanted, actual) = fault_run.child(parent).await;
            assert_eq!(actual, Some(wanted), "{} of seed {seed}", parent.name());
        }
        fault_run.end().await;
    }
}
