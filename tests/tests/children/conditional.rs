//! Finalizers with a condition, on selected objects, and of a former version of the program.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use pilothouse::{
    controller::{
        Action, Child, Cleanup, Context, Controller, Failure, Owned, Predicate, Reconciler, Result,
    },
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::{Object, ObjectKey, Selector},
    testing::{Answer, RequestMatcher},
};
use serde_json::{Value, json};

use crate::children::{World, deployment};

const A: &str = "buckets.example.com/a";
const B: &str = "buckets.example.com/b";
const C: &str = "buckets.example.com/c";
const OLD: &str = "buckets.example.com/old";
const FOREIGN: &str = "other.example.com/x";

type Wire = dyn Fn(Controller<Buckets>) -> Controller<Buckets> + Send + Sync;

/// Logs its calls with the finalizers of the object.
#[derive(Clone)]
struct Buckets {
    wire: Arc<Wire>,
    log: Arc<Mutex<Vec<String>>>,
    fails: Arc<AtomicBool>,
    /// Whether it applies a detached child.
    has_child: Arc<AtomicBool>,
}

impl Buckets {
    fn wired(wire: impl Fn(Controller<Self>) -> Controller<Self> + Send + Sync + 'static) -> Self {
        Self {
            wire: Arc::new(wire),
            log: Arc::default(),
            fails: Arc::default(),
            has_child: Arc::default(),
        }
    }

    fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock())
    }

    fn note(&self, line: String) -> Result<()> {
        self.log.lock().push(line);
        match self.fails.load(Ordering::SeqCst) {
            true => Err(Failure::new("on purpose")),
            false => Ok(()),
        }
    }
}

impl Reconciler for Buckets {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        (self.wire)(controller)
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        self.note(format!("reconcile {}", short(&web)))?;
        if self.has_child.load(Ordering::SeqCst) {
            let mut map = ConfigMap::named("child");
            map.metadata.namespace = Some("team-a".into());
            if let Err(error) = cx.apply_child(Child::new(map).detached()).await {
                self.note(error.to_string())?;
            }
        }
        Ok(Action::wait())
    }

    async fn deleted(&self, _: &ObjectKey, _: &Context<Deployment>) -> Result<()> {
        self.note("deleted".into())
    }
}

impl Cleanup for Buckets {
    async fn cleanup(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizer = cx.finalizer().unwrap_or_default();
        self.note(format!("clean up {}", last_part(finalizer)))?;
        Ok(Action::wait())
    }
}

fn last_part(finalizer: &str) -> &str {
    finalizer.rsplit('/').next().unwrap_or_default()
}

/// The last parts of the finalizers.
fn short(web: &Deployment) -> String {
    let finalizers = web.metadata.finalizers.as_deref().unwrap_or_default();
    let parts: Vec<_> = finalizers.iter().map(|one| last_part(one)).collect();
    format!("[{}]", parts.join(" "))
}

/// Whether an object has the annotation.
fn has(annotation: &'static str) -> impl Fn(&Deployment) -> bool {
    move |web| web.annotation(annotation).is_some()
}

fn ours() -> Predicate<Deployment> {
    Predicate::selector(Selector::default().eq("app", "ours"))
}

fn web_with(name: &str, app: &str, finalizers: &[&str]) -> Deployment {
    let mut web = deployment(name);
    web.metadata.labels = Some([("app".to_owned(), app.to_owned())].into());
    let finalizers = finalizers.iter().map(|one| (*one).to_owned());
    web.metadata.finalizers = Some(finalizers.collect());
    web
}

impl World {
    async fn patch_web(&self, change: Value) {
        let patched = self.cluster.patch::<Deployment>("web", change).await;
        patched.unwrap();
        self.cluster.settle().await;
    }

    async fn annotate(&self, annotation: &str, value: Option<&str>) {
        self.patch_web(json!({"metadata": {"annotations": {annotation: value}}}))
            .await;
    }

    async fn delete_web(&self) {
        self.cluster.delete::<Deployment>("web").await.unwrap();
        self.cluster.settle().await;
    }

    /// The finalizers of a Deployment, or that it is gone.
    async fn finalizers_of(&self, name: &str) -> String {
        match self.cluster.get::<Deployment>(name).await.unwrap() {
            Some(web) => short(&web),
            None => "gone".into(),
        }
    }

    async fn stopped(buckets: &Buckets) -> Self {
        let mut world = Self::of(buckets.clone()).await;
        world.stop().await;
        world
    }

    async fn resume(&mut self, buckets: &Buckets) {
        self.process_with(buckets.clone(), self.cluster.client().clone());
        self.cluster.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_comes_and_goes_with_its_condition_also_if_the_predicate_drops_the_change() {
    let buckets = Buckets::wired(|wire| wire.when(Predicate::labels()).finalizer_when(A, has("a")));
    let world = World::of(buckets.clone()).await;
    world.create("web").await;
    assert_eq!(world.finalizers_of("web").await, "[]");
    world.annotate("a", Some("yes")).await;
    assert_eq!(world.finalizers_of("web").await, "[a]");
    world.annotate("other", Some("yes")).await;
    assert_eq!(buckets.take_log(), ["reconcile []", "reconcile [a]"]);

    world.annotate("a", None).await;
    assert_eq!(world.finalizers_of("web").await, "[]");
    world.delete_web().await;
    // The reconcile comes before the removal, and there is no cleanup.
    assert_eq!(buckets.take_log(), ["reconcile [a]", "deleted"]);
    assert_eq!(world.finalizers_of("web").await, "gone");
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_that_is_not_needed_stays_until_a_reconcile_succeeds() {
    let buckets = Buckets::wired(|wire| wire.finalizer_when(A, has("a")));
    let world = World::of(buckets.clone()).await;
    let mut web = deployment("web");
    web.metadata.annotations = Some([("a".to_owned(), String::new())].into());
    world.cluster.create(&web).await.unwrap();
    world.cluster.settle().await;
    buckets.fails.store(true, Ordering::SeqCst);
    world.annotate("a", None).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.finalizers_of("web").await, "[a]");
    buckets.fails.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.finalizers_of("web").await, "[]");
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_turns_false_with_the_deletion_skips_no_cleanup() {
    let buckets = Buckets::wired(|wire| wire.finalizer_when(A, has("a")));
    let mut world = World::of(buckets.clone()).await;
    world.create("web").await;
    world.annotate("a", Some("yes")).await;
    world.stop().await;
    world.annotate("a", None).await;
    world.delete_web().await;
    buckets.take_log();
    world.resume(&buckets).await;
    assert_eq!(buckets.take_log(), ["clean up a", "deleted"]);

    // The deletion begins, and then the condition turns false while the cleanup fails.
    world.create("web").await;
    world.annotate("a", Some("yes")).await;
    buckets.fails.store(true, Ordering::SeqCst);
    world.delete_web().await;
    world.annotate("a", None).await;
    assert_eq!(world.finalizers_of("web").await, "[a]");
    buckets.fails.store(false, Ordering::SeqCst);
    buckets.take_log();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(buckets.take_log(), ["clean up a", "deleted"]);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_turns_true_after_the_deletion_began_adds_no_finalizer() {
    let buckets = Buckets::wired(|wire| wire.finalizer_when(A, has("a")));
    let mut world = World::stopped(&buckets).await;
    let web = web_with("web", "ours", &[FOREIGN]);
    world.cluster.create(&web).await.unwrap();
    world.delete_web().await;
    world.resume(&buckets).await;
    world.annotate("a", Some("yes")).await;
    assert_eq!(world.finalizers_of("web").await, "[x]");
    assert!(buckets.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_of_several_finalizers_has_its_own_condition() {
    let buckets = Buckets::wired(|wire| {
        let wire = wire.finalizer_when(A, has("a")).finalizer_when(B, has("b"));
        wire.finalizer(C)
    });
    let world = World::of(buckets.clone()).await;
    world.create("web").await;
    world.annotate("b", Some("yes")).await;
    assert_eq!(world.finalizers_of("web").await, "[c b]");
    let change = json!({"metadata": {"annotations": {"a": "yes", "b": null}}});
    world.patch_web(change).await;
    assert_eq!(world.finalizers_of("web").await, "[c a]");
    buckets.take_log();
    world.delete_web().await;
    assert_eq!(buckets.take_log(), ["clean up a", "clean up c", "deleted"]);
}

#[tokio::test(start_paused = true)]
async fn no_finalizer_is_put_on_an_object_that_the_predicate_leaves_out() {
    let buckets = Buckets::wired(|wire| {
        wire.when(ours())
            .watches::<ConfigMap>(|map| match map.name() {
                "settings" => vec![ObjectKey::namespaced("default", "web")],
                _ => Vec::new(),
            })
            .finalizer(A)
            .finalizer_when(B, |_| true)
    });
    let world = World::of(buckets.clone()).await;
    let web = web_with("web", "theirs", &[]);
    world.cluster.create(&web).await.unwrap();
    // Another source leads to its reconcile.
    let settings = ConfigMap::named("settings");
    world.cluster.create(&settings).await.unwrap();
    world.cluster.settle().await;
    world.annotate("touched", Some("yes")).await;
    assert_eq!(buckets.take_log(), ["reconcile []"]);
    assert_eq!(world.finalizers_of("web").await, "[]");

    let label = |app: &str| json!({"metadata": {"labels": {"app": app}}});
    world.patch_web(label("ours")).await;
    assert_eq!(buckets.take_log(), ["reconcile [a b]"]);
    // Those that it has stay: the deletion has to be seen.
    world.patch_web(label("theirs")).await;
    assert_eq!(world.finalizers_of("web").await, "[a b]");
    buckets.take_log();
    world.delete_web().await;
    assert_eq!(buckets.take_log(), ["clean up a", "clean up b", "deleted"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_selected_any_more_loses_its_finalizer_by_the_condition() {
    let buckets = Buckets::wired(|controller| {
        // ANCHOR: selected
        let is_ours = |web: &Deployment| web.label("app") == Some("ours");
        let selected = Predicate::selector(Selector::default().eq("app", "ours"));
        controller
            .when(selected)
            .finalizer_when("buckets.example.com/a", is_ours)
        // ANCHOR_END: selected
    });
    let world = World::of(buckets.clone()).await;
    let web = web_with("web", "ours", &[]);
    world.cluster.create(&web).await.unwrap();
    world.cluster.settle().await;
    assert_eq!(world.finalizers_of("web").await, "[a]");
    let theirs = json!({"metadata": {"labels": {"app": "theirs"}}});
    world.patch_web(theirs).await;
    assert_eq!(world.finalizers_of("web").await, "[]");
    assert_eq!(buckets.take_log(), ["reconcile [a]", "reconcile [a]"]);
}

#[tokio::test(start_paused = true)]
async fn a_retired_finalizer_is_removed_from_every_object_without_a_cleanup() {
    let buckets = Buckets::wired(|controller| {
        let controller = controller.when(ours()).every(Duration::from_secs(60));
        // ANCHOR: retired
        controller
            .finalizer("buckets.example.com/a")
            .finalizer_retired("buckets.example.com/old")
        // ANCHOR_END: retired
    });
    let mut world = World::stopped(&buckets).await;
    for web in [
        web_with("web", "ours", &[OLD]),
        web_with("left-out", "theirs", &[OLD]),
        web_with("dying", "ours", &[OLD]),
        web_with("dying-left-out", "theirs", &[FOREIGN, OLD]),
    ] {
        world.cluster.create(&web).await.unwrap();
    }
    for name in ["dying", "dying-left-out"] {
        world.cluster.delete::<Deployment>(name).await.unwrap();
    }
    world.resume(&buckets).await;
    // The new finalizer is there before the reconcile, in place of the old one.
    assert_eq!(buckets.take_log(), ["reconcile [a]"]);
    for (name, expected) in [
        ("web", "[a]"),
        ("left-out", "[]"),
        ("dying", "gone"),
        ("dying-left-out", "[x]"),
    ] {
        assert_eq!(world.finalizers_of(name).await, expected, "{name}");
    }
    // It is removed again from an object that somebody puts it on. The objects that are left out are not reconciled.
    let again = json!({"metadata": {"finalizers": [OLD]}});
    let patched = world.cluster.patch::<Deployment>("left-out", again).await;
    patched.unwrap();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(world.finalizers_of("left-out").await, "[]");
    assert_eq!(buckets.take_log(), ["reconcile [a]"]);
}

#[tokio::test(start_paused = true)]
async fn a_retired_finalizer_that_could_not_be_removed_is_removed_later() {
    let buckets = Buckets::wired(|wire| wire.when(ours()).finalizer_retired(OLD));
    let mut world = World::stopped(&buckets).await;
    let web = web_with("web", "theirs", &[OLD]);
    world.cluster.create(&web).await.unwrap();
    let patches = RequestMatcher::any().resource("deployments").verb("patch");
    let refused = Answer::status(500, "InternalError");
    world.cluster.faults().answer(patches, refused, 8);
    world.resume(&buckets).await;
    assert_eq!(world.finalizers_of("web").await, "[old]");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.finalizers_of("web").await, "[]");
    assert!(buckets.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_retired_finalizer_is_removed_also_if_the_deletion_begins_during_the_removal() {
    let buckets = Buckets::wired(|wire| wire.when(ours()).finalizer_retired(OLD));
    let mut world = World::stopped(&buckets).await;
    let web = web_with("web", "theirs", &[FOREIGN, OLD]);
    world.cluster.create(&web).await.unwrap();
    let patches = RequestMatcher::any().resource("deployments").verb("patch");
    let refused = Answer::status(500, "InternalError");
    world.cluster.faults().answer(patches, refused, 12);
    world.resume(&buckets).await;
    // The next attempts write on the version that they know, and learn that the deletion has begun.
    let watches = RequestMatcher::any().resource("deployments");
    world.cluster.faults().hold_watches(watches);
    world.delete_web().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.finalizers_of("web").await, "[x old]");
    world.cluster.faults().release_watches();
    world.cluster.settle().await;
    assert_eq!(world.finalizers_of("web").await, "[x]");
    assert!(buckets.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn r9_somebody_who_puts_a_retired_finalizer_on_again_and_again_is_not_answered_without_limit()
{
    let buckets = Buckets::wired(|wire| {
        wire.when(ours())
            .finalizer_retired(OLD)
            .write_limit(3, Duration::from_secs(60))
    });
    let world = World::of(buckets.clone()).await;
    let web = web_with("web", "theirs", &[OLD]);
    world.cluster.create(&web).await.unwrap();
    let mut removals = 0;
    for _ in 0..100 {
        world.cluster.settle().await;
        if world.finalizers_of("web").await == "[]" {
            removals += 1;
            let again = json!({"metadata": {"finalizers": [OLD]}});
            world.patch_web(again).await;
        }
    }
    // Three at once, and one more each minute.
    assert!((4..=7).contains(&removals), "{removals}");
    assert!(buckets.take_log().is_empty());
    world.delete_web().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.finalizers_of("web").await, "gone");
    assert!(buckets.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_last_finalizer_stays_while_the_object_has_detached_children() {
    let buckets = Buckets::wired(|wire| {
        wire.watch(Owned::<ConfigMap>::new().detached())
            .finalizer_when(A, has("a"))
            .finalizer_when(B, has("b"))
    });
    let world = World::of(buckets.clone()).await;
    world.create("web").await;
    let both = json!({"metadata": {"annotations": {"a": "yes", "b": "yes"}}});
    buckets.has_child.store(true, Ordering::SeqCst);
    world.patch_web(both).await;
    assert_eq!(world.maps().await, ["team-a/child"]);
    buckets.has_child.store(false, Ordering::SeqCst);
    let none = json!({"metadata": {"annotations": {"a": null, "b": null}}});
    world.patch_web(none).await;
    assert_eq!(world.finalizers_of("web").await, "[b]");

    let team = world.cluster.in_namespace("team-a");
    team.delete::<ConfigMap>("child").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(world.finalizers_of("web").await, "[]");
}

#[tokio::test(start_paused = true)]
async fn a_detached_child_of_an_object_that_gets_no_finalizer_is_refused() {
    let buckets = Buckets::wired(|wire| {
        wire.watch(Owned::<ConfigMap>::new().detached())
            .finalizer_when(A, has("a"))
    });
    buckets.has_child.store(true, Ordering::SeqCst);
    let world = World::of(buckets.clone()).await;
    world.create("web").await;
    let refused = "apply detached ConfigMap team-a/child: no owner reference reaches the child, so a finalizer has to delete \
                   it, and Deployment default/web gets none: the condition of `.finalizer_when(..)` does not hold for it, or \
                   `.when(..)` leaves it out";
    assert_eq!(buckets.take_log(), ["reconcile []", refused]);
    assert_eq!(world.maps().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn r10_a_panic_of_a_condition_fails_the_reconcile_and_changes_no_finalizer() {
    let buckets = Buckets::wired(|wire| {
        let condition = |web: &Deployment| match web.annotation("a") {
            Some("panic") => panic!("on purpose"),
            value => value.is_some(),
        };
        wire.when(Predicate::labels()).finalizer_when(A, condition)
    });
    let world = World::of(buckets.clone()).await;
    world.create("web").await;
    world.annotate("a", Some("yes")).await;
    buckets.take_log();
    world.annotate("a", Some("panic")).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(buckets.take_log().len() > 3, "it is tried again");
    assert_eq!(world.finalizers_of("web").await, "[a]");
    world.annotate("a", None).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.finalizers_of("web").await, "[]");
}

#[test]
fn each_declaration_of_a_finalizer_needs_to_patch_the_reconciled_kind() {
    let wires: [fn(Controller<Buckets>) -> Controller<Buckets>; 3] = [
        |wire| wire.finalizer(A),
        |wire| wire.finalizer_when(A, has("a")),
        |wire| wire.finalizer_retired(OLD),
    ];
    for wire in wires {
        let needs = Controller::new(Buckets::wired(wire)).needs().to_string();
        let patch = "deployments.apps: get, list, patch, watch";
        assert!(needs.contains(patch), "{needs}");
    }
}
