use serde_json::{Value, json};

use super::{classes, volumes};
use crate::api::DeleteOptions;
use crate::controllers::simulator::object::{claims, condition, nodes, pods};
use crate::controllers::simulator::world::World;
use crate::meta;

fn claim(name: &str, spec: &Value) -> Value {
    let mut claim = json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    for (field, value) in spec.as_object().unwrap() {
        claim["spec"][field] = value.clone();
    }
    claim
}

fn volume(name: &str, spec: &Value) -> Value {
    let mut volume = json!({
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce", "ReadWriteMany"], "capacity": {"storage": "1Gi"}, "nfs": {"server": "a", "path": "/"}},
    });
    for (field, value) in spec.as_object().unwrap() {
        volume["spec"][field] = value.clone();
    }
    volume
}

fn pod(name: &str, claim: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
        },
    })
}

impl World {
    fn class(&self, name: &str, fields: &Value) {
        let mut class = json!({"metadata": {"name": name}, "provisioner": "example.com/disk"});
        for (field, value) in fields.as_object().unwrap() {
            class[field] = value.clone();
        }
        self.create(&classes(), class);
    }

    fn volume(&self, name: &str) -> Option<Value> {
        let found = self.handle.get(&volumes(), None, name);
        found.map(|volume| Value::clone(&volume))
    }

    fn phase(&self, claim: &str) -> Value {
        self.get(&claims(), claim)["status"]["phase"].clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_bound_to_a_volume_of_its_own() {
    let world = World::new();
    world.class("fast", &json!({"mountOptions": ["ro"]}));
    world.create(
        &claims(),
        claim("data", &json!({"storageClassName": "fast"})),
    );
    world.pass(1).await;
    let bound = world.get(&claims(), "data");
    let name = format!("pvc-{}", meta::uid(&bound));
    assert_eq!(bound["spec"]["volumeName"], name);
    let status =
        json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}});
    assert_eq!(bound["status"], status);
    let volume = world.volume(&name).unwrap();
    let spec = &volume["spec"];
    assert_eq!(spec["claimRef"]["uid"], meta::uid(&bound));
    assert_eq!(
        (
            &spec["storageClassName"],
            &spec["persistentVolumeReclaimPolicy"],
            &spec["mountOptions"]
        ),
        (&json!("fast"), &json!("Delete"), &json!(["ro"]))
    );
    assert_eq!(
        volume["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"],
        "example.com/disk"
    );
    assert_eq!(
        volume["metadata"]["finalizers"],
        json!(["kubernetes.io/pv-protection"])
    );
    assert_eq!(volume["status"]["phase"], "Bound");
    let size = "/spec/resources/requests/storage";
    world.change(&claims(), "data", |claim| {
        *claim.pointer_mut(size).unwrap() = json!("2Gi")
    });
    world.pass(1).await;
    assert_eq!(
        world.get(&claims(), "data")["status"]["capacity"]["storage"],
        "2Gi"
    );
    assert_eq!(
        world.volume(&name).unwrap()["spec"]["capacity"]["storage"],
        "2Gi"
    );
}

#[tokio::test(start_paused = true)]
async fn a_volume_goes_with_its_claim_unless_its_class_retains_it() {
    let world = World::new();
    world.class("keep", &json!({"reclaimPolicy": "Retain"}));
    world.create(&claims(), claim("gone", &json!({})));
    world.create(
        &claims(),
        claim("kept", &json!({"storageClassName": "keep"})),
    );
    world.pass(1).await;
    let name = |of: &str| format!("pvc-{}", meta::uid(&world.get(&claims(), of)));
    let (gone, kept) = (name("gone"), name("kept"));
    world.delete(&claims(), "gone", None);
    world.delete(&claims(), "kept", None);
    world.pass(1).await;
    assert!(world.volume(&gone).is_none());
    assert_eq!(world.volume(&kept).unwrap()["status"]["phase"], "Released");
}

#[tokio::test(start_paused = true)]
async fn a_claim_takes_the_smallest_volume_that_fits() {
    let world = World::new();
    world.create(
        &claims(),
        claim(
            "data",
            &json!({"storageClassName": "", "selector": {"matchLabels": {"a": "b"}}}),
        ),
    );
    world.pass(1).await;
    assert_eq!(world.phase("data"), "Pending");
    assert_eq!(
        world.events("data"),
        [
            "FailedBinding: no persistent volumes available for this claim and no storage class is set"
        ]
    );
    let labelled = |name: &str, size: &str| {
        let mut volume = volume(name, &json!({"capacity": {"storage": size}}));
        volume["metadata"]["labels"] = json!({"a": "b"});
        volume
    };
    world.create(&volumes(), labelled("a-big", "5Gi"));
    world.create(&volumes(), labelled("b-fits", "2Gi"));
    world.create(&volumes(), labelled("c-small", "512Mi"));
    world.create(&volumes(), volume("d-other", &json!({})));
    world.pass(1).await;
    let bound = world.get(&claims(), "data");
    assert_eq!(bound["spec"]["volumeName"], "b-fits");
    assert_eq!(bound["status"]["capacity"]["storage"], "2Gi");
    assert_eq!(
        bound["status"]["accessModes"],
        json!(["ReadWriteOnce", "ReadWriteMany"])
    );
    assert_eq!(
        world.volume("a-big").unwrap()["status"]["phase"],
        "Available"
    );
    world.create(
        &claims(),
        claim(
            "more",
            &json!({"storageClassName": "", "selector": {"matchLabels": {"a": "b"}}}),
        ),
    );
    world.create(&claims(), claim("rest", &json!({"storageClassName": ""})));
    world.pass(1).await;
    assert_eq!(world.get(&claims(), "more")["spec"]["volumeName"], "a-big");
    assert_eq!(
        world.get(&claims(), "rest")["spec"]["volumeName"],
        "d-other"
    );
}

#[tokio::test(start_paused = true)]
async fn volume_and_claim_can_name_each_other() {
    let world = World::new();
    let reserved = json!({"claimRef": {"namespace": "default", "name": "mine"}});
    world.create(&volumes(), volume("reserved", &reserved));
    world.create(&volumes(), volume("named", &json!({})));
    world.pass(1).await;
    let empty = json!({"storageClassName": ""});
    world.create(&claims(), claim("mine", &empty));
    world.create(
        &claims(),
        claim(
            "other",
            &json!({"storageClassName": "", "volumeName": "named"}),
        ),
    );
    world.create(
        &claims(),
        claim(
            "late",
            &json!({"storageClassName": "", "volumeName": "reserved"}),
        ),
    );
    world.pass(1).await;
    assert_eq!(
        world.get(&claims(), "mine")["spec"]["volumeName"],
        "reserved"
    );
    assert_eq!(
        (world.phase("other"), world.phase("late")),
        (json!("Bound"), json!("Pending"))
    );
    assert_eq!(
        world.events("late"),
        ["FailedBinding: volume \"reserved\" already bound to a different claim."]
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_lost_its_volume_says_so() {
    let world = World::new();
    world.create(&claims(), claim("data", &json!({})));
    world.pass(1).await;
    let name = format!("pvc-{}", meta::uid(&world.get(&claims(), "data")));
    let options = DeleteOptions::default();
    world
        .handle
        .delete(&volumes(), None, &name, &options)
        .unwrap();
    world.pass(1).await;
    assert!(world.volume(&name).is_some(), "a bound volume is protected");
    let freed = world.handle.update(&volumes(), None, &name, "", |volume| {
        meta::remove(volume, "finalizers")
    });
    freed.unwrap();
    world.pass(1).await;
    assert_eq!(world.phase("data"), "Lost");
}

#[tokio::test(start_paused = true)]
async fn a_claim_waits_for_its_first_consumer() {
    let world = World::new();
    world.class(
        "late",
        &json!({"volumeBindingMode": "WaitForFirstConsumer"}),
    );
    world.create(
        &claims(),
        claim("data", &json!({"storageClassName": "late"})),
    );
    world.pass(5).await;
    assert_eq!(world.phase("data"), "Pending");
    assert_eq!(
        world.events("data"),
        ["WaitForFirstConsumer: waiting for first consumer to be created before binding"]
    );
    world.create(&pods(), pod("one", "data"));
    world.pass(1).await;
    assert_eq!(world.count("Running"), 1);
    let bound = world.get(&claims(), "data");
    assert_eq!(
        bound["metadata"]["annotations"]["volume.kubernetes.io/selected-node"],
        "sandbox"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_goes_to_the_node_of_its_volume() {
    let world = World::with_nodes(2);
    world.class(
        "local",
        &json!({"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "kubernetes.io/no-provisioner"}),
    );
    world.create(
        &claims(),
        claim("data", &json!({"storageClassName": "local"})),
    );
    world.create(&pods(), pod("one", "data"));
    world.pass(1).await;
    let waiting = world.get(&pods(), "one");
    assert_eq!(
        condition(&waiting, "PodScheduled").unwrap()["message"],
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. no new claims to deallocate, preemption: 0/2 nodes are \
         available: 2 Preemption is not helpful for scheduling."
    );
    let second = world.handle.get(&nodes(), None, "sandbox-2").unwrap();
    let host = &second["metadata"]["labels"]["kubernetes.io/hostname"];
    let terms = json!([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]);
    world.create(
        &volumes(),
        volume("disk", &json!({"storageClassName": "local", "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}})),
    );
    world.pass(2).await;
    assert_eq!(world.get(&pods(), "one")["spec"]["nodeName"], "sandbox-2");
    assert_eq!(world.get(&claims(), "data")["spec"]["volumeName"], "disk");
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_its_claim_and_protects_it() {
    let world = World::new();
    world.create(&pods(), pod("one", "data"));
    world.pass(5).await;
    let waiting = world.get(&pods(), "one");
    let scheduled = condition(&waiting, "PodScheduled").unwrap();
    assert_eq!(
        (&scheduled["status"], &scheduled["reason"]),
        (&json!("False"), &json!("Unschedulable"))
    );
    assert_eq!(
        scheduled["message"],
        "0/1 nodes are available: persistentvolumeclaim \"data\" not found. not found"
    );
    world.create(&claims(), claim("data", &json!({})));
    world.pass(1).await;
    assert_eq!(world.count("Running"), 1);
    world.delete(&claims(), "data", None);
    world.pass(60).await;
    assert!(world.find(&claims(), "data").is_some(), "a Pod uses it");
    world.delete(&pods(), "one", None);
    world.pass(1).await;
    assert!(world.find(&claims(), "data").is_none());
}
