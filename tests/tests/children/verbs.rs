//! Writes that are no apply.

use pilothouse::{
    client::{DeleteParams, Patch, Preconditions},
    controller::Context,
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::{Object, ObjectKey},
    testing::RequestMatcher,
};
use serde_json::json;

use crate::{
    World,
    script::{Script, said},
};

fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::named(name);
    map.data = Some([("value".to_owned(), value.to_owned())].into());
    map
}

/// What the cache has.
fn cached(cx: &Context<Deployment>) -> Option<String> {
    let map = cx.get::<ConfigMap>("made").unwrap()?;
    map.data.as_ref()?.get("value").cloned()
}

#[tokio::test(start_paused = true)]
async fn r5_what_a_verb_wrote_is_in_the_cache_of_the_next_reconcile() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    // The cache is late in each of them.
    let cluster = world.cluster.in_namespace("default");
    let watches = || RequestMatcher::any().verb("watch").resource("configmaps");
    let hold = move || cluster.faults().hold_watches(watches());
    script.then("web", {
        let hold = hold.clone();
        move |cx| {
            hold();
            Box::pin(async move {
                let made = cx.create(map("made", "1")).await?;
                assert_eq!(made.namespace(), Some("default"));
                Ok(format!("{:?}", cached(cx)))
            })
        }
    });
    script.then("web", {
        let hold = hold.clone();
        move |cx| {
            hold();
            Box::pin(async move {
                let said = format!("{:?}", cached(cx));
                let mut made = ConfigMap::clone(&*cx.get::<ConfigMap>("made")?.unwrap());
                made.data = map("made", "2").data;
                cx.update(&made).await?;
                Ok(said)
            })
        }
    });
    script.then("web", {
        let hold = hold.clone();
        move |cx| {
            hold();
            Box::pin(async move {
                let said = format!("{:?}", cached(cx));
                let patch = Patch::Merge(json!({"data": {"value": "3"}}));
                let key = ObjectKey::namespaced("default", "made");
                let made = cx.patch::<ConfigMap>(&key, &patch).await?;
                assert_eq!(made.data, map("made", "3").data);
                Ok(said)
            })
        }
    });
    script.then("web", move |cx| {
        hold();
        Box::pin(async move {
            let said = format!("{:?}", cached(cx));
            cx.delete(&*cx.get::<ConfigMap>("made")?.unwrap()).await?;
            Ok(said)
        })
    });
    script.then("web", |cx| {
        Box::pin(async move { Ok(format!("{:?}", cached(cx))) })
    });
    world.create("web").await;
    let mut said = script.said();
    for written in 1..=4 {
        assert_eq!(said.len(), written, "{said:?}");
        world.cluster.faults().release_watches();
        world.cluster.settle().await;
        said.append(&mut script.said());
    }
    let expected = ["None", "Some(\"1\")", "Some(\"2\")", "Some(\"3\")", "None"];
    assert_eq!(said, expected);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_finalizers_hold_up_is_waited_for_as_what_it_is() {
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
    assert_eq!(script.said(), ["deleted", "true"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_told_in_the_words_of_the_verb() {
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
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: None,
                    resource_version: old.metadata.resource_version.clone(),
                }),
                ..DeleteParams::background()
            };
            let changed = cx
                .delete_with::<ConfigMap>(&key, &params)
                .await
                .unwrap_err();
            assert!(changed.client().unwrap().is_conflict());
            // What is not there, or bears only the name, is deleted already.
            cx.delete_with::<ConfigMap>(&nobody, &DeleteParams::default())
                .await?;
            let mut former = ConfigMap::clone(&new);
            former.metadata.uid = Some("another".into());
            cx.delete(&former).await?;
            Ok([
                said(exists),
                stale.to_string(),
                said(missing),
                changed.to_string(),
            ]
            .join("\n"))
        })
    });
    world.create("web").await;
    let told = script.said().join("");
    let begins = [
        "create ConfigMap default/made: ",
        "update ConfigMap default/made: ",
        "patch ConfigMap default/nobody: ",
        "delete ConfigMap default/made: ",
    ];
    for (line, begin) in told.lines().zip(begins) {
        assert!(line.starts_with(begin), "{told}");
    }
    assert_eq!(told.lines().count(), 4, "{told}");
    assert_eq!(world.maps().await, ["default/made"]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_means_the_object_that_was_read_and_no_other_of_its_name() {
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
    assert_eq!(script.said(), ["deleted"]);
    let page = world.cluster.get::<ConfigMap>("page").await.unwrap();
    assert_eq!(page.unwrap().data.unwrap()["value"], "2");
}
