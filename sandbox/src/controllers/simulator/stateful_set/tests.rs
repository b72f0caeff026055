use serde_json::{Value, json};

use crate::controllers::simulator::history;
use crate::controllers::simulator::object::{claims, number, pods, stateful_sets};
use crate::controllers::simulator::world::World;
use crate::meta;

fn set(spec: &Value) -> Value {
    let labels = json!({"app": "db"});
    let mut set = json!({
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "db:1", "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                ]}]},
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data", "labels": {"tier": "fast"}},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
        },
    });
    for (field, value) in spec.as_object().unwrap() {
        set["spec"][field] = value.clone();
    }
    set
}

async fn world(spec: Value) -> World {
    let world = World::new();
    world.create(&stateful_sets(), set(&spec));
    world.pass(20).await;
    world
}

impl World {
    fn set(&self) -> Value {
        self.get(&stateful_sets(), "db")
    }

    fn change_set(&self, change: impl FnMut(&mut Value)) {
        self.change(&stateful_sets(), "db", change);
    }

    fn set_image(&self, image: &str) {
        self.change_set(|set| {
            set["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        });
    }

    /// The numbers and images of the Pods.
    fn images(&self) -> Vec<(String, String)> {
        let of = |pod: &std::sync::Arc<Value>| {
            let image = pod["spec"]["containers"][0]["image"].as_str().unwrap();
            let number = meta::name(pod).trim_start_matches("db-");
            (
                number.to_owned(),
                image.trim_start_matches("db:").to_owned(),
            )
        };
        self.pods().iter().map(of).collect()
    }

    fn claims(&self) -> Vec<String> {
        let all = self.handle.list(&claims(), None);
        all.iter()
            .map(|claim| meta::name(claim).to_owned())
            .collect()
    }
}

fn images(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(number, image): &(&str, &str)| ((*number).to_owned(), (*image).to_owned());
    pairs.iter().map(owned).collect()
}

#[tokio::test(start_paused = true)]
async fn pods_start_one_after_the_other_each_with_its_identity_and_claim() {
    let world = World::new();
    world.create(&stateful_sets(), set(&json!({})));
    world.pass_millis(400).await;
    assert_eq!(world.phases().len(), 1);
    world.pass_millis(500).await;
    assert_eq!(world.phases().len(), 2);
    world.pass(5).await;
    let pod = world.get(&pods(), "db-2");
    let labels = &pod["metadata"]["labels"];
    assert_eq!(labels["statefulset.kubernetes.io/pod-name"], "db-2");
    assert_eq!(labels["apps.kubernetes.io/pod-index"], "2");
    assert_eq!(
        (&pod["spec"]["hostname"], &pod["spec"]["subdomain"]),
        (&json!("db-2"), &json!("db"))
    );
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data-db-2"}});
    assert_eq!(pod["spec"]["volumes"][0], volume);
    assert_eq!(world.claims(), ["data-db-0", "data-db-1", "data-db-2"]);
    let claim = world.get(&claims(), "data-db-2");
    assert_eq!(
        claim["metadata"]["labels"],
        json!({"app": "db", "tier": "fast"})
    );
    assert_eq!(claim["status"]["phase"], "Bound");
    assert!(claim["metadata"].get("ownerReferences").is_none());

    let set = world.set();
    let revisions = history::of(&world.handle, &set);
    let revision = meta::name(&revisions[0]);
    assert_eq!(labels["controller-revision-hash"], revision);
    let status = json!({
        "observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3,
        "currentReplicas": 3, "updatedReplicas": 3, "collisionCount": 0,
        "currentRevision": revision, "updateRevision": revision,
    });
    assert_eq!(set["status"], status);
    let events = world.events("db");
    let claim = "SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success";
    let pod = "SuccessfulCreate: Create Pod db-0 in StatefulSet db successful";
    assert!(events.contains(&claim.to_owned()) && events.contains(&pod.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_not_ready_holds_up_those_after_it_unless_they_are_parallel() {
    for (policy, pods) in [("OrderedReady", 1), ("Parallel", 3)] {
        let world = World::new();
        world.sandbox.pods().of("db-0").never_ready();
        world.create(
            &stateful_sets(),
            set(&json!({"podManagementPolicy": policy})),
        );
        world.pass(20).await;
        assert_eq!(world.phases().len(), pods, "{policy}");
        world.sandbox.pods().of("db-0").recover();
        world.pass(20).await;
        assert_eq!(number(&world.set(), "/status/readyReplicas"), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_must_be_ready_for_some_time_before_the_next_one_starts() {
    let world = world(json!({"minReadySeconds": 30})).await;
    assert_eq!(world.phases().len(), 1);
    assert_eq!(number(&world.set(), "/status/availableReplicas"), 0);
    world.pass(20).await;
    assert_eq!(world.phases().len(), 2);
    assert_eq!(number(&world.set(), "/status/availableReplicas"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_highest_pod_goes_first_and_its_claim_stays() {
    let world = world(json!({})).await;
    let claim = world.get(&claims(), "data-db-2");
    world.change_set(|set| set["spec"]["replicas"] = json!(1));
    world.pass_millis(100).await;
    let going = world.pods();
    let going: Vec<&str> = going
        .iter()
        .filter(|pod| meta::is_deleting(pod))
        .map(|pod| meta::name(pod))
        .collect();
    assert_eq!(going, ["db-2"]);
    world.pass(5).await;
    assert_eq!(world.images(), images(&[("0", "1")]));
    assert_eq!(world.claims().len(), 3);
    world.change_set(|set| set["spec"]["replicas"] = json!(3));
    world.pass(20).await;
    assert_eq!(
        meta::uid(&world.get(&claims(), "data-db-2")),
        meta::uid(&claim)
    );
    assert_eq!(number(&world.set(), "/status/readyReplicas"), 3);
}

#[tokio::test(start_paused = true)]
async fn an_update_replaces_the_pods_from_the_highest_on() {
    let world = world(json!({})).await;
    world.set_image("db:2");
    world.pass_millis(600).await;
    assert_eq!(
        world.images(),
        images(&[("0", "1"), ("1", "1"), ("2", "2")])
    );
    let status = world.set()["status"].clone();
    assert_ne!(status["currentRevision"], status["updateRevision"]);
    assert_eq!(
        (&status["currentReplicas"], &status["updatedReplicas"]),
        (&json!(2), &json!(1))
    );
    world.pass(10).await;
    assert_eq!(
        world.images(),
        images(&[("0", "2"), ("1", "2"), ("2", "2")])
    );
    let status = world.set()["status"].clone();
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    assert_eq!(status["currentReplicas"], 3);
    // Back to the first template: its revision is used again.
    world.set_image("db:1");
    world.pass(20).await;
    assert_eq!(
        world.images(),
        images(&[("0", "1"), ("1", "1"), ("2", "1")])
    );
    let revisions = history::of(&world.handle, &world.set());
    let numbers: Vec<i64> = revisions
        .iter()
        .map(|one| number(one, "/revision"))
        .collect();
    assert_eq!(numbers, [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_update_with_a_broken_image_stops_at_the_first_pod() {
    let world = world(json!({})).await;
    world.set_image("registry.invalid/db:2");
    world.pass(60).await;
    assert_eq!(world.images()[..2], images(&[("0", "1"), ("1", "1")]));
    assert_eq!(number(&world.set(), "/status/readyReplicas"), 2);
    // As in a cluster, the broken Pod holds up the roll-back until it is deleted.
    world.set_image("db:1");
    world.pass(60).await;
    assert_eq!(number(&world.set(), "/status/readyReplicas"), 2);
    world.delete(&pods(), "db-2", None);
    world.pass(20).await;
    assert_eq!(number(&world.set(), "/status/readyReplicas"), 3);
}

#[tokio::test(start_paused = true)]
async fn pods_below_the_partition_keep_their_revision() {
    let update = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
    let world = world(json!({"updateStrategy": update})).await;
    world.set_image("db:2");
    world.pass(20).await;
    let partly = images(&[("0", "1"), ("1", "1"), ("2", "2")]);
    assert_eq!(world.images(), partly);
    world.delete(&pods(), "db-0", None);
    world.pass(20).await;
    assert_eq!(world.images(), partly);
    world.change_set(|set| set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(0));
    world.pass(20).await;
    assert_eq!(
        world.images(),
        images(&[("0", "2"), ("1", "2"), ("2", "2")])
    );
}

#[tokio::test(start_paused = true)]
async fn on_delete_updates_only_deleted_pods() {
    let world = world(json!({"updateStrategy": {"type": "OnDelete"}})).await;
    world.set_image("db:2");
    world.pass(20).await;
    assert_eq!(
        world.images(),
        images(&[("0", "1"), ("1", "1"), ("2", "1")])
    );
    world.delete(&pods(), "db-1", None);
    world.pass(20).await;
    assert_eq!(
        world.images(),
        images(&[("0", "1"), ("1", "2"), ("2", "1")])
    );
    let status = world.set()["status"].clone();
    assert_ne!(status["currentRevision"], status["updateRevision"]);
}

#[tokio::test(start_paused = true)]
async fn numbers_may_start_elsewhere() {
    let world = world(json!({"ordinals": {"start": 5}, "replicas": 2})).await;
    assert_eq!(world.images(), images(&[("5", "1"), ("6", "1")]));
    world.change_set(|set| set["spec"]["ordinals"]["start"] = json!(6));
    world.pass(20).await;
    assert_eq!(world.images(), images(&[("6", "1"), ("7", "1")]));
}

#[tokio::test(start_paused = true)]
async fn claims_go_as_the_retention_policy_says() {
    let keep = ["data-db-0", "data-db-1", "data-db-2"];
    for (scaled, deleted, after_scaling, after_deletion) in [
        ("Retain", "Retain", &keep[..], &keep[..]),
        ("Retain", "Delete", &keep[..], &[]),
        ("Delete", "Retain", &keep[..2], &keep[..2]),
        ("Delete", "Delete", &keep[..2], &[]),
    ] {
        let policy = json!({"whenScaled": scaled, "whenDeleted": deleted});
        let world = world(json!({"persistentVolumeClaimRetentionPolicy": policy})).await;
        world.change_set(|set| set["spec"]["replicas"] = json!(2));
        world.pass(20).await;
        assert_eq!(world.claims(), after_scaling, "{scaled} {deleted}");
        world.delete(&stateful_sets(), "db", None);
        world.pass(20).await;
        assert!(world.pods().is_empty());
        assert_eq!(world.claims(), after_deletion, "{scaled} {deleted}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_has_ended_is_replaced() {
    let world = world(json!({"replicas": 1})).await;
    let first = meta::uid(&world.pods()[0]).to_owned();
    let failed = |pod: &mut Value| pod["status"]["phase"] = json!("Failed");
    world
        .handle
        .update(&pods(), Some("default"), "db-0", "status", failed)
        .unwrap();
    world.pass(20).await;
    assert_ne!(meta::uid(&world.pods()[0]), first);
    assert_eq!(world.count("Running"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_set_at_rest_writes_nothing() {
    let world = world(json!({})).await;
    let version = world.handle.version();
    world.pass(1_000).await;
    assert_eq!(world.handle.version(), version);
}
