//! Children elsewhere, pruning, and the way out of a reconciled object: over the whole client and the sandbox,
//! on the paused clock.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pilothouse::{
    cache::Informers,
    controller::{
        Action, Cleanup, Context, Controller, Environment, Failure, OWNER_UID_LABEL, Reconciler,
        Result,
    },
    k8s::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    },
    metrics::Metrics,
    resource::Object,
    testing::{Cluster, Sandbox},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const FIRST: &str = "copies.example.com/first";
const LAST: &str = "copies.example.com/last";

/// Keeps the ConfigMaps that it is told to keep, as `namespace/name`.
#[derive(Clone, Default)]
struct Copies {
    wanted: Arc<Mutex<Vec<String>>>,
    log: Arc<Mutex<Vec<String>>>,
    fails: Arc<AtomicBool>,
}

impl Copies {
    fn wants(&self, children: &[&str]) {
        *self.wanted.lock().unwrap() = children.iter().map(|one| (*one).to_owned()).collect();
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }

    fn check(&self) -> Result<()> {
        match self.fails.load(Ordering::SeqCst) {
            true => Err(Failure::new("on purpose")),
            false => Ok(()),
        }
    }
}

impl Reconciler for Copies {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ConfigMap>()
            .owns_detached::<ConfigMap>()
            .prunes::<ConfigMap>()
            .finalizer(FIRST)
            .finalizer(LAST)
    }

    async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        self.note(format!("reconcile with {}", finalizers.len()));
        self.check()?;
        let wanted = self.wanted.lock().unwrap().clone();
        for child in wanted {
            let (namespace, name) = child.split_once('/').unwrap();
            let mut map = ConfigMap::named(name);
            map.metadata.namespace = Some(namespace.to_owned());
            if namespace == "default" {
                cx.apply(map).await?;
            } else if let Err(error) = cx.apply_detached(map).await {
                self.note(error.to_string());
                return Err(error.into());
            }
        }
        Ok(Action::wait())
    }

    async fn deleted(
        &self,
        _: &pilothouse::resource::ObjectKey,
        _: &Context<Deployment>,
    ) -> Result<()> {
        self.note("deleted".into());
        Ok(())
    }
}

impl Cleanup for Copies {
    async fn cleanup(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let left = object.metadata.finalizers.clone().unwrap_or_default();
        self.note(format!(
            "clean up {} of {}",
            cx.finalizer().unwrap(),
            left.len()
        ));
        self.check()?;
        Ok(Action::wait())
    }
}

struct World {
    cluster: Cluster,
    cancel: CancellationToken,
}

impl World {
    async fn start(copies: &Copies) -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        for namespace in ["team-a", "team-b"] {
            cluster.create(&Namespace::named(namespace)).await.unwrap();
        }
        let world = Self {
            cluster,
            cancel: CancellationToken::new(),
        };
        world.process(copies);
        world
    }

    /// Starts a process that knows nothing of what was before.
    fn process(&self, copies: &Copies) {
        let metrics = Metrics::new();
        let client = self.cluster.client();
        let informers = Informers::new(client.clone(), metrics.clone());
        informers.start(&self.cancel);
        let environment = Environment::new(informers, client.clone(), metrics, "copies");
        let controller = Controller::new(copies.clone());
        tokio::spawn(controller.run(environment, self.cancel.clone()));
    }

    /// Ends the process and starts another one.
    async fn restart(&mut self, copies: &Copies) {
        self.stop().await;
        self.process(copies);
        self.cluster.settle().await;
    }

    async fn stop(&mut self) {
        std::mem::take(&mut self.cancel).cancel();
        self.cluster.settle().await;
    }

    async fn create(&self, name: &str) {
        self.cluster.create(&deployment(name)).await.unwrap();
        self.cluster.settle().await;
    }

    /// Makes a change that leads to a reconcile.
    async fn touch(&self, name: &str) {
        let time = format!("{:?}", tokio::time::Instant::now());
        let change = json!({"metadata": {"annotations": {"touched": time}}});
        self.cluster
            .patch::<Deployment>(name, change)
            .await
            .unwrap();
        self.cluster.settle().await;
    }

    async fn maps(&self) -> Vec<String> {
        let mut maps = Vec::new();
        for namespace in ["default", "team-a", "team-b"] {
            let cluster = self.cluster.in_namespace(namespace);
            let list = cluster.api::<ConfigMap>().list(&Default::default()).await;
            maps.extend(list.unwrap().items.iter().map(|map| map.key().to_string()));
        }
        maps.retain(|map| !map.ends_with("kube-root-ca.crt"));
        maps.sort();
        maps
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn deployment(name: &str) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_finalizers_stand_before_the_first_reconcile_and_go_one_after_the_other() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    world.create("web").await;
    assert_eq!(copies.told(), ["reconcile with 2"]);

    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    let first = format!("clean up {FIRST} of 2");
    let last = format!("clean up {LAST} of 1");
    assert_eq!(copies.told(), [first.as_str(), &last, "deleted"]);
    assert!(
        world
            .cluster
            .get::<Deployment>("web")
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_that_fails_keeps_the_object_and_others_finalizers_are_not_touched() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    world.cluster.create(&web).await.unwrap();
    world.cluster.settle().await;
    copies.fails.store(true, Ordering::SeqCst);
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    let all = ["other.example.com/x", FIRST, LAST]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(web.metadata.finalizers, Some(all));

    copies.fails.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    let others = vec!["other.example.com/x".to_owned()];
    assert_eq!(web.metadata.finalizers, Some(others));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_goes_without_our_finalizers_is_not_cleaned_up() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    world.cluster.create(&web).await.unwrap();
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.restart(&copies).await;
    assert!(copies.told().is_empty());
}

#[tokio::test(start_paused = true)]
async fn finalizers_that_were_removed_by_force_lead_to_deleted_alone() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    copies.fails.store(true, Ordering::SeqCst);
    world.create("web").await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    let none = json!({"metadata": {"finalizers": null}});
    world
        .cluster
        .patch::<Deployment>("web", none)
        .await
        .unwrap();
    world.cluster.settle().await;
    assert_eq!(copies.told().last().map(String::as_str), Some("deleted"));
}

#[tokio::test(start_paused = true)]
async fn a_detached_child_leads_back_to_its_owner_and_goes_before_the_last_finalizer() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let mut world = World::start(&copies).await;
    world.create("web").await;
    let elsewhere = world.cluster.in_namespace("team-a");
    let page = elsewhere.get::<ConfigMap>("page").await.unwrap().unwrap();
    let owner = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(page.label(OWNER_UID_LABEL), owner.uid());
    assert!(page.metadata.owner_references.is_none());

    // Deleted by hand, it comes again.
    elsewhere.delete::<ConfigMap>("page").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);

    // A child that does not go holds its owner, also in another process.
    let held = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    elsewhere.patch::<ConfigMap>("page", held).await.unwrap();
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.restart(&copies).await;
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(web.metadata.finalizers, Some(vec![LAST.to_owned()]));
    let freed = json!({"metadata": {"finalizers": null}});
    elsewhere.patch::<ConfigMap>("page", freed).await.unwrap();
    world.cluster.settle().await;
    assert!(
        world
            .cluster
            .get::<Deployment>("web")
            .await
            .unwrap()
            .is_none()
    );
    assert!(world.maps().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_detached_child_of_another_owner_is_not_taken_over() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    copies.told();
    world.create("zoo").await;
    let said = copies.told();
    let refused = "apply_detached ConfigMap team-a/page: it belongs to Deployment default/web: ";
    assert!(
        said.iter().any(|line| line.starts_with(refused)),
        "{said:?}"
    );
    let elsewhere = world.cluster.in_namespace("team-a");
    let page = elsewhere.get::<ConfigMap>("page").await.unwrap().unwrap();
    let owner = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(page.label(OWNER_UID_LABEL), owner.uid());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_applied_any_more_is_pruned_after_a_restart_and_not_by_a_failure() {
    let copies = Copies::default();
    copies.wants(&["default/a", "default/b", "team-a/c", "team-b/d"]);
    let mut world = World::start(&copies).await;
    world
        .cluster
        .create(&ConfigMap::named("foreign"))
        .await
        .unwrap();
    world.create("web").await;
    let all = [
        "default/a",
        "default/b",
        "default/foreign",
        "team-a/c",
        "team-b/d",
    ];
    assert_eq!(world.maps().await, all);

    world.stop().await;
    copies.wants(&["default/a", "team-b/d"]);
    copies.fails.store(true, Ordering::SeqCst);
    world.restart(&copies).await;
    assert_eq!(world.maps().await, all);

    copies.fails.store(false, Ordering::SeqCst);
    world.touch("web").await;
    assert_eq!(
        world.maps().await,
        ["default/a", "default/foreign", "team-b/d"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_child_that_others_own_too_is_not_pruned() {
    let copies = Copies::default();
    copies.wants(&["default/a"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    world.create("zoo").await;
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    let zoo = world
        .cluster
        .get::<Deployment>("zoo")
        .await
        .unwrap()
        .unwrap();
    let owner = |of: &Deployment, controller: bool| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": of.name(), "uid": of.uid(),
               "controller": controller, "blockOwnerDeletion": controller})
    };
    let shared = json!({"metadata": {"ownerReferences": [owner(&web, true), owner(&zoo, false)]}});
    world.cluster.patch::<ConfigMap>("a", shared).await.unwrap();
    copies.wants(&[]);
    world.touch("web").await;
    assert_eq!(world.maps().await, ["default/a"]);
}
