//! Own indexes: declared in `wire`, read in reconciles, mappings and predicates.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Pod, Secret},
};
use parking_lot::Mutex;

use super::world::*;
use crate::{
    controller::{
        Action, Context, Controller, Error, Mapping, Predicate, Read, Reconciler, Result, Watched,
    },
    resource::{ApiResource, DynamicObject, Object, ObjectKey, Resource},
};

/// The value of the label `team`.
fn team<C: Object>(object: &C) -> Option<String> {
    match object.label("team") {
        Some("panic") => panic!("on purpose"),
        team => team.map(str::to_owned),
    }
}

/// The Secrets that a Deployment names, with their namespace.
fn secrets(web: &Deployment) -> Vec<ObjectKey> {
    let names = web.annotation("secrets").unwrap_or_default().split(',');
    let key = |name| ObjectKey::new(web.namespace(), name);
    names.filter(|name| !name.is_empty()).map(key).collect()
}

fn of_team<K: Resource + Default>(name: &str, team: &str) -> K {
    let mut object = named::<K>(name);
    object.metadata_mut().labels = Some([("team".to_owned(), team.to_owned())].into());
    object
}

fn using(name: &str, secrets: &str) -> Deployment {
    let mut web = named::<Deployment>(name);
    web.metadata.annotations = Some([("secrets".to_owned(), secrets.to_owned())].into());
    web
}

fn sorted(calls: &Calls<Deployment>) -> Vec<String> {
    let mut keys = calls.keys();
    keys.sort();
    keys
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_watched_object_leads_to_the_objects_that_name_it() {
    let world = World::new();
    let (webs, tokens) = (world.kind::<Deployment>(), world.kind::<Secret>());
    let probe = Probe::<Deployment>::new().wired(|wire| wire.watches_indexed::<Secret>(secrets));
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    for web in [
        using("a", "token"),
        using("b", "other"),
        using("c", "other,token"),
        using("elsewhere/d", "token"),
    ] {
        webs.put(web);
    }
    settle().await;
    calls.clear();
    tokens.put(named("token"));
    settle().await;
    assert_eq!(sorted(&calls), ["default/a", "default/c"]);

    // An object that does not name it any more is not reconciled because of it.
    webs.put(using("a", "other"));
    settle().await;
    calls.clear();
    tokens.delete("token");
    settle().await;
    assert_eq!(sorted(&calls), ["default/c"]);
}

/// Runs a function in each reconcile and keeps its last result.
struct Reads<F> {
    read: F,
    result: Arc<Mutex<String>>,
}

impl<F> Reconciler for Reads<F>
where
    F: Fn(&Context<Deployment>) -> std::result::Result<String, Error> + Send + Sync + 'static,
{
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let widgets = ApiResource::of::<Pod>();
        controller
            .owns::<ConfigMap>()
            .watches::<Secret>(|_| Vec::new())
            .watch(Read::<DynamicObject>::dynamic(widgets.clone()))
            .index(team::<Deployment>)
            .index(team::<ConfigMap>)
            .index(team::<Secret>)
            .index_of(&widgets, team::<DynamicObject>)
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        *self.result.lock() = match (self.read)(cx) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        };
        Ok(Action::wait())
    }
}

/// What `read` returns in a reconcile of the Deployment `default/a`, beside objects of two teams of each kind.
async fn read_in_reconcile(
    read: impl Fn(&Context<Deployment>) -> std::result::Result<String, Error> + Send + Sync + 'static,
) -> String {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let (maps, tokens, pods) = (
        world.kind::<ConfigMap>(),
        world.kind::<Secret>(),
        world.kind_of::<DynamicObject>(ApiResource::of::<Pod>()),
    );
    for (name, team) in [("a", "red"), ("other/b", "red"), ("c", "blue")] {
        maps.put(of_team(name, team));
        tokens.put(of_team(name, team));
        let pod = serde_json::to_value(of_team::<Pod>(name, team)).unwrap();
        pods.put(serde_json::from_value(pod).unwrap());
    }
    webs.put(of_team("a", "red"));
    let result = Arc::<Mutex<String>>::default();
    let reads = Reads {
        read,
        result: result.clone(),
    };
    world.start(Controller::new(reads));
    settle().await;
    result.lock().clone()
}

fn keys<C: Object>(objects: &[Arc<C>]) -> String {
    let mut keys: Vec<_> = objects.iter().map(|one| one.key().to_string()).collect();
    keys.sort();
    keys.join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_reads_indexes_of_reconciled_owned_watched_and_read_kinds() {
    let read = read_in_reconcile(|cx| {
        let pods = ApiResource::of::<Pod>();
        let mut values = cx.index_values(team::<Secret>)?.items;
        values.sort();
        let mut dynamic = cx.index_values_of(&pods, team::<DynamicObject>)?.items;
        dynamic.sort();
        Ok([
            keys(&cx.indexed(team::<Deployment>, "red")?.items),
            keys(&cx.indexed(team::<ConfigMap>, "red")?.items),
            keys(&cx.indexed(team::<Secret>, "blue")?.items),
            keys(&cx.indexed_of(&pods, team::<DynamicObject>, "red")?.items),
            values.join(" "),
            dynamic.join(" "),
        ]
        .join(", "))
    });
    assert_eq!(
        read.await,
        "default/a, default/a other/b, default/c, default/a other/b, blue red, blue red"
    );
}

#[tokio::test(start_paused = true)]
async fn an_index_that_wire_does_not_declare_is_an_error_that_names_the_line() {
    fn name(map: &ConfigMap) -> Option<String> {
        map.metadata.name.clone()
    }
    let error = read_in_reconcile(|cx| Ok(keys(&cx.indexed(name, "a")?.items))).await;
    assert_eq!(
        error,
        "list ConfigMap by `name`: `wire` does not declare this index: add `.index(name)` there"
    );
    let error = read_in_reconcile(|cx| Ok(keys(&cx.indexed(team::<Pod>, "a")?.items))).await;
    assert_eq!(
        error,
        "list Pod: `wire` does not declare this kind: add `.reads::<Pod>()` there"
    );
    fn named(pod: &DynamicObject) -> Option<String> {
        pod.metadata.name.clone()
    }
    let error = read_in_reconcile(|cx| {
        let pods = ApiResource::of::<Pod>();
        Ok(cx.index_values_of(&pods, named)?.items.join(" "))
    });
    assert_eq!(
        error.await,
        "list pods/v1 by `named`: `wire` does not declare this index: add `.index_of(&.., named)` there"
    );
}

#[tokio::test(start_paused = true)]
async fn a_controller_with_an_index_of_a_kind_that_is_not_wired_does_not_start() {
    let world = World::new();
    let webs = world.kind::<Deployment>();
    let probe = Probe::<Deployment>::new().wired(|wire| wire.index(team::<Secret>));
    let calls = probe.calls.clone();
    let controller = Controller::new(probe);
    let error = controller.check().unwrap_err().to_string();
    assert_eq!(
        error,
        "index Secret: `wire` does not declare this kind: add `.reads::<Secret>()` there"
    );
    webs.put(named("a"));
    world.start(controller);
    settle().await;
    assert!(calls.keys().is_empty());
}

#[tokio::test(start_paused = true)]
async fn r10_a_panic_of_an_index_function_leaves_out_only_its_object() {
    let world = World::new();
    let (webs, tokens) = (world.kind::<Deployment>(), world.kind::<Secret>());
    let mapping = Mapping::<Secret>::changes(|change, caches| {
        let team = change.new().and_then(team).unwrap_or_default();
        let webs = caches.indexed(super::indexes::team::<Deployment>, &team)?;
        Ok(webs.iter().map(|web| web.key()).collect())
    });
    let mapping = Mutex::new(Some(mapping));
    let probe = Probe::<Deployment>::new().wired(move |wire| {
        let mapping = mapping.lock().take().unwrap();
        wire.index(team::<Deployment>).watch(Watched::new(mapping))
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(of_team("a", "red"));
    webs.put(of_team("b", "panic"));
    settle().await;
    // The object that is left out is reconciled like any other.
    assert_eq!(sorted(&calls), ["default/a", "default/b"]);
    calls.clear();
    tokens.put(of_team("token", "red"));
    webs.put(of_team("b", "red"));
    settle().await;
    calls.clear();
    tokens.put(of_team("token", "red"));
    settle().await;
    assert_eq!(sorted(&calls), ["default/a", "default/b"]);
}

/// Passes changes of Secrets that a Deployment names.
fn used() -> Predicate<Secret> {
    Predicate::<Secret>::changes_with(|change, caches| {
        for secret in change.objects() {
            if !caches.indexed(secrets, &secret.key())?.is_empty() {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    })
}

#[tokio::test(start_paused = true)]
async fn a_predicate_reads_an_index_in_every_combination() {
    type Make = fn() -> Predicate<Secret>;
    let cases: [(Make, &[&str]); 4] = [
        (used, &["default/a"]),
        (|| used().not(), &["default/b"]),
        (
            || used().and(Predicate::creations(|_| true)),
            &["default/a"],
        ),
        (
            || Predicate::creations(|_| true).or(used()),
            &["default/a", "default/b"],
        ),
    ];
    for (make, expected) in cases {
        let world = World::new();
        let (webs, tokens) = (world.kind::<Deployment>(), world.kind::<Secret>());
        let probe = Probe::<Deployment>::new().wired(move |wire| {
            let same_name = Mapping::metadata(|secret| {
                let name = secret.name.as_deref().unwrap_or_default();
                vec![ObjectKey::namespaced("default", name)]
            });
            wire.index(secrets)
                .watch(Watched::new(same_name).when(make()))
        });
        let calls = probe.calls.clone();
        world.start(Controller::new(probe));
        webs.put(using("a", "a"));
        webs.put(using("b", ""));
        settle().await;
        calls.clear();
        tokens.put(named("a"));
        tokens.put(named("b"));
        settle().await;
        assert_eq!(sorted(&calls), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn r4_a_predicate_that_reads_an_index_is_not_asked_before_all_kinds_have_synced() {
    let world = World::new();
    let (webs, tokens) = (world.kind::<Deployment>(), world.kind::<Secret>());
    let probe = Probe::<Deployment>::new().wired(|wire| {
        // Deployments of a team that has a Secret.
        let has_secret = Predicate::<Deployment>::changes_with(|change, caches| {
            let team = change.last().label("team").unwrap_or_default();
            let found = caches.indexed(super::indexes::team::<Secret>, team)?;
            Ok(Some(!found.is_empty()))
        });
        wire.reads::<Secret>()
            .index(team::<Secret>)
            .when(has_secret)
    });
    let calls = probe.calls.clone();
    tokens.forbid(true);
    tokens.put(of_team("token", "red"));
    webs.put(of_team("a", "red"));
    world.start(Controller::new(probe));
    pass(1000).await;
    tokens.forbid(false);
    pass(60_000).await;
    assert_eq!(calls.keys(), ["default/a"]);

    calls.clear();
    webs.put(of_team("b", "blue"));
    settle().await;
    assert!(calls.keys().is_empty(), "it is asked now");
}

#[tokio::test(start_paused = true)]
async fn a_predicate_whose_index_is_not_declared_passes_and_is_counted() {
    let world = World::new();
    let (webs, tokens) = (world.kind::<Deployment>(), world.kind::<Secret>());
    let probe = Probe::<Deployment>::new().wired(|wire| {
        let mapping = Mapping::metadata(|_| vec![ObjectKey::namespaced("default", "a")]);
        wire.watch(Watched::new(mapping).when(used()))
    });
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    webs.put(named("a"));
    settle().await;
    calls.clear();
    tokens.put(named("token"));
    settle().await;
    assert_eq!(calls.keys(), ["default/a"]);
    let metrics = world.metrics.controller("deployment");
    assert_eq!(metrics.handler_panics.get(), 1);
}
