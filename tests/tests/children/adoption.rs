//! Objects that change their owner: adopted, claimed, released.

use futures_util::future::BoxFuture;
use pilothouse::{
    client::{DeleteParams, Patch},
    controller::{Context, OWNER_ANNOTATION, OWNER_UID_LABEL, Result},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::{Object, Selector, owner_reference},
};
use serde_json::{Value, json};

use crate::children::{
    World, deployment,
    script::{Script, error_text},
};

/// Returns a ConfigMap from the cache.
fn cached(cx: &Context<Deployment>, name: &str) -> ConfigMap {
    let found = cx.get::<ConfigMap>(name).unwrap();
    ConfigMap::clone(&found.unwrap())
}

fn owner(of: &Deployment, controller: bool) -> Value {
    let mut reference = json!(owner_reference(of).unwrap());
    reference["controller"] = controller.into();
    reference
}

fn owners(map: &ConfigMap) -> Vec<String> {
    let owners = map.metadata.owner_references.as_deref();
    let name = |controller: Option<bool>| if controller == Some(true) { "!" } else { "" };
    let owners = owners.unwrap_or_default().iter();
    owners
        .map(|one| format!("{}{}", one.name, name(one.controller)))
        .collect()
}

async fn world(script: &Script) -> World {
    let world = World::of(script.clone()).await;
    for name in ["web", "zoo"] {
        world.create(name).await;
    }
    world
}

impl World {
    async fn deployment(&self, name: &str) -> Deployment {
        self.cluster.get(name).await.unwrap().unwrap()
    }

    async fn map(&self, name: &str, owners: Value) -> ConfigMap {
        let metadata = json!({"name": name, "labels": {"app": name}, "ownerReferences": owners});
        let map = json!({"metadata": metadata, "data": {"a": "b"}});
        let map: ConfigMap = serde_json::from_value(map).unwrap();
        let map = self.cluster.create(&map).await.unwrap();
        self.cluster.settle().await;
        map
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_without_a_controller_is_adopted_once_and_otherwise_unchanged() {
    let script = Script::default();
    let world = world(&script).await;
    let zoo = world.deployment("zoo").await;
    let before = world.map("page", json!([owner(&zoo, false)])).await;
    world.cluster.forget_requests();
    script
        .run(&world, "web", |cx| {
            Box::pin(async move {
                let adopted = cx.adopt(&cached(cx, "page")).await?;
                // It is already ours, so this does nothing.
                cx.adopt(&adopted).await?;
                Ok(owners(&adopted).join(" "))
            })
        })
        .await;
    assert_eq!(script.results(), ["zoo web!"]);
    let writes = world.cluster.writes();
    let of_page = writes.iter().filter(|one| one.name == "page");
    assert_eq!(of_page.count(), 1);
    let mut after = world
        .cluster
        .get::<ConfigMap>("page")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(owners(&after), ["zoo", "web!"]);
    after.metadata.owner_references = before.metadata.owner_references.clone();
    after.metadata.resource_version = before.metadata.resource_version.clone();
    after.metadata.managed_fields = before.metadata.managed_fields.clone();
    assert_eq!(after, before);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_controlled_deleted_or_changed_is_not_adopted() {
    let script = Script::default();
    let world = world(&script).await;
    let zoo = world.deployment("zoo").await;
    world.map("theirs", json!([owner(&zoo, true)])).await;
    world.map("going", json!([])).await;
    let held = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    world
        .cluster
        .patch::<ConfigMap>("going", held)
        .await
        .unwrap();
    world.cluster.delete::<ConfigMap>("going").await.unwrap();
    world.map("changed", json!([])).await;
    world.map("anew", json!([])).await;
    world.cluster.settle().await;
    let cluster = world.cluster.clone();
    script
        .run(&world, "web", move |cx| {
            let cluster = cluster.clone();
            Box::pin(async move {
                let [changed, anew] = ["changed", "anew"].map(|name| cached(cx, name));
                let more = json!({"data": {"c": "d"}});
                cluster.patch::<ConfigMap>("changed", more).await?;
                cluster.delete::<ConfigMap>("anew").await?;
                cluster.create(&ConfigMap::named("anew")).await?;
                let mut written = ConfigMap::named("changed");
                written.metadata.namespace = Some("default".into());
                let mut elsewhere = written.clone();
                elsewhere.metadata.namespace = Some("team-a".into());
                let mut lines = Vec::new();
                for map in [
                    cached(cx, "theirs"),
                    cached(cx, "going"),
                    changed,
                    anew,
                    written,
                    elsewhere,
                ] {
                    let refused = cx.adopt(&map).await.unwrap_err();
                    let conflict = refused.client().is_some_and(|error| error.is_conflict());
                    let text = refused.to_string();
                    lines.push(if conflict { "a conflict".into() } else { text });
                }
                Ok(lines.join("\n"))
            })
        })
        .await;
    let expected = [
        "adopt ConfigMap default/theirs: it belongs to Deployment zoo: choose another name, or release it from its owner first",
        "adopt: ConfigMap default/going is being deleted",
        "a conflict",
        "a conflict",
        "adopt ConfigMap default/changed: the object has no UID or no resource version: pass an object that was read from the cache or the server",
        "adopt ConfigMap team-a/changed: the child is not in the namespace of its owner default/web, so no owner reference can reach it: leave `metadata.namespace` empty, or apply `Child::new(..).detached()`, and declare `.watch(Owned::<ConfigMap>::new().detached())` and a finalizer in `wire`",
    ];
    assert_eq!(script.results(), [expected.join("\n")]);
    for name in ["going", "changed", "anew"] {
        let map = world.cluster.get::<ConfigMap>(name).await.unwrap().unwrap();
        assert!(owners(&map).is_empty(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_whose_deletion_the_cache_missed_adopts_nothing() {
    let script = Script::default();
    let world = world(&script).await;
    world.map("page", json!([])).await;
    let held = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    world
        .cluster
        .patch::<Deployment>("web", held)
        .await
        .unwrap();
    world.cluster.settle().await;
    let cluster = world.cluster.clone();
    script
        .run(&world, "web", move |cx| {
            let cluster = cluster.clone();
            Box::pin(async move {
                cluster.delete::<Deployment>("web").await?;
                let going = cx.adopt(&cached(cx, "page")).await;
                let free = json!({"metadata": {"finalizers": null}});
                cluster.patch::<Deployment>("web", free).await?;
                let gone = cx.adopt(&cached(cx, "page")).await;
                cluster.create(&deployment("web")).await?;
                let other = cx.adopt(&cached(cx, "page")).await;
                Ok([going, gone, other].map(error_text).join("\n"))
            })
        })
        .await;
    let expected = [
        "adopt: Deployment default/web is being deleted",
        "adopt: Deployment default/web is gone",
        "adopt: Deployment default/web is gone",
    ];
    assert_eq!(script.results(), [expected.join("\n")]);
    let page = world
        .cluster
        .get::<ConfigMap>("page")
        .await
        .unwrap()
        .unwrap();
    assert!(owners(&page).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_release_removes_only_our_owner_reference_and_our_labels() {
    let script = Script::default();
    let world = world(&script).await;
    let (web, zoo) = (world.deployment("web").await, world.deployment("zoo").await);
    let both = json!([owner(&zoo, false), owner(&web, true)]);
    world.map("shared", both).await;
    world.map("theirs", json!([owner(&zoo, true)])).await;
    let mark = |of: &Deployment| {
        json!({"metadata": {
            "labels": {OWNER_UID_LABEL: of.uid()},
            "annotations": {OWNER_ANNOTATION: json!({
                "group": "apps", "kind": "Deployment", "namespace": "default", "name": of.name(), "uid": of.uid(),
            }).to_string(), "note": "kept"},
        }})
    };
    for (name, of) in [("marked", &web), ("marked-theirs", &zoo)] {
        world.map(name, json!([])).await;
        world
            .cluster
            .patch::<ConfigMap>(name, mark(of))
            .await
            .unwrap();
    }
    world.cluster.settle().await;
    world.cluster.forget_requests();
    script
        .run(&world, "web", |cx| {
            Box::pin(async move {
                for name in ["shared", "theirs", "marked", "marked-theirs"] {
                    cx.release(&cached(cx, name)).await?;
                }
                Ok("done".into())
            })
        })
        .await;
    assert_eq!(script.results(), ["done"]);
    let changed = world.cluster.writes();
    let changed: Vec<_> = changed.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(changed, ["web", "shared", "marked"]);
    let map = async |name: &str| world.cluster.get::<ConfigMap>(name).await.unwrap().unwrap();
    assert_eq!(owners(&map("shared").await), ["zoo"]);
    assert_eq!(owners(&map("theirs").await), ["zoo!"]);
    let marked = map("marked").await;
    let labels = marked.metadata.labels.unwrap();
    assert_eq!(labels, [("app".to_owned(), "marked".to_owned())].into());
    let annotations = marked.metadata.annotations.unwrap();
    assert_eq!(annotations, [("note".to_owned(), "kept".to_owned())].into());
    assert!(map("marked-theirs").await.label(OWNER_UID_LABEL).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_claim_adopts_matching_objects_and_releases_the_others() {
    let script = Script::default();
    let world = world(&script).await;
    let (web, zoo) = (world.deployment("web").await, world.deployment("zoo").await);
    world.map("free", json!([])).await;
    world.map("ours", json!([owner(&web, true)])).await;
    world.map("theirs", json!([owner(&zoo, true)])).await;
    world.map("stranger", json!([])).await;
    world.map("former", json!([owner(&web, true)])).await;
    world.map("going", json!([])).await;
    let held = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    world
        .cluster
        .patch::<ConfigMap>("going", held)
        .await
        .unwrap();
    world.cluster.delete::<ConfigMap>("going").await.unwrap();
    world.map("gone", json!([])).await;
    let names = [
        "free", "ours", "theirs", "stranger", "former", "going", "gone",
    ];
    let cluster = world.cluster.clone();
    script
        .run(&world, "web", move |cx| {
            let cluster = cluster.clone();
            Box::pin(async move {
                let meant = ["free", "ours", "theirs", "going", "gone"];
                let selector = Selector::default().any_of("app", meant);
                let maps = names.map(|name| cached(cx, name));
                cluster.delete::<ConfigMap>("gone").await?;
                let mut lines = Vec::new();
                for map in &maps {
                    if let Some(ours) = cx.claim(map, &selector).await? {
                        lines.push(format!("{}: {}", ours.name(), owners(&ours).join(" ")));
                    }
                }
                Ok(lines.join(", "))
            })
        })
        .await;
    assert_eq!(script.results(), ["free: web!, ours: web!"]);
    let mut now = Vec::new();
    for name in &names[..6] {
        let map = world.cluster.get::<ConfigMap>(name).await.unwrap().unwrap();
        now.push(owners(&map).join(" "));
    }
    assert_eq!(now, ["web!", "web!", "zoo!", "", "", ""]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_is_being_deleted_releases_nothing_that_it_claims() {
    let script = Script::default();
    let world = world(&script).await;
    let web = world.deployment("web").await;
    world.map("former", json!([owner(&web, true)])).await;
    let held = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    let patched = world.cluster.patch::<Deployment>("web", held).await;
    patched.unwrap();
    world.cluster.settle().await;
    script.then("web", |cx| {
        Box::pin(async move {
            let selector = Selector::default().any_of("app", ["ours"]);
            let claimed = cx.claim(&cached(cx, "former"), &selector).await?;
            Ok(format!("claimed: {}", claimed.is_some()))
        })
    });
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(script.results(), ["claimed: false"]);
    let former = world.cluster.get::<ConfigMap>("former").await.unwrap();
    assert_eq!(owners(&former.unwrap()), ["web!"]);
}

#[tokio::test(start_paused = true)]
async fn adopted_and_claimed_objects_are_not_pruned() {
    let script = Script::pruning();
    let world = world(&script).await;
    let web = world.deployment("web").await;
    world.map("adopted", json!([])).await;
    script
        .run(&world, "web", |cx| {
            Box::pin(async move {
                cx.adopt(&cached(cx, "adopted")).await?;
                Ok("adopted".into())
            })
        })
        .await;
    world.map("claimed", json!([owner(&web, true)])).await;
    script
        .run(&world, "web", |cx| {
            Box::pin(async move {
                let all = Selector::default();
                for map in cx.list_owned::<ConfigMap>()?.items {
                    cx.claim(&*map, &all).await?;
                }
                Ok("claimed".into())
            })
        })
        .await;
    assert_eq!(script.results(), ["adopted", "claimed"]);
    assert_eq!(world.maps().await, ["default/adopted", "default/claimed"]);
    // An apply as another type also counts, so the child is not pruned.
    script
        .run(&world, "web", |cx| {
            Box::pin(async move {
                let patch = Patch::Merge(json!({"metadata": {"annotations": {"a": "b"}}}));
                let key = cached(cx, "claimed").key();
                type Partial = pilothouse::resource::PartialObject<ConfigMap>;
                cx.patch::<Partial>(&key, &patch).await?;
                Ok("patched".into())
            })
        })
        .await;
    assert_eq!(script.results(), ["patched"]);
    assert_eq!(world.maps().await, ["default/claimed"]);
}

/// Applies a page, and records its owner or the error.
fn apply(
    value: &'static str,
) -> impl for<'a> Fn(&'a Context<Deployment>) -> BoxFuture<'a, Result<String>> + Send + Sync + 'static
{
    move |cx| {
        let mut page = ConfigMap::named("page");
        page.data = Some([("value".to_owned(), value.to_owned())].into());
        Box::pin(async move {
            Ok(match cx.apply(page).await {
                Ok(page) => owners(&page).join(" "),
                Err(refused) => refused.to_string(),
            })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn children_orphaned_by_a_deletion_are_not_adopted_again() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    script.then("web", apply("1"));
    world.cluster.create(&web).await.unwrap();
    world.cluster.settle().await;
    assert_eq!(script.results(), ["web!"]);

    script.then("web", apply("2"));
    let params = DeleteParams::orphan();
    let deployments = world.cluster.api::<Deployment>();
    deployments.delete("web", &params).await.unwrap();
    world.cluster.settle().await;
    script.run(&world, "web", apply("3")).await;
    let refused = "apply: Deployment default/web is being deleted";
    assert_eq!(script.results(), [refused, refused]);

    let free = json!({"metadata": {"finalizers": null}});
    world
        .cluster
        .patch::<Deployment>("web", free)
        .await
        .unwrap();
    world.cluster.until_gone::<Deployment>("web").await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let page = world.cluster.get::<ConfigMap>("page").await.unwrap();
    assert_eq!(page.unwrap().data.unwrap()["value"], "1");
}

#[tokio::test(start_paused = true)]
async fn applying_children_again_does_not_block_a_foreground_deletion() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    script.then("web", apply("1"));
    world.cluster.create(&web).await.unwrap();
    world.cluster.settle().await;
    assert_eq!(script.results(), ["web!"]);

    script.then("web", apply("2"));
    let params = DeleteParams::foreground();
    let deployments = world.cluster.api::<Deployment>();
    deployments.delete("web", &params).await.unwrap();
    world.cluster.settle().await;
    assert_eq!(
        script.results(),
        ["apply: Deployment default/web is being deleted"]
    );
    let page = world.cluster.get::<ConfigMap>("page").await.unwrap();
    assert!(page.is_none());
}
