//! The life of a Cluster, with the whole operator on a paused clock.
#![cfg(feature = "dev")]

mod world;

use std::time::Duration;

use author_postgres::{Cluster, Phase};
use pilothouse::{
    client::DeleteParams,
    k8s::api::{apps::v1::StatefulSet, core::v1::PersistentVolumeClaim},
    prelude::*,
    testing::{Answer, RequestMatcher},
};
use serde_json::json;
use world::{World, condition, from};

const SETTINGS: &str = "postgres.example.com/settings";

fn phase(phase: Phase) -> impl Fn(&Cluster) -> bool {
    move |cluster| {
        cluster
            .status
            .as_ref()
            .is_some_and(|status| status.phase == phase)
    }
}

fn hash(set: &StatefulSet) -> String {
    let pods = set.spec.template.metadata.clone().unwrap_or_default();
    pods.annotations
        .unwrap_or_default()
        .remove(SETTINGS)
        .unwrap_or_default()
}

async fn password(world: &World) -> Option<String> {
    let secret = world.api.get::<Secret>("main-superuser").await.unwrap()?;
    String::from_utf8(secret.data?.remove("password")?.0).ok()
}

async fn sizes(world: &World) -> Vec<String> {
    let mut sizes = Vec::new();
    for name in ["data-main-0", "data-main-1", "data-main-2"] {
        if let Some(claim) = world.api.get::<PersistentVolumeClaim>(name).await.unwrap() {
            let spec = claim.spec.unwrap();
            sizes.push(
                spec.resources.unwrap().requests.unwrap()["storage"]
                    .0
                    .clone(),
            );
        }
    }
    sizes
}

#[tokio::test(start_paused = true)]
async fn a_cluster_gets_its_children_in_order_and_becomes_ready() {
    let world = World::new();
    let running = world.run().await;
    world
        .cluster(json!({"instances": 2, "parameters": {"max_connections": "50"}}))
        .await;
    let starting = world
        .api
        .until("main", "be starting", phase(Phase::Starting))
        .await
        .unwrap();
    assert!(!starting.is_ready());
    world.api.settle().await;
    let writes = world.api.writes();
    let children: Vec<_> = writes
        .iter()
        .filter(|write| ["", "apps"].contains(&&*write.group))
        .map(|write| &*write.resource)
        .collect();
    let claim = "persistentvolumeclaims";
    assert_eq!(
        children,
        [
            "secrets",
            "configmaps",
            "services",
            "services",
            claim,
            claim,
            "statefulsets"
        ]
    );

    world.serve(1).await;
    let one = |cluster: &Cluster| {
        cluster
            .status
            .as_ref()
            .is_some_and(|status| status.ready_instances == 1)
    };
    let cluster = world
        .api
        .until("main", "have one server", one)
        .await
        .unwrap();
    let status = cluster.status.unwrap();
    let [_, reason, message] = condition(&status.conditions, "Ready");
    assert_eq!(reason, "ReconcileWaiting", "{message}");
    world.serve(2).await;
    let ready = |cluster: &Cluster| phase(Phase::Ready)(cluster) && cluster.is_ready();
    world.api.until("main", "be ready", ready).await.unwrap();

    let config = world
        .api
        .get::<ConfigMap>("main-config")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        config.data.unwrap()["postgresql.conf"],
        "max_connections = '50'\n"
    );
    world.restart(running).await.stop().await;
}

#[tokio::test(start_paused = true)]
async fn no_child_is_created_before_the_one_before_it() {
    let world = World::new();
    let order = [
        "secrets",
        "configmaps",
        "services",
        "persistentvolumeclaims",
        "statefulsets",
    ];
    let running = world.run().await;
    for resource in order {
        let verb = if resource == "persistentvolumeclaims" {
            "create"
        } else {
            "patch"
        };
        let writes = RequestMatcher::any().verb(verb).resource(resource);
        world
            .api
            .faults()
            .answer(writes, Answer::status(500, "InternalError"), 2);
    }
    world.cluster(json!({})).await;
    world.servers(|_| true).await;
    let mut last = 0;
    for write in world.api.writes().iter().filter(|write| write.status < 300) {
        if let Some(at) = order
            .iter()
            .position(|resource| *resource == write.resource)
        {
            assert!(at >= last, "{}", write.path);
            last = at;
        }
    }
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_password_is_generated_once() {
    let world = World::new();
    let running = world.run().await;
    world.ready().await;
    let first = password(&world).await.unwrap();
    assert_eq!(first.len(), 48);
    world
        .change(json!({"version": "18", "instances": 3, "parameters": {"work_mem": "8MB"}}))
        .await
        .unwrap();
    world.servers(|set| set.spec.replicas == Some(3)).await;
    world.serve(3).await;
    let running = world.restart(running).await;
    assert_eq!(password(&world).await.as_ref(), Some(&first));

    // The operator makes no new password for servers that know the old one.
    let secret = world
        .api
        .get::<Secret>("main-superuser")
        .await
        .unwrap()
        .unwrap();
    world.api.delete::<Secret>("main-superuser").await.unwrap();
    let gone = |cluster: &Cluster| {
        let status = cluster.status.as_ref();
        status
            .is_some_and(|status| condition(&status.conditions, "Ready")[2].contains("restore it"))
    };
    world
        .api
        .until("main", "ask for the password", gone)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(password(&world).await, None);
    let restored = Secret {
        data: secret.data,
        ..Secret::named("main-superuser")
    };
    world.api.create(&restored).await.unwrap();
    let ready = |cluster: &Cluster| cluster.is_ready();
    world.api.until("main", "be ready", ready).await.unwrap();
    assert_eq!(password(&world).await, Some(first));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_configuration_or_of_the_password_rolls_the_servers() {
    let world = World::new();
    let running = world.run().await;
    world.ready().await;
    let first = hash(&world.servers(|_| true).await);
    world.change(json!({"instances": 2})).await.unwrap();
    let scaled = world.servers(|set| set.spec.replicas == Some(2)).await;
    assert_eq!(hash(&scaled), first);
    world.serve(2).await;

    world
        .change(json!({"parameters": {"work_mem": "8MB"}}))
        .await
        .unwrap();
    let second = hash(&world.servers(|set| hash(set) != first).await);
    world
        .api
        .until("main", "roll", phase(Phase::Rolling))
        .await
        .unwrap();
    world.serve(2).await;
    world
        .api
        .until("main", "be ready", phase(Phase::Ready))
        .await
        .unwrap();

    let other = json!({"stringData": {"password": "other"}});
    world
        .api
        .patch::<Secret>("main-superuser", other)
        .await
        .unwrap();
    let third = hash(&world.servers(|set| hash(set) != second).await);
    assert_ne!(third, first);
    assert_eq!(password(&world).await.as_deref(), Some("other"));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn storage_grows_and_never_shrinks() {
    let world = World::new();
    let running = world.run().await;
    world.cluster(json!({"instances": 2})).await;
    world.serve(2).await;
    world.bind().await;
    for smaller in ["9Gi", "10G", "1024Mi"] {
        let refused = world.change(json!({"storage": smaller})).await.unwrap_err();
        assert!(refused.contains("storage must not shrink"), "{refused}");
    }
    // The same amount in other words, and more.
    world.change(json!({"storage": "10240Mi"})).await.unwrap();
    world.change(json!({"storage": "20Gi"})).await.unwrap();
    world.api.settle().await;
    assert_eq!(sizes(&world).await, ["20Gi", "20Gi"]);
    world
        .change(json!({"storage": 32212254720_i64}))
        .await
        .unwrap();
    world.api.settle().await;
    assert_eq!(sizes(&world).await.len(), 2);
    world.serve(2).await;
    world.restart(running).await.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_policy_decides_whether_the_volumes_are_deleted() {
    for (policies, left) in [
        (&["Retain"][..], 1),
        (&["Delete"], 0),
        (&["Delete", "Retain"], 1),
        (&["Retain", "Delete"], 0),
    ] {
        for deletion in [DeleteParams::background(), DeleteParams::foreground()] {
            let world = World::new();
            let running = world.run().await;
            world.cluster(json!({"deletionPolicy": policies[0]})).await;
            world.serve(1).await;
            for policy in policies {
                world
                    .change(json!({"deletionPolicy": policy}))
                    .await
                    .unwrap();
                world.api.settle().await;
            }
            world
                .api
                .api::<Cluster>()
                .delete("main", &deletion)
                .await
                .unwrap();
            world.api.until_gone::<Cluster>("main").await.unwrap();
            world.api.until_gone::<StatefulSet>("main").await.unwrap();
            world.api.settle().await;
            assert_eq!(sizes(&world).await.len(), left, "{policies:?}");
            running.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_volume_claim_is_created_again_and_no_bad_spec_is_accepted() {
    let world = World::new();
    let running = world.run().await;
    world.ready().await;
    world
        .api
        .delete::<PersistentVolumeClaim>("data-main-0")
        .await
        .unwrap();
    world
        .api
        .until("data-main-0", "be there", |_: &PersistentVolumeClaim| true)
        .await
        .unwrap();
    for bad in [
        json!({"version": "new"}),
        json!({"instances": 0}),
        json!({"storage": "much"}),
        json!({"parameters": {"a=b\nc": "1"}}),
        json!({"deletionPolicy": "Perhaps"}),
    ] {
        let refused = world.change(bad).await.unwrap_err();
        println!("{refused}");
    }
    let _: Cluster = from(json!({"metadata": {}, "spec": {"version": "1", "storage": "1Gi"}}));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn simulated_servers_start_with_bound_claims_and_a_lost_one_is_noticed() {
    let world = World::simulated();
    let running = world.run().await;
    world.cluster(json!({"instances": 3})).await;
    let ready = |cluster: &Cluster| phase(Phase::Ready)(cluster) && cluster.is_ready();
    world.api.until("main", "be ready", ready).await.unwrap();
    let bound = |claim: &PersistentVolumeClaim| {
        let status = claim.status.as_ref();
        status.is_some_and(|status| status.phase.as_deref() == Some("Bound"))
    };
    let claim = world.api.until("data-main-2", "be bound", bound).await;
    assert_eq!(
        claim
            .unwrap()
            .spec
            .unwrap()
            .volume_name
            .map(|name| name.len()),
        Some(40)
    );
    world.api.pods().of("main-1").never_ready();
    let two = |cluster: &Cluster| {
        let status = cluster.status.as_ref();
        status.is_some_and(|status| status.ready_instances == 2) && !cluster.is_ready()
    };
    world.api.until("main", "miss a server", two).await.unwrap();
    world.api.pods().of("main-1").recover();
    world.api.until("main", "be ready", ready).await.unwrap();
    running.stop().await;
}
