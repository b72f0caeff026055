//! One cache over several namespaces, which may be added and removed.

use std::collections::BTreeMap;

use super::*;
use crate::{
    cache::{
        InformerMode, InformerScope, ListBudget, NamespaceSet, Namespaces,
        fake::{Answer, status},
    },
    metrics::Metrics,
    resource::ApiResource,
};

/// A server for each namespace, and an informer of some of them.
struct World {
    servers: BTreeMap<&'static str, FakeServer>,
    metrics: Metrics,
}

impl World {
    fn new() -> Self {
        let names = ["red", "green", "blue"];
        let servers = names.map(|name| (name, FakeServer::new().in_namespace(name)));
        Self {
            servers: servers.into(),
            metrics: Metrics::new(),
        }
    }

    fn informer(&self, scope: InformerScope) -> SharedInformer<ConfigMap> {
        let servers = self.servers.clone();
        let metrics = self.metrics.informer("", "v1", "configmaps");
        SharedInformer::in_namespaces(
            ApiResource::of::<ConfigMap>(),
            scope,
            metrics,
            ListBudget::default(),
            move |name| servers[name.unwrap()].clone(),
        )
    }

    fn put(&self, namespace: &str, name: &str) {
        self.servers[namespace].put(name);
    }

    fn watches(&self) -> Vec<usize> {
        self.servers
            .values()
            .map(FakeServer::open_watches)
            .collect()
    }
}

fn cached(running: &Running) -> Vec<String> {
    let snapshot = running.informer.lister().snapshot();
    let mut keys: Vec<_> = snapshot.iter().map(|(key, _)| key.to_string()).collect();
    keys.sort();
    keys
}

#[tokio::test(start_paused = true)]
async fn each_namespace_has_its_own_watch_and_one_cache_holds_all_objects() {
    let world = World::new();
    world.put("red", "a");
    world.put("green", "b");
    let scope = InformerScope::all().namespaces(["red", "green"]);
    let running = Running::of(world.informer(scope));
    let recorded = RecordingListener::at(&running.informer);
    assert!(running.informer.synced().await);
    assert_eq!(cached(&running), ["green/b", "red/a"]);
    assert_eq!(world.watches(), [0, 1, 1]);
    // A list of one namespace says nothing about the other.
    seconds(5).await;
    recorded.lines();
    world.servers["red"].close_watches();
    world.servers["red"].delete("a");
    world.servers["red"].compact();
    seconds(5).await;
    assert_eq!(recorded.lines(), ["vanished a"]);
    assert_eq!(cached(&running), ["green/b"]);
    running.cancel.cancel();
    running.task.await.unwrap();
    assert_eq!(world.watches(), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_resource_version_of_several_namespaces_is_the_oldest_one() {
    let world = World::new();
    (0..11).for_each(|number| world.put("red", &format!("o{number}")));
    (0..9).for_each(|number| world.put("green", &format!("p{number}")));
    let scope = InformerScope::all().namespaces(["red", "green"]);
    let running = Running::of(world.informer(scope));
    world.servers["red"].answer_lists([Answer::Hang]);
    run_ready_tasks().await;
    let version = || {
        let snapshot = running.informer.lister().snapshot();
        snapshot.resource_version().map(str::to_owned)
    };
    assert_eq!((version(), running.informer.has_synced()), (None, false));
    running.cancel.cancel();
    let scope = InformerScope::all().namespaces(["red", "green"]);
    let running = Running::of(world.informer(scope));
    assert!(running.informer.synced().await);
    let version = running.informer.lister().snapshot();
    assert_eq!(version.resource_version(), Some("9"), "9 is older than 11");
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_added_and_removed_with_their_objects_while_the_informer_runs() {
    let world = World::new();
    ["red", "green", "blue"]
        .into_iter()
        .for_each(|name| world.put(name, name));
    let teams = NamespaceSet::new(["red", "green"]);
    let running = Running::of(world.informer(InformerScope::all().following(&teams)));
    let (recorded, mut taken) = (
        RecordingListener::at(&running.informer),
        recording::RecordingStream::at(&running.informer),
    );
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["initial green", "initial red"]);
    assert!(teams.insert("blue") && !teams.insert("blue") && teams.remove("red"));
    run_ready_tasks().await;
    let lines = recorded.lines();
    assert_eq!((&*lines[0], lines.len()), ("vanished red", 2));
    assert!(lines[1].ends_with("blue"), "{lines:?}");
    assert_eq!(cached(&running), ["blue/blue", "green/green"]);
    assert_eq!(world.watches(), [1, 1, 0]);
    // An empty set does not mean all namespaces.
    teams.remove("blue");
    teams.remove("green");
    run_ready_tasks().await;
    assert_eq!(
        (cached(&running).len(), world.watches()),
        (0, vec![0, 0, 0])
    );
    assert_eq!(
        world.metrics.informer("", "v1", "configmaps").objects.get(),
        0
    );
    assert!(running.informer.has_synced());
    world.put("red", "late");
    teams.insert("red");
    run_ready_tasks().await;
    assert_eq!(cached(&running), ["red/late", "red/red"]);
    // A stream that was not read in between delivers the merged events.
    taken.take(usize::MAX);
    assert_eq!(taken.folded(), &world.servers["red"].objects());
    assert_eq!(
        (taken.wrong(), recorded.wrong().len()),
        (&[] as &[String], 0)
    );
    running.cancel.cancel();
    running.task.await.unwrap();
    assert_eq!(world.watches(), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_namespace_is_reported_and_the_others_are_read() {
    let world = World::new();
    world.put("green", "a");
    let refusal = || Answer::Fail(status(403, "Forbidden", "no role"));
    world.servers["red"].answer_lists((0..3).map(|_| refusal()));
    let scope = InformerScope::all().namespaces(["red", "green"]);
    let running = Running::of(world.informer(scope));
    run_ready_tasks().await;
    let status = running.informer.status();
    assert_eq!(
        (status.synced, status.mode),
        (false, InformerMode::BackingOff)
    );
    assert!(
        status
            .to_string()
            .starts_with("cannot list configmaps in namespace \"red\": ")
    );
    assert_eq!(
        cached(&running),
        ["green/a"],
        "the readable namespace is cached"
    );
    let parts: Vec<_> = status
        .namespaces
        .iter()
        .map(|part| {
            (
                part.namespace.as_deref(),
                part.synced,
                part.last_error.is_some(),
            )
        })
        .collect();
    assert_eq!(
        parts,
        [(Some("green"), true, false), (Some("red"), false, true)]
    );
    let recorded = RecordingListener::at(&running.informer);
    run_ready_tasks().await;
    world.put("green", "b");
    run_ready_tasks().await;
    assert_eq!(
        recorded.lines(),
        ["initial a", "added b"],
        "the informer goes on"
    );
    seconds(60).await;
    assert_eq!(running.informer.status().to_string(), "synced");
}

#[test]
fn scopes_with_the_same_meaning_are_equal() {
    let all = InformerScope::all;
    assert_eq!(
        all().namespaces(["b", "a"]),
        all().namespaces(["a", "b", "a"])
    );
    assert_eq!(all().namespaces::<&str>([]).namespaces, Namespaces::All);
    assert_eq!(all().namespace(""), all());
    assert_eq!(all().namespace("a").normalized(false), all());
    let (one, other) = (NamespaceSet::new(["a"]), NamespaceSet::new(["a"]));
    assert_eq!(all().following(&one), all().following(&one.clone()));
    assert_ne!(all().following(&one), all().following(&other));
}
