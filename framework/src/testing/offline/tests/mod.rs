mod clock;
mod dynamic;
mod lifetime;
mod restart;

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret},
};

use super::Offline;
use crate::{
    client::{Api, DeleteParams},
    controller::{Action, Child, Context, Controller, Reconciler, Result},
    resource::{AccessRule, Object, Status},
};

/// Applies a ConfigMap for each Deployment, and deletes the Secret of the same name.
struct Notes;

impl Reconciler for Notes {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>().reads::<Secret>()
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        cx.apply(ConfigMap::named(web.name())).await?;
        if cx.get::<Secret>(web.name())?.is_some() {
            let secrets = Api::<Secret>::namespaced(cx.live(), "default");
            secrets.delete(web.name(), &DeleteParams::default()).await?;
        }
        Ok(Action::wait())
    }
}

/// Runs a future without a runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut cx) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits for something"),
    }
}

struct Misnamed;

impl Reconciler for Misnamed {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.finalizer_retired("no-domain")
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        Ok(Action::wait())
    }
}

#[test]
#[should_panic(expected = "the finalizer `no-domain` must have your domain")]
fn a_controller_that_does_not_start_is_refused() {
    let _ = Offline::new(Misnamed);
}

#[test]
fn a_reconcile_needs_no_runtime() {
    let offline = Offline::new(Notes);
    let web = offline.seed(Deployment::named("web"));
    let _ = block_on(offline.reconcile("web")).unwrap();
    let written = offline.written::<ConfigMap>();
    assert_eq!(written.len(), 1);
    let owner = &written[0].metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(Some(&owner.uid), web.metadata.uid.as_ref());
    assert_eq!(offline.writes()[0].verb, "apply");
    let kept = offline.get::<ConfigMap>("web").unwrap();
    assert!(kept.uid().is_some() && kept.resource_version().is_some());

    offline.forget_writes();
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert_eq!(offline.writes(), []);
}

#[test]
fn a_request_that_was_not_declared_is_refused_and_not_retried() {
    let offline = Offline::new(Notes);
    offline.seed(Deployment::named("web"));
    offline.seed(Secret::named("web"));
    let failure = block_on(offline.reconcile("web")).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "delete Secret default/web: not declared: add `.deletes::<Secret>()` to wire"
    );
    assert!(failure.is_terminal());
    assert!(offline.get::<Secret>("web").is_some());
    assert_eq!(offline.access_use().unused().to_string(), "");
}

#[test]
fn fail_next_fails_one_request() {
    let offline = Offline::new(Notes);
    offline.seed(Deployment::named("web"));
    offline.fail_next::<ConfigMap>("patch", Status::from_code(503, "not now"));
    let failure = block_on(offline.reconcile("web")).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "apply ConfigMap default/web: service unavailable: not now"
    );
    let _ = block_on(offline.reconcile("web")).unwrap();
    let missing = block_on(offline.reconcile("other"))
        .unwrap_err()
        .to_string();
    assert_eq!(
        missing,
        "reconcile Deployment default/other: no such object: add it with `seed` first"
    );
}

#[test]
fn an_apply_removes_its_former_fields_and_keeps_those_of_others() {
    let offline = Offline::new(Notes);
    offline.seed(Deployment::named("web"));
    let apply = |entries: &[(&str, &str)], note: bool| {
        let data = entries
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()));
        let mut map = ConfigMap::named("web");
        map.data = note.then(|| data.collect());
        let child = Child::new(map).adopting();
        let applied = block_on(offline.context("web").apply_child(child));
        applied.unwrap().data
    };
    let data = |entries: &[(&str, &str)]| {
        let pairs = entries
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()));
        Some(pairs.collect::<std::collections::BTreeMap<String, String>>())
    };
    assert_eq!(
        apply(&[("a", "1"), ("b", "1")], true),
        data(&[("a", "1"), ("b", "1")])
    );
    let mut map = offline.get::<ConfigMap>("web").unwrap();
    map.data
        .get_or_insert_default()
        .insert("theirs".into(), "1".into());
    offline.seed(map);
    assert_eq!(
        apply(&[("a", "2")], true),
        data(&[("a", "2"), ("theirs", "1")])
    );

    // An object that was deleted and created again starts from the beginning.
    assert!(offline.delete::<ConfigMap>("web"));
    let mut map = ConfigMap::named("web");
    map.data = data(&[("a", "3")]);
    offline.seed(map);
    assert_eq!(apply(&[], false), data(&[("a", "3")]));
}

#[test]
fn the_needs_of_a_controller_follow_from_its_declarations() {
    let needs = Controller::new(Notes)
        .deletes::<ConfigMap>()
        .writes::<Secret>()
        .access(AccessRule::of::<Deployment>(["patch"]).subresource("scale"))
        .needs();
    assert_eq!(
        needs.to_string(),
        "configmaps: create, delete, get, list, patch, watch; events: patch; \
         secrets: create, get, list, patch, update, watch; \
         deployments.apps: get, list, watch; deployments.apps/finalizers: update; deployments.apps/scale: patch; \
         events.events.k8s.io: create, patch"
    );
}

/// Counts the Secrets of a team.
struct Teams;

fn team(secret: &Secret) -> Option<String> {
    secret.label("team").map(str::to_owned)
}

impl Reconciler for Teams {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>().reads::<Secret>().index(team)
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let secrets = cx.indexed(team, web.name())?.items;
        let mut map = ConfigMap::named(web.name());
        map.data = Some([("secrets".to_owned(), secrets.len().to_string())].into());
        cx.apply(map).await?;
        Ok(Action::wait())
    }
}

#[test]
fn a_reconcile_reads_its_own_indexes() {
    let offline = Offline::new(Teams);
    offline.seed(Deployment::named("red"));
    let counted = |offline: &Offline<Teams>| {
        let _ = block_on(offline.reconcile("red")).unwrap();
        offline.get::<ConfigMap>("red").unwrap().data.unwrap()["secrets"].clone()
    };
    for (name, team, count) in [("a", "red", "1"), ("b", "blue", "1"), ("c", "red", "2")] {
        let mut secret = Secret::named(name);
        secret.metadata.labels = Some([("team".to_owned(), team.to_owned())].into());
        offline.seed(secret);
        assert_eq!(counted(&offline), count);
    }
}
