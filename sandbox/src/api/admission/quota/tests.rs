use serde_json::{Value, json};

use crate::Sandbox;
use crate::api::{DeleteOptions, Handle};
use crate::error::ApiError;
use crate::registry::GroupResource;

struct World {
    handle: Handle,
    _sandbox: Sandbox,
}

fn core(resource: &str) -> GroupResource {
    GroupResource::new("", resource)
}

impl World {
    /// A sandbox with one quota, which has been counted.
    async fn with(spec: Value) -> Self {
        let sandbox = Sandbox::builder().seed(1).simulator(true);
        let sandbox = sandbox.build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let world = Self {
            handle,
            _sandbox: sandbox,
        };
        world
            .create("resourcequotas", "q", json!({"spec": spec}))
            .unwrap();
        world.pass(1).await;
        world
    }

    async fn pass(&self, seconds: u64) {
        tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
    }

    fn create(&self, resource: &str, name: &str, mut object: Value) -> Result<Value, ApiError> {
        object["metadata"] = json!({"name": name, "namespace": "default"});
        self.handle.create(&core(resource), object)
    }

    fn pod(&self, name: &str, fields: Value) -> Result<Value, ApiError> {
        let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
        for (field, value) in fields.as_object().unwrap() {
            spec[field] = value.clone();
        }
        self.create("pods", name, json!({"spec": spec}))
    }

    fn used(&self) -> Value {
        let quota = self
            .handle
            .get(&core("resourcequotas"), Some("default"), "q");
        quota.unwrap()["status"]["used"].clone()
    }

    fn delete(&self, resource: &str, name: &str) {
        let options = DeleteOptions::default();
        let deleted = self
            .handle
            .delete(&core(resource), Some("default"), name, &options);
        deleted.unwrap();
    }
}

fn container(requests: Value, limits: Value) -> Value {
    json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": requests, "limits": limits}}]})
}

#[tokio::test(start_paused = true)]
async fn a_quota_limits_the_number_of_objects_and_counts_deletions() {
    let hard = json!({"configmaps": "3", "count/configmaps": "3", "count/deployments.apps": "0"});
    let world = World::with(json!({"hard": hard})).await;
    // The ConfigMap of the certificate authority counts, too.
    assert_eq!(
        world.used(),
        json!({"configmaps": "1", "count/configmaps": "1", "count/deployments.apps": "0"})
    );
    for name in ["a", "b"] {
        world.create("configmaps", name, json!({})).unwrap();
    }
    assert_eq!(world.used()["configmaps"], "3");
    let error = world.create("configmaps", "c", json!({})).unwrap_err();
    assert_eq!(error.code, 403);
    assert_eq!(
        error.message,
        "configmaps \"c\" is forbidden: exceeded quota: q, requested: configmaps=1,count/configmaps=1, \
         used: configmaps=3,count/configmaps=3, limited: configmaps=3,count/configmaps=3"
    );
    world.delete("configmaps", "a");
    world.pass(1).await;
    assert_eq!(world.used()["configmaps"], "2");
    world.create("configmaps", "c", json!({})).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_uses_nothing() {
    let world = World::with(json!({"hard": {"secrets": "5"}})).await;
    world.create("secrets", "a", json!({})).unwrap();
    let error = world.create("secrets", "a", json!({})).unwrap_err();
    assert_eq!(error.reason, "AlreadyExists");
    let versioned =
        json!({"metadata": {"name": "b", "namespace": "default", "resourceVersion": "1"}});
    let error = world
        .handle
        .create(&core("secrets"), versioned)
        .unwrap_err();
    assert_eq!(error.code, 500);
    assert_eq!(world.used(), json!({"secrets": "1"}));
}

#[tokio::test(start_paused = true)]
async fn a_quota_counts_what_pods_ask_for() {
    let hard = json!({
        "pods": "9", "requests.cpu": "1", "limits.memory": "1Gi", "requests.example.com/gpu": "1",
    });
    let world = World::with(json!({"hard": hard})).await;
    let error = world.pod("none", json!({})).unwrap_err();
    assert_eq!(
        error.message,
        "pods \"none\" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c"
    );
    let asked = container(
        json!({"cpu": "600m", "example.com/gpu": "1"}),
        json!({"memory": "512Mi", "example.com/gpu": "1"}),
    );
    world.pod("one", asked).unwrap();
    assert_eq!(
        world.used(),
        json!({"limits.memory": "512Mi", "pods": "1", "requests.cpu": "600m", "requests.example.com/gpu": "1"})
    );
    let asked = container(json!({"cpu": "600m"}), json!({"memory": "1Mi"}));
    let error = world.pod("two", asked).unwrap_err();
    assert_eq!(
        error.message,
        "pods \"two\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, \
         limited: requests.cpu=1"
    );
    // A Pod that has ended uses nothing.
    let ended = world
        .handle
        .update(&core("pods"), Some("default"), "one", "status", |pod| {
            pod["status"]["phase"] = json!("Succeeded");
        });
    ended.unwrap();
    world.pass(1).await;
    assert_eq!(world.used()["requests.cpu"], "0");
}

#[tokio::test(start_paused = true)]
async fn a_quota_counts_only_pods_in_its_scopes() {
    let world =
        World::with(json!({"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotTerminating"]}))
            .await;
    world.pod("one", json!({})).unwrap();
    assert!(world.pod("two", json!({})).is_err());
    world
        .pod("short", json!({"activeDeadlineSeconds": 600}))
        .unwrap();
    world
        .pod("burstable", container(json!({"cpu": "1"}), json!({})))
        .unwrap();
    assert_eq!(world.used(), json!({"pods": "1"}));
    let selector = json!({"matchExpressions": [
        {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]},
    ]});
    let world = World::with(json!({"hard": {"pods": "0"}, "scopeSelector": selector})).await;
    world.pod("plain", json!({})).unwrap();
    let critical = world.pod(
        "critical",
        json!({"priorityClassName": "system-node-critical"}),
    );
    assert!(critical.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_quota_counts_services_by_type_and_storage_by_class() {
    let class = "fast.storageclass.storage.k8s.io";
    let hard = json!({
        "services.loadbalancers": "1", "services.nodeports": "2", "requests.storage": "3Gi",
        format!("{class}/persistentvolumeclaims"): "1",
    });
    let world = World::with(json!({"hard": hard})).await;
    let service = |kind: &str| json!({"spec": {"type": kind, "ports": [{"port": 80}]}});
    world
        .create("services", "web", service("ClusterIP"))
        .unwrap();
    assert_eq!(world.used()["services.nodeports"], "0");
    // The type of a Service can change.
    let changed = |kind: &'static str| {
        let services = core("services");
        let changed = world
            .handle
            .update(&services, Some("default"), "web", "", |service| {
                service["spec"]["type"] = json!(kind);
            });
        changed.map(drop)
    };
    changed("LoadBalancer").unwrap();
    assert_eq!(world.used()["services.loadbalancers"], "1");
    assert_eq!(world.used()["services.nodeports"], "1");
    let error = world
        .create("services", "other", service("LoadBalancer"))
        .unwrap_err();
    assert!(
        error.message.ends_with("limited: services.loadbalancers=1"),
        "{error}"
    );
    changed("ClusterIP").unwrap();
    world.pass(1).await;
    assert_eq!(world.used()["services.loadbalancers"], "0");

    let claim = |size: &str| {
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
            "resources": {"requests": {"storage": size}}}})
    };
    let error = world
        .create("persistentvolumeclaims", "big", claim("4Gi"))
        .unwrap_err();
    assert!(
        error.message.ends_with("requested: requests.storage=4Gi, used: requests.storage=0, limited: requests.storage=3Gi"),
        "{error}"
    );
    world
        .create("persistentvolumeclaims", "one", claim("1Gi"))
        .unwrap();
    assert_eq!(world.used()["requests.storage"], "1Gi");
    assert!(
        world
            .create("persistentvolumeclaims", "two", claim("1Gi"))
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_limit_is_counted_again() {
    let world = World::with(json!({"hard": {"secrets": "0"}})).await;
    assert!(world.create("secrets", "a", json!({})).is_err());
    let changed = world
        .handle
        .update(&core("resourcequotas"), Some("default"), "q", "", |quota| {
            quota["spec"]["hard"] = json!({"secrets": "1", "pods": "1"});
        });
    changed.unwrap();
    world.pass(1).await;
    world.create("secrets", "a", json!({})).unwrap();
    assert_eq!(world.used(), json!({"pods": "0", "secrets": "1"}));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_uses_nothing_and_needs_room() {
    let world = World::with(json!({"hard": {"secrets": "1"}})).await;
    let target = world
        .handle
        .target(&core("secrets"), Some("default"))
        .unwrap();
    let options = crate::api::WriteOptions {
        dry_run: true,
        ..Default::default()
    };
    let try_one = || {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x", "namespace": "default"}});
        crate::api::create(world.handle.core(), &target, secret, &options, false)
    };
    try_one().await.unwrap();
    assert_eq!(world.used(), json!({"secrets": "0"}));
    world.create("secrets", "a", json!({})).unwrap();
    assert_eq!(try_one().await.unwrap_err().code, 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_at_the_same_time_never_exceed_a_quota() {
    let world = World::with(json!({"hard": {"secrets": "20"}})).await;
    let created: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let world = &world;
                let create = move |number| {
                    world.create("secrets", &format!("s-{thread}-{number}"), json!({}))
                };
                scope.spawn(move || (0..10).filter(|number| create(*number).is_ok()).count())
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(created, 20);
    assert_eq!(world.used(), json!({"secrets": "20"}));
    assert_eq!(
        world.handle.list(&core("secrets"), Some("default")).len(),
        20
    );
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_that_a_quota_holds_back_goes_on_when_there_is_room() {
    let world = World::with(json!({"hard": {"pods": "1"}})).await;
    let labels = json!({"app": "web"});
    let set = json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        }},
    });
    let sets = GroupResource::new("apps", "replicasets");
    world.handle.create(&sets, set).unwrap();
    world.pass(2).await;
    let find = || world.handle.get(&sets, Some("default"), "web").unwrap();
    let set = find();
    assert_eq!(set["status"]["replicas"], 1);
    let condition = &set["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("ReplicaFailure"), &json!("FailedCreate"))
    );
    let message = condition["message"].as_str().unwrap();
    assert!(
        message.ends_with("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
        "{message}"
    );
    let raised = world
        .handle
        .update(&core("resourcequotas"), Some("default"), "q", "", |quota| {
            quota["spec"]["hard"]["pods"] = json!("2");
        });
    raised.unwrap();
    world.pass(6).await;
    assert_eq!(find()["status"]["replicas"], 2);
    assert!(find()["status"]["conditions"].is_null());
}
