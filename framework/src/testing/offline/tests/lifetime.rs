//! An object from its first reconcile to its deletion.

use std::sync::Arc;

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap, events::v1};
use parking_lot::Mutex;

use super::{Offline, block_on};
use crate::{
    controller::{
        Action, Child, Cleanup, Context, Controller, OWNER_UID_LABEL, Owned, Reconciler, Result,
    },
    events::NewEvent,
    resource::{Object, ObjectKey},
};

const FINALIZER: &str = "copies.example.com/copies";

/// Applies a ConfigMap in the namespace of each Deployment and one in each of `namespaces`.
#[derive(Default)]
struct Copies {
    namespaces: Mutex<Vec<&'static str>>,
    told: Mutex<Vec<String>>,
}

impl Reconciler for Copies {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ConfigMap>()
            .watch(Owned::<ConfigMap>::new().detached())
            .prunes::<ConfigMap>()
            .finalizer(FINALIZER)
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizers = web.metadata.finalizers.as_deref();
        assert_eq!(finalizers, Some(&[FINALIZER.to_owned()][..]));
        let namespaces = self.namespaces.lock().clone();
        for namespace in &namespaces {
            let mut map = ConfigMap::named(web.name());
            map.metadata.namespace = Some((*namespace).to_owned());
            match *namespace {
                "default" => cx.apply(map).await?,
                _ => cx.apply_child(Child::new(map).detached()).await?,
            };
            cx.event(NewEvent::normal("Copied", "Copy").note(*namespace));
        }
        if namespaces.is_empty() {
            cx.event(NewEvent::warning("Nothing", "Copy"));
        }
        Ok(Action::wait())
    }

    async fn deleted(&self, key: &ObjectKey, _: &Context<Deployment>) -> Result<()> {
        self.told.lock().push(format!("{key} is gone"));
        Ok(())
    }
}

impl Cleanup for Copies {
    async fn cleanup(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizer = cx.finalizer().unwrap_or_default();
        let line = format!("clean up {} of {}", finalizer, web.name());
        self.told.lock().push(line);
        Ok(Action::wait())
    }
}

fn offline(namespaces: &[&'static str]) -> Offline<Copies> {
    let copies = Copies::default();
    *copies.namespaces.lock() = namespaces.to_vec();
    let offline = Offline::new(copies);
    offline.seed(Deployment::named("web"));
    offline
}

fn has(offline: &Offline<Copies>, name: &str) -> bool {
    offline.get::<ConfigMap>(name).is_some()
}

#[test]
fn children_are_created_pruned_and_deleted_with_their_owner() {
    let offline = offline(&["default", "a", "b"]);
    let _ = block_on(offline.reconcile("web")).unwrap();
    let web = offline.get::<Deployment>("web").unwrap();
    let there = offline.get::<ConfigMap>("a/web").unwrap();
    assert_eq!(there.label(OWNER_UID_LABEL), web.uid());
    assert!(has(&offline, "default/web") && has(&offline, "b/web"));

    *offline.reconciler().namespaces.lock() = vec!["a"];
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert!(has(&offline, "a/web"));
    assert!(!has(&offline, "default/web") && !has(&offline, "b/web"));

    assert!(offline.delete::<Deployment>("web"));
    let still = block_on(offline.deleted("web")).unwrap_err().to_string();
    assert!(still.starts_with("call `deleted` for Deployment default/web: the object exists: "));
    // The first call deletes the child, the second one finds it gone.
    let action = block_on(offline.reconcile("web")).unwrap();
    assert_ne!(action, Action::wait());
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert!(offline.get::<Deployment>("web").is_none() && !has(&offline, "a/web"));
    block_on(offline.deleted("web")).unwrap();
    let told = offline.reconciler().told.lock().clone();
    let cleaned = format!("clean up {FINALIZER} of web");
    assert_eq!(told, [cleaned.as_str(), "default/web is gone"]);
    assert!(!offline.delete::<Deployment>("web"));
}

#[test]
fn equal_events_are_recorded_as_one() {
    let offline = offline(&["default", "a"]);
    let _ = block_on(offline.reconcile("web")).unwrap();
    let line = |event: &v1::Event| {
        let count = event.series.as_ref().map_or(1, |series| series.count);
        let about = event.regarding.as_ref().and_then(|one| one.name.as_deref());
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let words = [&event.type_, &event.reason, &event.note].map(text);
        format!("{} {} x{count}", about.unwrap_or_default(), words.join(" "))
    };
    let lines = || offline.events().iter().map(line).collect::<Vec<_>>();
    assert_eq!(lines(), ["web Normal Copied a x2"]);
    assert!(lines().is_empty());
    *offline.reconciler().namespaces.lock() = Vec::new();
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert_eq!(lines(), ["web Warning Nothing  x1"]);
}

#[test]
fn the_next_reconcile_sees_an_object_that_was_seeded_again() {
    let offline = offline(&[]);
    let mut web = offline.get::<Deployment>("web").unwrap();
    let seen = offline.context("web").get::<Deployment>("web").unwrap();
    assert_eq!(seen.unwrap().label("a"), None);
    web.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    let seeded = offline.seed(web.clone());
    assert_eq!(seeded.uid(), web.uid());
    let seen = offline.context("web").get::<Deployment>("web").unwrap();
    assert_eq!(seen.unwrap().label("a"), Some("b"));
}

/// Needs a cleanup for Deployments with a bucket.
struct Buckets;

impl Reconciler for Buckets {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .finalizer_when("buckets.example.com/bucket", |web: &Deployment| {
                web.annotation("bucket").is_some()
            })
            .finalizer_retired("buckets.example.com/old")
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        Ok(Action::wait())
    }
}

impl Cleanup for Buckets {}

#[test]
fn a_finalizer_follows_its_condition_and_a_retired_one_is_removed() {
    let offline = Offline::new(Buckets);
    let reconciled = |bucket: bool, finalizers: &[&str]| {
        let mut web = Deployment::named("web");
        web.metadata.annotations = bucket.then(|| [("bucket".to_owned(), "b".to_owned())].into());
        let finalizers = finalizers.iter().map(|one| (*one).to_owned());
        web.metadata.finalizers = Some(finalizers.collect());
        offline.seed(web);
        let _ = block_on(offline.reconcile("web")).unwrap();
        let web = offline.get::<Deployment>("web").unwrap();
        web.metadata.finalizers.unwrap_or_default()
    };
    let bucket = "buckets.example.com/bucket";
    assert_eq!(reconciled(true, &["buckets.example.com/old"]), [bucket]);
    assert_eq!(reconciled(false, &[bucket]), [""; 0]);
    assert_eq!(reconciled(false, &[]), [""; 0]);
}
