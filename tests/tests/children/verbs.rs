//! Writes other than apply.

use pilothouse::{
    client::{DeleteParams, Patch},
    controller::Context,
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::{Object, ObjectKey},
    testing::RequestMatcher,
};
use serde_json::json;

use crate::children::{
    World,
    script::{Script, error_text},
};

fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::named(name);
    map.data = Some([("value".to_owned(), value.to_owned())].into());
    map
}

/// Returns the state in the cache.
fn cached(cx: &Context<Deployment>) -> Option<String> {
    let map = cx.get::<ConfigMap>("made").unwrap()?;
    map.data.as_ref()?.get("value").cloned()
}

#[tokio::test(start_paused = true)]
async fn r5_the_next_reconcile_sees_the_write_of_every_verb_in_its_cache() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    // The cache is late in each step.
    let cluster = world.cluster.in_namespace("default");
    let watches = || RequestMatcher::any().verb("watch").resource("configmaps");
    let hold = move || cluster.faults().hold_watches(watches());
    script.then("web", {
        let hold = hold.clone();
        move |cx| {
            hold();
            Box::pin(async move {
                let state = format!("{:?}", cached(cx));
                let made = cx.create(map("made", "1")).await?;
                assert_eq!(made.namespace(), Some("default"));
                Ok(state)
            })
        }
    });
    script.then("web", {
        let hold = hold.clone();
        move |cx| {
            hold();
            Box::pin(async move {
                let state = format!("{:?}", cached(cx));
                // The namespace is that of the reconciled object.
                cx.update(&map("made", "2")).await?;
                Ok(state)
            })
        }
    });
    script.then("web", {
        let hold = hold.clone();
        move |cx| {
            hold();
            Box::pin(async move {
                let state = format!("{:?}", cached(cx));
                let patch = Patch::Merge(json!({"data": {"value": "3"}}));
                let key = ObjectKey::namespaced("default", "made");
                let made = cx.patch::<ConfigMap>(&key, &patch).await?;
                assert_eq!(made.data, map("made", "3").data);
                Ok(state)
            })
        }
    });
    script.then("web", move |cx| {
        hold();
        Box::pin(async move {
            let state = format!("{:?}", cached(cx));
            cx.delete(&map("made", "")).await?;
            Ok(state)
        })
    });
    script.then("web", |cx| {
        Box::pin(async move { Ok(format!("{:?}", cached(cx))) })
    });
    world.create("web").await;
    let mut results = script.results();
    for written in 1..=4 {
        assert_eq!(results.len(), written, "{results:?}");
        world.cluster.faults().release_watches();
        world.cluster.settle().await;
        results.append(&mut script.results());
    }
    let expected = ["None", "Some(\"1\")", "Some(\"2\")", "Some(\"3\")", "None"];
    assert_eq!(results, expected);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_held_by_finalizers_counts_as_seen_once_it_has_begun() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    script.then("web", |cx| {
        Box::pin(async move {
            let mut made = map("made", "1");
            made.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
            let made = cx.create(made).await?;
            cx.delete(&made).await?;
            Ok("deleted".into())
        })
    });
    script.then("web", |cx| {
        Box::pin(async move {
            let made = cx.get::<ConfigMap>("made")?.unwrap();
            Ok(format!("{}", made.is_deleting()))
        })
    });
    world.create("web").await;
    assert_eq!(script.results(), ["deleted", "true"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_write_is_reported_with_its_verb() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    world.cluster.create(&map("made", "0")).await.unwrap();
    script.then("web", |cx| {
        Box::pin(async move {
            let old = cx.get::<ConfigMap>("made")?.unwrap();
            let key = old.key();
            let mut new = ConfigMap::clone(&old);
            new.data = map("made", "1").data;
            let new = cx.update(&new).await?;
            let exists = cx.create(map("made", "2")).await;
            let stale = cx.update(&*old).await.unwrap_err();
            assert!(stale.client().unwrap().is_conflict());
            let nobody = ObjectKey::namespaced("default", "nobody");
            let missing = cx
                .patch::<ConfigMap>(&nobody, &Patch::Merge(json!({})))
                .await;
            let version = old.metadata.resource_version.clone().unwrap();
            let params = DeleteParams::background().resource_version(version);
            let changed = cx
                .delete_with::<ConfigMap>(&key, &params)
                .await
                .unwrap_err();
            assert!(changed.client().unwrap().is_conflict());
            // An object that does not exist, or another object with the same name, counts as deleted.
            cx.delete_with::<ConfigMap>(&nobody, &DeleteParams::default())
                .await?;
            let mut former = ConfigMap::clone(&new);
            former.metadata.uid = Some("another".into());
            cx.delete(&former).await?;
            Ok([
                error_text(exists),
                stale.to_string(),
                error_text(missing),
                changed.to_string(),
            ]
            .join("\n"))
        })
    });
    world.create("web").await;
    let errors = script.results().join("");
    let begins = [
        "create ConfigMap default/made: ",
        "update ConfigMap default/made: ",
        "patch ConfigMap default/nobody: ",
        "delete ConfigMap default/made: ",
    ];
    for (line, begin) in errors.lines().zip(begins) {
        assert!(line.starts_with(begin), "{errors}");
    }
    assert_eq!(errors.lines().count(), 4, "{errors}");
    assert_eq!(world.maps().await, ["default/made"]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_affects_only_the_object_that_was_read() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    world.create("web").await;
    world.cluster.create(&map("page", "1")).await.unwrap();
    world.cluster.settle().await;
    let cluster = world.cluster.clone();
    script
        .run(&world, "web", move |cx| {
            let cluster = cluster.clone();
            Box::pin(async move {
                let seen = cx.get::<ConfigMap>("page")?.unwrap();
                cluster.delete::<ConfigMap>("page").await?;
                cluster.create(&map("page", "2")).await?;
                cx.delete(&*seen).await?;
                Ok("deleted".into())
            })
        })
        .await;
    assert_eq!(script.results(), ["deleted"]);
    let page = world.cluster.get::<ConfigMap>("page").await.unwrap();
    assert_eq!(page.unwrap().data.unwrap()["value"], "2");
}
