//! Objects that exist already when a reconcile applies a child of their name.

use std::sync::Arc;

use pilothouse::{
    cache::Informers,
    controller::{Action, Child, Context, Controller, Environment, Reconciler, Result},
    k8s::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    },
    metrics::Metrics,
    resource::{AccessRule, Object},
    testing::RequestMatcher,
};
use serde_json::json;

use crate::children::{Copies, World, script::Script};

fn page() -> ConfigMap {
    let mut page = ConfigMap::named("page");
    page.data = Some([("value".to_owned(), "ours".to_owned())].into());
    page
}

impl World {
    async fn foreign(&self, namespace: &str) -> ConfigMap {
        let mut foreign = page();
        foreign.data = Some([("value".to_owned(), "theirs".to_owned())].into());
        let there = self.cluster.in_namespace(namespace);
        let foreign = there.create(&foreign).await.unwrap();
        self.cluster.settle().await;
        foreign
    }

    async fn page(&self, namespace: &str) -> ConfigMap {
        let there = self.cluster.in_namespace(namespace);
        there.get("page").await.unwrap().unwrap()
    }

    fn reads_of_page(&self) -> usize {
        let requests = self.cluster.requests();
        let reads = requests.iter().filter(|one| one.verb == "get");
        reads.filter(|one| one.name == "page").count()
    }
}

const REFUSED: &str = "apply ConfigMap default/page: an object of this name exists and does not belong to Deployment \
                       default/web: delete it, choose another name, or let the operator's code take it over with `cx.adopt(&object)` or \
                       `Child::new(..).adopting()`";

#[tokio::test(start_paused = true)]
async fn an_apply_refuses_an_object_without_an_owner() {
    let script = Script::pruning();
    let world = World::of(script.clone()).await;
    let foreign = world.foreign("default").await;
    world.create("web").await;
    script
        .run(&world, "web", |cx| {
            Box::pin(async move { Ok(cx.apply(page()).await.unwrap_err().to_string()) })
        })
        .await;
    assert_eq!(script.results(), [REFUSED]);
    assert_eq!(world.page("default").await, foreign);
}

#[tokio::test(start_paused = true)]
async fn an_object_is_taken_over_on_purpose() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    world.foreign("default").await;
    world.create("web").await;
    script
        .run(&world, "web", |cx| {
            Box::pin(async move {
                let applied = cx.apply_child(Child::new(page()).adopting()).await?;
                let owners = applied.metadata.owner_references.unwrap_or_default();
                Ok(format!("{} owner", owners.len()))
            })
        })
        .await;
    assert_eq!(script.results(), ["1 owner"]);
    let applied = world.page("default").await;
    assert_eq!(applied.data.unwrap()["value"], "ours");
}

#[tokio::test(start_paused = true)]
async fn an_adoption_counts_before_the_cache_has_it() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    world.foreign("default").await;
    world.create("web").await;
    let cluster = world.cluster.clone();
    script
        .run(&world, "web", move |cx| {
            let cluster = cluster.clone();
            Box::pin(async move {
                let foreign = cx.get::<ConfigMap>("page")?.unwrap();
                let maps = RequestMatcher::any().verb("watch").resource("configmaps");
                cluster.faults().hold_watches(maps);
                cx.adopt(&*foreign).await?;
                let applied = cx.apply(page()).await;
                cluster.faults().release_watches();
                Ok(format!("{:?}", applied?.data))
            })
        })
        .await;
    assert_eq!(script.results(), [format!("{:?}", page().data)]);
}

#[tokio::test(start_paused = true)]
async fn an_apply_of_a_new_or_an_own_child_sends_no_read() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    world.create("web").await;
    for value in ["1", "2"] {
        script
            .run(&world, "web", move |cx| {
                Box::pin(async move {
                    let mut page = page();
                    page.data = Some([("value".to_owned(), value.to_owned())].into());
                    cx.apply(page).await?;
                    Ok("applied".into())
                })
            })
            .await;
    }
    assert_eq!(script.results(), ["applied", "applied"]);
    assert_eq!(world.reads_of_page(), 0);
}

/// As it is after `kubectl delete --cascade=orphan` of its owner.
#[tokio::test(start_paused = true)]
async fn a_child_that_lost_its_owner_is_taken_back() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    world.create("web").await;
    for number in 0..2 {
        script
            .run(&world, "web", |cx| {
                Box::pin(async move {
                    let applied = cx.apply(page()).await?;
                    let owners = applied.metadata.owner_references.unwrap_or_default();
                    Ok(format!("{} owner", owners.len()))
                })
            })
            .await;
        if number == 0 {
            let lost = json!({"metadata": {"ownerReferences": null}});
            let lost = world.cluster.patch::<ConfigMap>("page", lost).await;
            lost.unwrap();
            world.cluster.settle().await;
        }
    }
    assert_eq!(script.results(), ["1 owner", "1 owner"]);
}

#[tokio::test(start_paused = true)]
async fn a_detached_child_takes_over_an_object_only_on_purpose() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    let foreign = world.foreign("team-a").await;
    world.create("web").await;
    let refused = "apply detached ConfigMap team-a/page: an object of this name exists and does not belong to Deployment \
                   default/web: delete it, choose another name, or let the operator's code take it over with \
                   `Child::new(..).detached().adopting()`";
    let log = copies.take_log();
    assert!(log.iter().any(|line| line == refused), "{log:?}");
    assert_eq!(world.page("team-a").await, foreign);

    copies
        .adopts
        .store(true, std::sync::atomic::Ordering::SeqCst);
    world.touch("web").await;
    let web = world.cluster.get::<Deployment>("web").await.unwrap();
    let page = world.page("team-a").await;
    let owner = page.label(pilothouse::controller::OWNER_UID_LABEL);
    assert_eq!(owner, web.unwrap().uid());
}

/// Applies a page in the namespace `team-a`, which is not watched.
struct Pages(Arc<parking_lot::Mutex<Vec<String>>>);

impl Reconciler for Pages {
    type Resource = Namespace;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let rule = AccessRule::of::<ConfigMap>(["get", "create", "patch"]);
        controller
            .owns::<ConfigMap>()
            .access(rule.in_namespace("team-a"))
    }

    async fn reconcile(&self, object: Arc<Namespace>, cx: &Context<Namespace>) -> Result {
        if object.name() == "team-a" {
            let mut page = page();
            page.metadata.namespace = Some("team-a".into());
            let ended = cx.apply(page).await.map(|_| "applied".to_owned());
            let line = ended.unwrap_or_else(|error| error.to_string());
            self.0.lock().push(line);
        }
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn in_an_unwatched_namespace_the_server_is_asked_before_the_first_apply() {
    let world = World::of(Script::default()).await;
    let foreign = world.foreign("team-a").await;
    let (log, client) = (Arc::default(), world.cluster.client().clone());
    let metrics = Metrics::new();
    let informers = Informers::new(client.clone(), metrics.clone());
    informers.start(&world.cancel);
    let mut environment = Environment::new(informers, client, metrics, "pages");
    environment.namespaces = ["default".to_owned()].into();
    let controller = Controller::new(Pages(Arc::clone(&log)));
    tokio::spawn(controller.run(environment, world.cancel.clone()));
    world.cluster.settle().await;
    let lines = std::mem::take(&mut *log.lock());
    let refused = "apply ConfigMap team-a/page: an object of this name exists and does not belong to Namespace team-a: ";
    assert!(
        lines.iter().all(|line| line.starts_with(refused)),
        "{lines:?}"
    );
    assert!(!lines.is_empty());
    assert_eq!(world.page("team-a").await, foreign);

    let there = world.cluster.in_namespace("team-a");
    there.delete::<ConfigMap>("page").await.unwrap();
    world.cluster.forget_requests();
    for number in 0..3 {
        let touched = json!({"metadata": {"annotations": {"touched": number.to_string()}}});
        let touched = world.cluster.patch::<Namespace>("team-a", touched).await;
        touched.unwrap();
        world.cluster.settle().await;
    }
    assert_eq!(*log.lock(), ["applied"; 3]);
    assert_eq!(world.reads_of_page(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_server_is_asked_before_the_first_apply_of_a_kind_whose_cache_has_a_selector() {
    let script = Script::default();
    let mut world = World::of(script.clone()).await;
    world.stop().await;
    let foreign = world.foreign("default").await;
    let (client, metrics) = (world.cluster.client().clone(), Metrics::new());
    let informers = Informers::builder(client.clone(), metrics.clone());
    let informers = informers.tweak::<ConfigMap>(|scope| scope.labels("app=web"));
    let informers = informers.build();
    informers.start(&world.cancel);
    let environment = Environment::new(informers, client, metrics, "copies");
    let controller = Controller::new(script.clone());
    tokio::spawn(controller.run(environment, world.cancel.clone()));
    world.create("web").await;
    script
        .run(&world, "web", |cx| {
            Box::pin(async move { Ok(cx.apply(page()).await.unwrap_err().to_string()) })
        })
        .await;
    assert_eq!(script.results(), [REFUSED]);
    assert_eq!(world.page("default").await, foreign);
}
