//! A reconciler from the first reconcile of an object to its end.

use std::sync::{Arc, Mutex};

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap, events::v1};

use super::{Offline, block_on};
use crate::{
    controller::{Action, Cleanup, Context, Controller, OWNER_UID_LABEL, Reconciler, Result},
    events::Event,
    resource::{Object, ObjectKey},
};

const FINALIZER: &str = "copies.example.com/copies";

/// Keeps a ConfigMap beside each Deployment and one in each of the namespaces.
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
            .owns_detached::<ConfigMap>()
            .prunes::<ConfigMap>()
            .finalizer(FINALIZER)
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizers = web.metadata.finalizers.as_deref();
        assert_eq!(finalizers, Some(&[FINALIZER.to_owned()][..]));
        let namespaces = self.namespaces.lock().unwrap().clone();
        for namespace in &namespaces {
            let mut map = ConfigMap::named(web.name());
            map.metadata.namespace = Some((*namespace).to_owned());
            match *namespace {
                "default" => cx.apply(map).await?,
                _ => cx.apply_detached(map).await?,
            };
            cx.event(Event::normal("Copied", "Copy").note(*namespace));
        }
        if namespaces.is_empty() {
            cx.event(Event::warning("Nothing", "Copy"));
        }
        Ok(Action::wait())
    }

    async fn deleted(&self, key: &ObjectKey, _: &Context<Deployment>) -> Result<()> {
        self.told.lock().unwrap().push(format!("{key} is gone"));
        Ok(())
    }
}

impl Cleanup for Copies {
    async fn cleanup(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizer = cx.finalizer().unwrap_or_default();
        let line = format!("clean up {} of {}", finalizer, web.name());
        self.told.lock().unwrap().push(line);
        Ok(Action::wait())
    }
}

fn offline(namespaces: &[&'static str]) -> Offline<Copies> {
    let copies = Copies::default();
    *copies.namespaces.lock().unwrap() = namespaces.to_vec();
    let offline = Offline::new(copies);
    offline.seed(Deployment::named("web"));
    offline
}

fn has(offline: &Offline<Copies>, name: &str) -> bool {
    offline.get::<ConfigMap>(name).is_some()
}

#[test]
fn children_come_are_pruned_and_go_with_their_owner() {
    let offline = offline(&["default", "a", "b"]);
    let _ = block_on(offline.reconcile("web")).unwrap();
    let web = offline.get::<Deployment>("web").unwrap();
    let there = offline.get::<ConfigMap>("a/web").unwrap();
    assert_eq!(there.label(OWNER_UID_LABEL), web.uid());
    assert!(has(&offline, "default/web") && has(&offline, "b/web"));

    *offline.reconciler().namespaces.lock().unwrap() = vec!["a"];
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert!(has(&offline, "a/web"));
    assert!(!has(&offline, "default/web") && !has(&offline, "b/web"));

    assert!(offline.delete::<Deployment>("web"));
    let still = block_on(offline.deleted("web")).unwrap_err().to_string();
    assert!(still.starts_with("Deployment default/web is there: "));
    // Once to delete the child, once more when it is gone.
    let action = block_on(offline.reconcile("web")).unwrap();
    assert_ne!(action, Action::wait());
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert!(offline.get::<Deployment>("web").is_none() && !has(&offline, "a/web"));
    block_on(offline.deleted("web")).unwrap();
    let told = offline.reconciler().told.lock().unwrap().clone();
    let cleaned = format!("clean up {FINALIZER} of web");
    assert_eq!(told, [cleaned.as_str(), "default/web is gone"]);
    assert!(!offline.delete::<Deployment>("web"));
}

#[test]
fn events_are_recorded_and_equal_ones_are_one() {
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
    *offline.reconciler().namespaces.lock().unwrap() = Vec::new();
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert_eq!(lines(), ["web Warning Nothing  x1"]);
}

#[test]
fn what_is_seeded_again_is_seen_by_the_next_reconcile() {
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
