//! From the event of a child to the key of its owner.

use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    core::v1::{ConfigMap, Secret},
};

use super::world::*;
use crate::{
    controller::{Controller, Owned, Predicate},
    resource::ObjectKey,
};

/// A controller of the Deployments `a` and `b`, which own ConfigMaps, after its first reconciles.
async fn at_rest(
    wire: fn(Controller<Probe<Deployment>>) -> Controller<Probe<Deployment>>,
) -> (
    World,
    Script<Deployment>,
    Script<ConfigMap>,
    Calls<Deployment>,
) {
    let world = World::new();
    let (webs, children) = (world.kind(), world.kind());
    let probe = Probe::new().wired(wire);
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    webs.put(named("b"));
    settle().await;
    calls.clear();
    (world, webs, children, calls)
}

fn child_of(owner: &str) -> ConfigMap {
    owned_by::<Deployment, _>(named("child"), owner, owner)
}

#[tokio::test(start_paused = true)]
async fn creation_change_and_deletion_of_a_child_lead_to_its_owner() {
    let (_world, _webs, children, calls) = at_rest(|wire| wire.owns::<ConfigMap>()).await;
    children.put(child_of("a"));
    settle().await;
    children.put(child_of("a"));
    settle().await;
    children.delete("child");
    settle().await;
    assert_eq!(calls.keys(), ["default/a"; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_child_whose_owner_changes_leads_to_both_owners() {
    let (_world, _webs, children, calls) = at_rest(|wire| wire.owns::<ConfigMap>()).await;
    children.put(child_of("a"));
    settle().await;
    calls.clear();
    children.put(child_of("b"));
    settle().await;
    let mut keys = calls.keys();
    keys.sort();
    assert_eq!(keys, ["default/a", "default/b"]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_another_kind_with_the_same_name_is_another_owner() {
    let (_world, _webs, children, calls) = at_rest(|wire| wire.owns::<ConfigMap>()).await;
    children.put(owned_by::<StatefulSet, _>(named("child"), "a", "a"));
    settle().await;
    assert!(calls.keys().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_is_not_the_controller_counts_only_with_every_owner() {
    let common = || {
        let mut child = child_of("a");
        child.metadata.owner_references.as_mut().unwrap()[0].controller = None;
        child
    };
    let (_world, _webs, children, calls) = at_rest(|wire| wire.owns::<ConfigMap>()).await;
    children.put(common());
    settle().await;
    assert!(calls.keys().is_empty());

    let (_world, _webs, children, calls) =
        at_rest(|wire| wire.watch(Owned::<ConfigMap>::new().every_owner())).await;
    children.put(common());
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_of_a_former_owner_concerns_the_new_owner_only_when_it_is_deleted() {
    let (_world, _webs, children, calls) = at_rest(|wire| wire.owns::<ConfigMap>()).await;
    let former = || owned_by::<Deployment, _>(named::<ConfigMap>("child"), "a", "former");
    children.put(former());
    children.put(former());
    settle().await;
    assert!(calls.keys().is_empty());
    children.delete("child");
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_of_an_owner_that_the_cache_does_not_have_yet_is_not_lost() {
    let (_world, webs, children, calls) = at_rest(|wire| wire.owns::<ConfigMap>()).await;
    children.put(owned_by::<Deployment, _>(named("child"), "new", "new"));
    settle().await;
    webs.put(named("new"));
    settle().await;
    assert_eq!(calls.keys(), ["default/new"]);
}

#[tokio::test(start_paused = true)]
async fn a_mapping_sees_the_old_and_the_new_object() {
    let world = World::new();
    let (webs, secrets) = (world.kind::<Deployment>(), world.kind::<Secret>());
    let users = |secret: &Secret| {
        let users = secret.metadata.labels.iter().flatten();
        users
            .map(|(user, _)| ObjectKey::namespaced("default", user))
            .collect()
    };
    let probe = Probe::<Deployment>::new().wired(move |wire| wire.watches::<Secret>(users));
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    webs.put(named("b"));
    let used_by = |user: &str| {
        let mut secret = named::<Secret>("token");
        secret.metadata.labels = Some([(user.to_owned(), String::new())].into());
        secret
    };
    secrets.put(used_by("a"));
    settle().await;
    calls.clear();
    secrets.put(used_by("b"));
    settle().await;
    let mut keys = calls.keys();
    keys.sort();
    assert_eq!(keys, ["default/a", "default/b"]);
}

#[tokio::test(start_paused = true)]
async fn changes_of_a_child_pass_its_predicate() {
    let (_world, _webs, children, calls) =
        at_rest(|wire| wire.watch(Owned::<ConfigMap>::new().when(Predicate::labels()))).await;
    children.put(child_of("a"));
    settle().await;
    calls.clear();
    children.put(child_of("a"));
    settle().await;
    assert!(calls.keys().is_empty());
    children.delete("child");
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
}

#[tokio::test(start_paused = true)]
async fn a_predicate_does_not_hide_a_change_of_the_owner() {
    let (_world, _webs, children, calls) =
        at_rest(|wire| wire.watch(Owned::<ConfigMap>::new().when(Predicate::labels()))).await;
    children.put(child_of("a"));
    settle().await;
    calls.clear();
    children.put(named("child"));
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
    children.put(child_of("b"));
    settle().await;
    assert_eq!(calls.keys(), ["default/a", "default/b"]);
}

#[tokio::test(start_paused = true)]
async fn changes_of_a_kind_that_is_only_read_lead_to_no_reconcile() {
    let (_world, _webs, children, calls) = at_rest(|wire| wire.reads::<ConfigMap>()).await;
    children.put(child_of("a"));
    settle().await;
    assert!(calls.keys().is_empty());
}
