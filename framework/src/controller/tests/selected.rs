//! Read your writes (R5) with an informer that holds only some objects of its kind.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;

use super::{
    load::server::Server,
    world::{World, named, named_key, pass, settle},
};
use crate::{
    cache::{Field, InformerScope},
    controller::{cause::Causes, read_your_writes::ReadYourWrites},
    queue::WorkQueue,
    resource::{ApiResource, ObjectKey},
};

struct Selected {
    server: Server<ConfigMap>,
    queue: WorkQueue<ObjectKey, Causes>,
    writes: ReadYourWrites,
    _world: World,
}

impl Selected {
    /// The informer is behind: it gets the events of later writes only after a while.
    async fn by(scope: InformerScope) -> Self {
        let world = World::new();
        let server = Server::<ConfigMap>::new();
        let source = server.clone();
        let resource = ApiResource::of::<ConfigMap>();
        let informer = world
            .informers
            .of_source(resource, scope, move |_| source.clone());
        let queue = WorkQueue::default();
        let metrics = world.metrics.read_your_writes("test");
        let writes = ReadYourWrites::new(queue.clone(), metrics);
        writes.follow(&informer);
        settle().await;
        server.delay_for(Duration::from_secs(5));
        Self {
            server,
            queue,
            writes,
            _world: world,
        }
    }

    /// The server has an object with these labels.
    fn stored(&self, name: &str, labels: &[(&str, &str)]) -> ConfigMap {
        let mut object = named::<ConfigMap>(name);
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()));
        object.metadata.labels = Some(labels.collect::<BTreeMap<String, String>>());
        self.server.apply(object)
    }

    /// Whether the key may be reconciled after it read these objects in one request to the server.
    async fn admits_after_read(&self, objects: &[&ConfigMap]) -> bool {
        let resource = ApiResource::of::<ConfigMap>();
        let objects: Vec<_> = objects.iter().map(|one| &one.metadata).collect();
        self.writes.read(&named_key("owner"), &resource, &objects);
        self.asks().await
    }

    /// Whether the key may be reconciled after it wrote a child with these labels.
    async fn admits_after(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        let object = self.stored(name, labels);
        let owner = named_key("owner");
        let resource = ApiResource::of::<ConfigMap>();
        let field = |path: &str| Field::at(path, &serde_json::to_value(&object).unwrap());
        self.writes.wrote(&owner, &resource, &object, field);
        self.asks().await
    }

    async fn asks(&self) -> bool {
        self.queue.add(named_key("owner"));
        let mut work = self.queue.get().await.unwrap();
        let admitted = self.writes.admits(&mut work);
        work.done();
        admitted
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_outside_of_a_label_selector_is_not_waited_for() {
    let selected = Selected::by(InformerScope::all().labels("app=web,tier!=test")).await;
    assert!(selected.admits_after("a", &[]).await);
    assert!(selected.admits_after("b", &[("app", "api")]).await);
    assert!(
        selected
            .admits_after("c", &[("app", "web"), ("tier", "test")])
            .await
    );
    assert!(!selected.admits_after("d", &[("app", "web")]).await);
    pass(6000).await;
    assert!(selected.asks().await);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_leaves_a_label_selector_is_not_waited_for() {
    let selected = Selected::by(InformerScope::all().labels("app=web")).await;
    assert!(!selected.admits_after("a", &[("app", "web")]).await);
    pass(6000).await;
    assert!(selected.asks().await);
    selected.server.delay_for(Duration::from_secs(5));
    assert!(selected.admits_after("a", &[("app", "api")]).await);
}

#[tokio::test(start_paused = true)]
async fn a_write_outside_of_a_field_selector_is_not_waited_for() {
    let scope = InformerScope::all().fields("metadata.name=a,metadata.namespace!=kube-system");
    let selected = Selected::by(scope).await;
    assert!(selected.admits_after("b", &[]).await);
    assert!(!selected.admits_after("a", &[]).await);
}

#[tokio::test(start_paused = true)]
async fn a_write_in_an_unwatched_namespace_is_not_waited_for() {
    let selected = Selected::by(InformerScope::all().namespaces(["other"])).await;
    assert!(selected.admits_after("default/a", &[]).await);
    assert!(!selected.admits_after("other/a", &[]).await);
}

#[tokio::test(start_paused = true)]
async fn what_was_read_is_waited_for_by_a_cache_that_holds_it() {
    let selected = Selected::by(InformerScope::all().labels("app=web")).await;
    let other = selected.stored("a", &[]);
    assert!(selected.admits_after_read(&[&other]).await);
    let web = selected.stored("b", &[("app", "web")]);
    let newest = selected.stored("c", &[]);
    assert!(!selected.admits_after_read(&[&web, &newest]).await);
    pass(6000).await;
    assert!(selected.asks().await);
    let whole = Selected::by(InformerScope::all()).await;
    let (older, newer) = (whole.stored("a", &[]), whole.stored("b", &[]));
    for objects in [[&older, &newer], [&newer, &older]] {
        assert!(!whole.admits_after_read(&objects).await);
    }
    pass(6000).await;
    assert!(whole.asks().await);
}

/// It is not known whether such a cache holds the object.
#[tokio::test(start_paused = true)]
async fn what_was_read_is_not_waited_for_by_a_cache_that_selects_by_fields() {
    let selected = Selected::by(InformerScope::all().fields("immutable!=true")).await;
    let object = selected.stored("a", &[]);
    assert!(selected.admits_after_read(&[&object]).await);
}
