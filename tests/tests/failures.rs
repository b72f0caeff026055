//! How failures are reported: Events and the condition `Ready`, and how loops of writes are slowed, over the whole client
//! and the sandbox, in memory.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use pilothouse::{
    client::{DeleteParams, ListParams, Patch, PatchParams},
    controller::Predicate,
    health::Query,
    k8s::{api::core::v1::ConfigMap, api::events::v1 as events},
    operator::Running,
    prelude::*,
    resource::{Conditions, HasReadiness, NewCondition, Selector},
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;

/// A kind whose status has conditions.
#[derive(Resource, Clone, Debug)]
#[resource(group = "test.pilothouse.dev", version = "v1", namespaced)]
struct Page {
    metadata: ObjectMeta,
    spec: PageSpec,
    status: Option<PageStatus>,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
struct PageSpec {
    text: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct PageStatus {
    length: usize,
    conditions: Vec<Condition>,
}

const OLD: &str = "test.pilothouse.dev/old";

/// Applies a ConfigMap for each page.
#[derive(Clone, Default)]
struct Pages {
    runs: Arc<AtomicUsize>,
    /// Whether it sets its own condition `Ready`.
    sets_ready: bool,
    shows_nothing: bool,
    /// Whether it builds its conditions from scratch each time.
    sets_anew: bool,
    /// Whether its predicate leaves out all pages, which lose a finalizer of a former version.
    leaves_out: bool,
}

impl Reconciler for Pages {
    type Resource = Page;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller
            .owns::<ConfigMap>()
            .deletes::<ConfigMap>()
            .finalizer("test.pilothouse.dev/page");
        let controller = match self.leaves_out {
            true => controller
                .when(Predicate::selector(Selector::default().eq("shown", "yes")))
                .finalizer_retired(OLD),
            false => controller,
        };
        match self.shows_nothing {
            true => controller
                .without_ready_condition()
                .without_failure_events(),
            false => controller,
        }
    }

    async fn reconcile(&self, page: Arc<Page>, cx: &Context<Page>) -> Result<Action> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let mut status = PageStatus {
            length: page.spec.text.len(),
            ..page.status.clone().unwrap_or_default()
        };
        // Otherwise the conditions of the framework are copied too.
        if self.sets_anew {
            status.conditions.clear();
        }
        if self.sets_ready {
            let ready = NewCondition::is_true("Ready", "Printed").message("by the reconciler");
            status.conditions.set(ready, cx.now())?;
        }
        cx.update_status(status).await?;
        cx.apply(ConfigMap {
            data: Some([("text".into(), page.spec.text.clone())].into()),
            ..ConfigMap::named(page.name())
        })
        .await?;
        Ok(Action::wait())
    }
}

impl Cleanup for Pages {
    async fn cleanup(&self, page: Arc<Page>, cx: &Context<Page>) -> Result<Action> {
        cx.delete_with::<ConfigMap>(&page.key(), &DeleteParams::default())
            .await?;
        Ok(Action::wait())
    }
}

struct World {
    cluster: Cluster,
    pages: Pages,
    running: Running,
}

impl World {
    async fn new(pages: Pages) -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        cluster.install::<Page>().await.unwrap();
        let operator = Operator::new("pages").controller(pages.clone());
        let running = cluster.run(operator).await.unwrap();
        cluster.forget_requests();
        Self {
            cluster,
            pages,
            running,
        }
    }

    async fn put(&self, text: &str) {
        let page = Page {
            metadata: ObjectMeta {
                name: Some("a".into()),
                finalizers: self.pages.leaves_out.then(|| vec![OLD.into()]),
                ..Default::default()
            },
            spec: PageSpec { text: text.into() },
            status: None,
        };
        self.cluster.create(&page).await.unwrap();
    }

    async fn text(&self, text: &str) {
        self.change(json!({"spec": {"text": text}})).await;
    }

    async fn change(&self, patch: serde_json::Value) {
        let (api, params) = (self.cluster.api::<Page>(), PatchParams::default());
        api.patch("a", &params, &Patch::Merge(patch)).await.unwrap();
    }

    /// Makes the server refuse the next `times` applies of the child with this answer.
    fn refuse(&self, code: u16, reason: &'static str, times: usize) {
        let maps = RequestMatcher::any().verb("patch").resource("configmaps");
        let answer = Answer::status(code, reason).message("no, thanks");
        self.cluster.faults().answer(maps, answer, times);
    }

    async fn ready(&self) -> Option<Condition> {
        let page: Page = self.cluster.get("a").await.unwrap().unwrap();
        page.status?.conditions.of_type("Ready").cloned()
    }

    /// Returns the status and the reason of the condition.
    async fn says(&self) -> String {
        let ready = self.ready().await;
        ready.map_or("nothing".into(), |ready| {
            format!("{} {}", ready.status, ready.reason)
        })
    }

    /// Returns the reason, the count and the note of the Events.
    async fn events(&self) -> Vec<(String, i32, String)> {
        let api = self.cluster.api::<events::Event>();
        let all = api.list(&ListParams::default()).await.unwrap().items;
        let told = |event: events::Event| {
            let count = event.series.map_or(1, |series| series.count);
            (event.reason.unwrap(), count, event.note.unwrap())
        };
        all.into_iter().map(told).collect()
    }

    fn runs(&self) -> usize {
        self.pages.runs.load(Ordering::SeqCst)
    }

    /// Returns the number of status writes since the last call.
    fn status_writes(&self) -> usize {
        let writes = self.cluster.writes();
        self.cluster.forget_requests();
        let writes = writes
            .iter()
            .filter(|one| one.path.ends_with("/pages/a/status"));
        writes.count()
    }

    /// Returns the line of `/readyz?verbose` about the controller. The process must be ready.
    fn readiness(&self) -> String {
        let report = self.running.ready().report(&Query::parse(Some("verbose")));
        assert!(report.healthy(), "{report}");
        let report = report.to_string();
        let line = report.lines().find(|line| line.contains("controller-page"));
        line.unwrap().to_owned()
    }

    async fn stop(self) {
        self.running.stop().await;
    }
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_child_sets_a_condition_and_an_event_until_it_succeeds() {
    let world = World::new(Pages::default()).await;
    world.refuse(422, "Invalid", 4);
    world.put("x").await;
    world.cluster.settle().await;
    let failed = world.ready().await.unwrap();
    let text = "apply ConfigMap default/a: invalid: no, thanks";
    assert_eq!(
        (
            &*failed.status,
            &*failed.reason,
            &*failed.message,
            failed.observed_generation
        ),
        ("False", "ReconcileFailed", text, Some(1))
    );
    let readiness = world.readiness();
    assert!(
        readiness.starts_with("[+]controller-page ok: working; objects that fail: 1 of 1; ")
            && readiness.ends_with(&format!(": reconcile Page default/a failed: {text}")),
        "{readiness}"
    );
    seconds(2).await;
    assert_eq!(
        world.events().await,
        [("ReconcileFailed".into(), 2, text.into())]
    );
    assert_eq!(world.ready().await.unwrap(), failed);
    assert_eq!(
        world.status_writes(),
        2,
        "the length, and the condition once"
    );

    seconds(20).await;
    let ready = world.ready().await.unwrap();
    assert_eq!((&*ready.status, &*ready.reason), ("True", "Reconciled"));
    assert_eq!(world.readiness(), "[+]controller-page ok: working");
    assert!(ready.last_transition_time.0 >= failed.last_transition_time.0);
    // The first is a conflict: the manager of the length owned parts of the first condition.
    assert_eq!(world.status_writes(), 2);
    let runs = world.runs();
    // The created child may trigger another reconcile.
    assert!((5..=6).contains(&runs), "{runs}");

    // The condition stays without a change, and a reconcile that does not change it writes nothing.
    seconds(1000).await;
    world
        .change(json!({"metadata": {"labels": {"x": "y"}}}))
        .await;
    world.cluster.settle().await;
    assert_eq!((world.status_writes(), world.runs()), (0, runs + 1));
    world.text("y").await;
    world.cluster.settle().await;
    let newer = world.ready().await.unwrap();
    assert_eq!(newer.observed_generation, Some(2));
    assert_eq!(newer.last_transition_time, ready.last_transition_time);
    assert_eq!(world.status_writes(), 1);
    // One run for the page, one for its changed child.
    assert!(world.runs() <= runs + 3, "{}", world.runs());
    world.stop().await;
}

/// Makes the server's authorizer refuse each write of a status.
fn refuse_status(world: &World) {
    let status = RequestMatcher::any().verb("patch").resource("pages");
    let message = "pages.test.pilothouse.dev \"a\" is forbidden: User \"op\" cannot patch resource \"pages/status\" \
                   in API group \"test.pilothouse.dev\" in the namespace \"default\"";
    let answer = Answer::status(403, "Forbidden").message(message);
    let faults = world.cluster.faults();
    faults.answer(status.subresource("status"), answer, usize::MAX);
}

#[tokio::test(start_paused = true)]
async fn a_refused_condition_of_a_ready_object_leads_to_an_event_with_the_rule() {
    let world = World::new(Pages::default()).await;
    world.put("x").await;
    world.cluster.settle().await;
    assert_eq!(world.says().await, "True Reconciled");
    refuse_status(&world);
    // The length stays the same: only the condition needs a write.
    world.text("y").await;
    seconds(1).await;
    let rule = "bind op to a ClusterRole with apiGroups: [\"test.pilothouse.dev\"], resources: [\"pages/status\"], \
                verbs: [\"patch\"]";
    let events = world.events().await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].2.ends_with(rule), "{events:?}");

    // Another failure does not hide it.
    world.refuse(422, "Invalid", usize::MAX);
    world.text("z").await;
    seconds(20).await;
    let events = world.events().await;
    let both = ["no, thanks", rule];
    assert!(
        both.iter()
            .all(|text| events.iter().any(|event| event.2.ends_with(text))),
        "{events:?}"
    );
    let readiness = world.readiness();
    assert!(
        readiness.contains("no, thanks; also: ") && readiness.ends_with(rule),
        "{readiness}"
    );
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_short_transient_failure_is_not_reported() {
    let world = World::new(Pages::default()).await;
    world.put("x").await;
    world.cluster.settle().await;
    assert_eq!(world.says().await, "True Reconciled");
    for (code, reason) in [(500, "InternalError"), (409, "Conflict")] {
        world.status_writes();
        world.refuse(code, reason, 5);
        let runs = world.runs();
        world.text(reason).await;
        seconds(5).await;
        assert!(world.runs() > runs + 5, "{reason}");
        // One write for the length, and one for the generation.
        assert_eq!(world.status_writes(), 2, "{reason}");
        assert_eq!(world.says().await, "True Reconciled");
    }
    assert_eq!(world.events().await, []);

    world.refuse(500, "InternalError", usize::MAX);
    world.text("longer").await;
    seconds(9).await;
    assert_eq!(world.says().await, "True Reconciled");
    seconds(9).await;
    assert_eq!(world.says().await, "False ReconcileFailed");
    assert_eq!(world.events().await.len(), 1);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_is_not_ready_before_its_first_reconcile_has_ended() {
    let world = World::new(Pages::default()).await;
    // The answer to the first status is lost, so the framework does not know that its condition is there.
    let status = RequestMatcher::any().verb("patch").resource("pages");
    let faults = world.cluster.faults();
    faults.lose_responses(status.subresource("status"), 1);
    world.refuse(503, "ServiceUnavailable", 10);
    world.put("x").await;
    world.cluster.settle().await;
    assert_eq!(world.says().await, "Unknown Reconciling");
    let page: Page = world.cluster.get("a").await.unwrap().unwrap();
    assert_eq!(page.status.as_ref().unwrap().length, 1);
    assert!(!page.is_ready(), "{page:?}");

    seconds(20).await;
    assert_eq!(world.says().await, "True Reconciled");
    // The two field managers do not take the condition from each other.
    world.text("longer").await;
    world.cluster.settle().await;
    let page: Page = world.cluster.get("a").await.unwrap().unwrap();
    assert_eq!(page.status.as_ref().unwrap().length, 6);
    assert!(page.is_ready(), "{page:?}");
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_first_condition_gives_way_to_that_of_another_client() {
    let pages = Pages {
        sets_anew: true,
        ..Pages::default()
    };
    let world = World::new(pages).await;
    world.refuse(503, "ServiceUnavailable", 10);
    world.put("x").await;
    world.cluster.settle().await;
    assert_eq!(world.says().await, "Unknown Reconciling");
    let theirs = json!({
        "type": "Ready", "status": "False", "reason": "Person", "message": "wait",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch = Patch::Merge(json!({"status": {"conditions": [theirs]}}));
    let api = world.cluster.api::<Page>();
    let params = PatchParams::default();
    api.patch_status("a", &params, &patch).await.unwrap();
    seconds(9).await;
    assert_eq!(world.says().await, "False Person");
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_framework_does_not_write_a_ready_condition_of_the_reconciler() {
    let pages = Pages {
        sets_ready: true,
        ..Pages::default()
    };
    let world = World::new(pages).await;
    world.put("x").await;
    world.cluster.settle().await;
    assert_eq!(
        (world.says().await, world.status_writes()),
        ("True Printed".into(), 1)
    );
    world.refuse(422, "Invalid", 2);
    world.text("y").await;
    seconds(1).await;
    assert_eq!(world.says().await, "True Printed");
    assert_eq!(world.events().await.len(), 1, "the Event is still there");
    seconds(60).await;
    assert_eq!(
        (world.says().await, world.status_writes()),
        ("True Printed".into(), 0)
    );
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_framework_does_not_overwrite_a_ready_condition_of_a_person() {
    let pages = Pages {
        sets_anew: true,
        ..Pages::default()
    };
    let world = World::new(pages).await;
    world.put("x").await;
    world.cluster.settle().await;
    let api = world.cluster.api::<Page>();
    let mut page = api.get("a").await.unwrap();
    let status = page.status.as_mut().unwrap();
    let ready = NewCondition::is_false("Ready", "Maintenance").message("by hand");
    let now = world.cluster.now();
    status.conditions.set(ready, now).unwrap();
    api.replace_status("a", &Default::default(), &page)
        .await
        .unwrap();
    seconds(1).await;
    assert_eq!(world.says().await, "False Maintenance");
    world.status_writes();
    seconds(1000).await;
    assert_eq!(world.status_writes(), 0);
    world.text("y").await;
    seconds(1).await;
    assert_eq!(world.says().await, "False Maintenance");
    assert!(world.status_writes() <= 3);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_cleanup_is_reported() {
    let world = World::new(Pages::default()).await;
    world.put("x").await;
    world.cluster.settle().await;
    let maps = RequestMatcher::any().verb("delete").resource("configmaps");
    let refused = Answer::status(403, "Forbidden").message("no, thanks");
    world.cluster.faults().answer(maps, refused, 2);
    world.cluster.delete::<Page>("a").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(world.says().await, "False CleanupFailed");
    let events = world.events().await;
    assert_eq!((&*events[0].0, events.len()), ("CleanupFailed", 1));
    world.cluster.until_gone::<Page>("a").await.unwrap();
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reported_if_reporting_is_switched_off() {
    let pages = Pages {
        shows_nothing: true,
        ..Pages::default()
    };
    let world = World::new(pages).await;
    world.refuse(422, "Invalid", 2);
    world.put("x").await;
    seconds(60).await;
    assert_eq!(
        (world.says().await, world.status_writes()),
        ("nothing".into(), 1)
    );
    assert_eq!(world.events().await, []);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_page_that_is_never_reconciled_is_an_event_and_no_condition() {
    let pages = Pages {
        leaves_out: true,
        ..Pages::default()
    };
    let world = World::new(pages).await;
    let patches = RequestMatcher::any().verb("patch").resource("pages");
    let refused = Answer::status(403, "Forbidden").message("no, thanks");
    world.cluster.faults().answer(patches, refused, 1);
    world.put("x").await;
    seconds(60).await;
    let page: Page = world.cluster.get("a").await.unwrap().unwrap();
    assert_eq!(page.metadata.finalizers, None);
    assert_eq!((world.says().await.as_str(), world.runs()), ("nothing", 0));
    assert_eq!(world.events().await[0].0, "ReconcileFailed");
    world.stop().await;
}

/// Reverts each apply of the ConfigMap `a` within 10 ms.
async fn revert(cluster: Cluster, reverts: Arc<AtomicUsize>) {
    let api = cluster.api::<ConfigMap>();
    loop {
        let map = api.get("a").await.unwrap();
        if map.data.unwrap()["text"] != "reverted" {
            reverts.fetch_add(1, Ordering::SeqCst);
            let patch = Patch::Merge(json!({"data": {"text": "reverted"}}));
            let params = PatchParams::default();
            api.patch("a", &params, &patch).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn child_text(cluster: &Cluster, name: &str) -> String {
    let map: ConfigMap = cluster.get(name).await.unwrap().unwrap();
    map.data.unwrap()["text"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_rival_that_reverts_each_apply_slows_only_its_object() {
    let world = World::new(Pages::default()).await;
    let cluster = world.cluster.clone();
    world.put("ours").await;
    seconds(1).await;
    let reverts = Arc::new(AtomicUsize::new(0));
    let rival = tokio::spawn(revert(cluster.clone(), reverts.clone()));
    seconds(60).await;
    let first_minute = reverts.load(Ordering::SeqCst);
    assert!((80..=92).contains(&first_minute), "{first_minute}");

    // The steps of another object go on at once, as long as they are no more than the burst.
    let other = Page {
        metadata: ObjectMeta {
            name: Some("b".into()),
            ..Default::default()
        },
        spec: PageSpec::default(),
        status: None,
    };
    cluster.create(&other).await.unwrap();
    for step in 0..25 {
        let text = "x".repeat(step);
        let patch = json!({"spec": {"text": text}});
        cluster.patch::<Page>("b", patch).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(child_text(&cluster, "b").await, text);
    }

    // A change during a pause leads to a call after it.
    world.text("newer").await;
    rival.abort();
    seconds(2).await;
    assert_eq!(child_text(&cluster, "a").await, "newer");
    let told = world.events().await;
    let [(reason, 1, note)] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(reason, "WritesRepeat");
    assert!(note.contains("apply ConfigMap default/a"), "{note}");
    let pauses = world
        .running
        .metrics()
        .value("pilothouse_controller_write_pauses_total", &[]);
    assert!((50.0..=70.0).contains(&pauses.unwrap()), "{pauses:?}");
    world.stop().await;
}
