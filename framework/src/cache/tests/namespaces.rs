//! One cache over several namespaces, which may come and go.

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

/// A server per namespace, and an informer of some of them.
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
async fn each_namespace_is_watched_by_itself_and_one_cache_holds_all() {
    let world = World::new();
    world.put("red", "a");
    world.put("green", "b");
    let scope = InformerScope::all().namespaces(["red", "green"]);
    let running = Running::of(world.informer(scope));
    let heard = Heard::at(&running.informer);
    assert!(running.informer.synced().await);
    assert_eq!(cached(&running), ["green/b", "red/a"]);
    assert_eq!(world.watches(), [0, 1, 1]);
    // A list of one of them is no word about the other.
    seconds(5).await;
    heard.lines();
    world.servers["red"].close_watches();
    world.servers["red"].delete("a");
    world.servers["red"].compact();
    seconds(5).await;
    assert_eq!(heard.lines(), ["vanished a"]);
    assert_eq!(cached(&running), ["green/b"]);
    running.cancel.cancel();
    running.task.await.unwrap();
    assert_eq!(world.watches(), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_version_of_several_namespaces_is_the_oldest_of_them() {
    let world = World::new();
    (0..11).for_each(|number| world.put("red", &format!("o{number}")));
    (0..9).for_each(|number| world.put("green", &format!("p{number}")));
    let scope = InformerScope::all().namespaces(["red", "green"]);
    let running = Running::of(world.informer(scope));
    world.servers["red"].answer_lists([Answer::Hang]);
    settle().await;
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
async fn namespaces_come_and_go_while_it_runs_and_their_objects_with_them() {
    let world = World::new();
    ["red", "green", "blue"]
        .into_iter()
        .for_each(|name| world.put(name, name));
    let teams = NamespaceSet::new(["red", "green"]);
    let running = Running::of(world.informer(InformerScope::all().following(&teams)));
    let (heard, mut taken) = (
        Heard::at(&running.informer),
        heard::Taken::at(&running.informer),
    );
    settle().await;
    assert_eq!(heard.lines(), ["initial green", "initial red"]);
    assert!(teams.insert("blue") && !teams.insert("blue") && teams.remove("red"));
    settle().await;
    let lines = heard.lines();
    assert_eq!((&*lines[0], lines.len()), ("vanished red", 2));
    assert!(lines[1].ends_with("blue"), "{lines:?}");
    assert_eq!(cached(&running), ["blue/blue", "green/green"]);
    assert_eq!(world.watches(), [1, 1, 0]);
    // None at all is not all of them.
    teams.remove("blue");
    teams.remove("green");
    settle().await;
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
    settle().await;
    assert_eq!(cached(&running), ["red/late", "red/red"]);
    // A stream that nobody read in between tells what it comes to.
    taken.take(usize::MAX);
    assert_eq!(taken.folded(), &world.servers["red"].objects());
    assert_eq!((taken.wrong(), heard.wrong().len()), (&[] as &[String], 0));
    running.cancel.cancel();
    running.task.await.unwrap();
    assert_eq!(world.watches(), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn of_several_namespaces_the_forbidden_one_is_named_and_the_others_are_read() {
    let world = World::new();
    world.put("green", "a");
    let refusal = || Answer::Fail(status(403, "Forbidden", "no role"));
    world.servers["red"].answer_lists((0..3).map(|_| refusal()));
    let scope = InformerScope::all().namespaces(["red", "green"]);
    let running = Running::of(world.informer(scope));
    settle().await;
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
    assert_eq!(cached(&running), ["green/a"], "what can be read is there");
    let parts: Vec<_> = status
        .parts
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
    let heard = Heard::at(&running.informer);
    settle().await;
    world.put("green", "b");
    settle().await;
    assert_eq!(heard.lines(), ["initial a", "added b"], "and goes on");
    seconds(60).await;
    assert_eq!(running.informer.status().to_string(), "synced");
}

#[test]
fn scopes_that_mean_the_same_are_equal() {
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
