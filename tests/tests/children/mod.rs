//! Detached children, pruning, and the deletion of a reconciled object: over the whole client and the sandbox,
//! on the paused clock.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use pilothouse::{
    cache::Informers,
    client::{Client, Patch, PatchParams},
    controller::{
        Action, Child, Cleanup, Context, Controller, Environment, Failure, Owned, Predicate,
        Reconciler, Result,
    },
    k8s::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    },
    metrics::Metrics,
    resource::{Object, Resource},
    testing::{Cluster, Sandbox},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

mod adoption;
mod conditional;
mod detached;
mod dynamic;
mod finalizers;
mod forged;
mod orphans;
mod pruning;
mod restart;
mod script;
mod takeover;
mod two_controllers;
mod undecodable;
mod verbs;

const FIRST: &str = "copies.example.com/first";
const LAST: &str = "copies.example.com/last";

/// Keeps the ConfigMaps whose `namespace/name` the test sets.
#[derive(Clone, Default)]
struct Copies {
    wanted: Arc<Mutex<Vec<String>>>,
    log: Arc<Mutex<Vec<String>>>,
    fails: Arc<AtomicBool>,
    /// Whether its predicate hides deletions.
    hides_deletions: Arc<AtomicBool>,
    /// Whether it deletes each child and applies it again.
    deletes_first: Arc<AtomicBool>,
    /// Whether it takes over existing objects.
    adopts: Arc<AtomicBool>,
    /// Owners that keep their own set of children.
    keep: Arc<Mutex<HashMap<String, Vec<String>>>>,
}

impl Copies {
    fn wants(&self, children: &[&str]) {
        *self.wanted.lock() = children.iter().map(|one| (*one).to_owned()).collect();
    }

    /// From now on `owner` keeps its present children, whatever the others do.
    fn keeps(&self, owner: &str) {
        let wanted = ["team-a/other".to_owned()].to_vec();
        self.keep.lock().insert(owner.to_owned(), wanted);
    }

    fn note(&self, line: String) {
        self.log.lock().push(line);
    }

    fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock())
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
        let hides_deletions = self.hides_deletions.load(Ordering::SeqCst);
        controller
            .when(Predicate::deletions(move |_| !hides_deletions))
            .owns::<ConfigMap>()
            .watch(Owned::<ConfigMap>::new().detached())
            .prunes::<ConfigMap>()
            .finalizer(FIRST)
            .finalizer(LAST)
    }

    async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        self.note(format!("reconcile with {}", finalizers.len()));
        self.check()?;
        let kept = self.keep.lock().get(object.name()).cloned();
        let wanted = kept.unwrap_or_else(|| self.wanted.lock().clone());
        for child in wanted {
            let (namespace, name) = child.split_once('/').unwrap();
            let mut map = ConfigMap::named(name);
            map.metadata.namespace = Some(namespace.to_owned());
            if namespace == "default" {
                let applied = cx.apply(map.clone()).await?;
                if self.deletes_first.swap(false, Ordering::SeqCst) {
                    cx.delete(&applied).await?;
                    let again = cx.apply(map).await?;
                    let other = again.metadata.uid != applied.metadata.uid;
                    self.note(format!("made again: {other}"));
                }
            } else {
                let mut child = Child::new(map).detached();
                if self.adopts.load(Ordering::SeqCst) {
                    child = child.adopting();
                }
                if let Err(error) = cx.apply_child(child).await {
                    self.note(error.to_string());
                    return Err(error.into());
                }
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

/// Applies an object as the operator `copies` does.
async fn applied(cluster: &Cluster, object: &ConfigMap) {
    let there = cluster.in_namespace(object.namespace().unwrap_or("default"));
    let body = Patch::Apply(serde_json::to_value(object).unwrap());
    let api = there.api::<ConfigMap>();
    let params = PatchParams::apply("copies");
    api.patch(object.name(), &params, &body).await.unwrap();
}

impl World {
    async fn start(copies: &Copies) -> Self {
        Self::of(copies.clone()).await
    }

    async fn of(reconciler: impl Reconciler<Resource: Resource>) -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        for namespace in ["team-a", "team-b"] {
            cluster.create(&Namespace::named(namespace)).await.unwrap();
        }
        let world = Self {
            cluster,
            cancel: CancellationToken::new(),
        };
        world.process_with(reconciler, world.cluster.client().clone());
        world
    }

    /// Starts a process without any state from before, whose controller uses this client.
    fn process_with(&self, reconciler: impl Reconciler<Resource: Resource>, client: Client) {
        self.process_in(reconciler, client, &[]);
    }

    /// Does the same with a process that watches only these namespaces.
    fn process_in(
        &self,
        reconciler: impl Reconciler<Resource: Resource>,
        client: Client,
        namespaces: &[&str],
    ) {
        let metrics = Metrics::new();
        let informers = Informers::new(self.cluster.client().clone(), metrics.clone());
        informers.start(&self.cancel);
        let mut environment = Environment::new(informers, client, metrics, "copies");
        environment.events.start(&self.cancel);
        environment.namespaces = namespaces.iter().map(|one| (*one).to_owned()).collect();
        let controller = Controller::new(reconciler);
        tokio::spawn(controller.run(environment, self.cancel.clone()));
    }

    /// Ends the process and starts another one.
    async fn restart(&mut self, copies: &Copies) {
        self.stop().await;
        self.process_with(copies.clone(), self.cluster.client().clone());
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

    /// Makes a change that triggers a reconcile.
    async fn touch(&self, name: &str) {
        let time = format!("{:?}", tokio::time::Instant::now());
        let change = json!({"metadata": {"annotations": {"touched": time}}});
        self.cluster
            .patch::<Deployment>(name, change)
            .await
            .unwrap();
        self.cluster.settle().await;
    }

    /// Applies an object in the name of the operator, as a process before this one did.
    async fn applied(&self, object: &ConfigMap) {
        applied(&self.cluster, object).await;
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
