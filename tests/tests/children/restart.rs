//! The writes of a new process that finds the children of an older one.

use std::{marker::PhantomData, sync::Arc};

use parking_lot::Mutex;
use pilothouse::{
    cache::Informers,
    client::{Api, PostParams},
    controller::{
        APPLIED_ANNOTATION, Action, Child, Context, Controller, Environment, Owned, Reconciler,
        Result,
    },
    k8s::api::{
        apps::v1::{Deployment, StatefulSet},
        batch::v1::CronJob,
        core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
        policy::v1::PodDisruptionBudget,
        rbac::v1::RoleBinding,
    },
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object, Resource},
    testing::{Cluster, Sandbox},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::children::Copies;

/// Applies one child of a kind that is cached as `C` for each ConfigMap with the name `owner`.
struct Keeper<C> {
    resource: ApiResource,
    wanted: Arc<Mutex<Value>>,
    kind: PhantomData<C>,
}

impl<C> Clone for Keeper<C> {
    fn clone(&self) -> Self {
        Self {
            resource: self.resource.clone(),
            wanted: self.wanted.clone(),
            kind: PhantomData,
        }
    }
}

impl<C> Reconciler for Keeper<C>
where
    C: Object + Serialize + DeserializeOwned + Clone,
{
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.watch(Owned::<C>::dynamic(self.resource.clone()))
    }

    async fn reconcile(&self, owner: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result {
        if owner.name() == "owner" {
            let wanted = self.wanted.lock().clone();
            let child: C = serde_json::from_value(wanted).unwrap();
            cx.apply_child(Child::dynamic(&self.resource, child))
                .await?;
        }
        Ok(Action::wait())
    }
}

/// A child named `child` that one process after the other keeps.
struct Trial<C> {
    cluster: Cluster,
    keeper: Keeper<C>,
    cancel: CancellationToken,
}

impl<C> Trial<C>
where
    C: Object + Serialize + DeserializeOwned + Clone,
{
    async fn start(resource: ApiResource, child: Value) -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        let owner = ConfigMap::named("owner");
        cluster.create(&owner).await.unwrap();
        let trial = Self {
            cluster,
            keeper: Keeper {
                resource,
                wanted: Arc::default(),
                kind: PhantomData,
            },
            cancel: CancellationToken::new(),
        };
        trial.wants(child);
        trial.process("keeper");
        trial.cluster.settle().await;
        assert_eq!(trial.writes(), ["patch"]);
        trial
    }

    fn wants(&self, mut child: Value) {
        child["metadata"]["name"] = "child".into();
        *self.keeper.wanted.lock() = child;
    }

    fn process(&self, manager: &str) {
        let metrics = Metrics::new();
        let client = self.cluster.client();
        let informers = Informers::new(client.clone(), metrics.clone());
        informers.start(&self.cancel);
        let environment = Environment::new(informers, client.clone(), metrics, manager);
        let controller = Controller::new(self.keeper.clone());
        tokio::spawn(controller.run(environment, self.cancel.clone()));
    }

    async fn stop(&mut self) {
        std::mem::take(&mut self.cancel).cancel();
        self.cluster.settle().await;
    }

    /// Ends the process and starts another one. Returns the verbs with which that process writes the child.
    async fn restart(&mut self) -> Vec<String> {
        self.restart_as("keeper").await
    }

    async fn restart_as(&mut self, manager: &str) -> Vec<String> {
        self.stop().await;
        self.cluster.forget_requests();
        self.process(manager);
        self.cluster.settle().await;
        self.writes()
    }

    fn writes(&self) -> Vec<String> {
        let writes = self.cluster.writes().into_iter();
        let of_child = writes.filter(|one| one.name == "child");
        of_child.map(|one| one.verb).collect()
    }

    fn api(&self) -> Api<DynamicObject> {
        let resource = self.keeper.resource.clone();
        Api::of(self.cluster.client(), resource, Some("default"))
    }

    async fn child(&self) -> Value {
        let child = self.api().get("child").await.unwrap();
        serde_json::to_value(child).unwrap()
    }

    /// Somebody else changes the child while no process runs.
    async fn change(&mut self, change: impl FnOnce(&mut Value)) {
        self.stop().await;
        let mut child = self.child().await;
        change(&mut child);
        let child: DynamicObject = serde_json::from_value(child).unwrap();
        let api = self.api();
        api.replace("child", &PostParams::default(), &child)
            .await
            .unwrap();
    }
}

impl<C> Drop for Trial<C> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Returns fields that the API server stores in another form, or completes.
fn deployment() -> Value {
    json!({
        "metadata": {"labels": {"app": "a"}, "annotations": {"note": "b"}},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {
                    "hostNetwork": false,
                    "nodeSelector": {"zone": "a"},
                    "tolerations": [{"key": "a", "operator": "Exists"}],
                    "initContainers": [{"name": "first", "image": "i"}, {"name": "second", "image": "i"}],
                    "containers": [{
                        "name": "c",
                        "image": "nginx",
                        "args": [],
                        "command": ["run"],
                        "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
                        "env": [
                            {"name": "EMPTY", "value": ""},
                            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                        ],
                        "resources": {
                            "limits": {"cpu": "1000m", "memory": "1024Mi"},
                            "requests": {"cpu": "0.5", "memory": "0.5Gi"},
                        },
                        "readinessProbe": {"httpGet": {"port": 80}},
                        "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": false}],
                    }],
                    "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1024Mi"}}],
                },
            },
        },
    })
}

fn secret() -> Value {
    json!({"data": {"a": "eA=="}, "stringData": {"b": "text"}})
}

async fn sends_nothing<C: Resource>(child: Value) {
    let resource = ApiResource::of::<C>();
    let mut typed = Trial::<C>::start(resource.clone(), child.clone()).await;
    assert!(typed.restart().await.is_empty(), "{}", C::KIND);
    let mut dynamic = Trial::<DynamicObject>::start(resource, child).await;
    assert!(dynamic.restart().await.is_empty(), "dynamic {}", C::KIND);
}

#[tokio::test(start_paused = true)]
async fn a_restart_without_changes_sends_no_writes() {
    sends_nothing::<Deployment>(deployment()).await;
    sends_nothing::<Secret>(secret()).await;
    sends_nothing::<ServiceAccount>(json!({"imagePullSecrets": [{"name": "s"}]})).await;
    sends_nothing::<Service>(json!({"spec": {
        "selector": {"app": "a"},
        "ports": [{"port": 80, "name": "a"}, {"port": 80, "protocol": "UDP", "name": "b"}],
    }}))
    .await;
    let pod = deployment()["spec"]["template"].clone();
    sends_nothing::<StatefulSet>(json!({"spec": {
        "serviceName": "a",
        "selector": {"matchLabels": {"app": "a"}},
        "template": pod,
        "volumeClaimTemplates": [{
            "metadata": {"name": "v2"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
        }],
    }}))
    .await;
    sends_nothing::<PersistentVolumeClaim>(json!({"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}},
    }}))
    .await;
    sends_nothing::<CronJob>(json!({"spec": {
        "schedule": "@daily",
        "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}}},
    }}))
    .await;
    sends_nothing::<RoleBinding>(json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "a", "namespace": "default"}],
    }))
    .await;
    sends_nothing::<PodDisruptionBudget>(json!({"spec": {
        "maxUnavailable": "10%", "selector": {"matchLabels": {"app": "a"}},
    }}))
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_repairs_changes_of_others_with_one_write() {
    let container = "/spec/template/spec/containers/0";
    let at = |path: &str| format!("{container}{path}");
    let pod = "/spec/template/spec";
    let changes = [
        (at("/image"), json!("other")),
        (at("/env/0/value"), json!("other")),
        (at("/env/2/valueFrom/secretKeyRef/optional"), json!(true)),
        (at("/resources/limits/cpu"), json!("2")),
        (at("/command/1"), json!("more")),
        (at("/ports/1/containerPort"), json!(54)),
        (format!("{pod}/nodeSelector/theirs"), json!("1")),
        (
            format!("{pod}/tolerations/1"),
            json!({"key": "b", "operator": "Exists"}),
        ),
        (format!("{pod}/initContainers/0/name"), json!("other")),
        ("/metadata/labels/app".into(), json!("other")),
        ("/metadata/annotations/note".into(), json!("other")),
        ("/metadata/ownerReferences".into(), json!([])),
    ];
    let resource = ApiResource::of::<Deployment>();
    let mut trial = Trial::<Deployment>::start(resource, deployment()).await;
    for (path, value) in changes {
        let before = trial.child().await;
        trial
            .change(|child| {
                let (parent, last) = path.rsplit_once('/').unwrap();
                match child.pointer_mut(parent).unwrap() {
                    Value::Array(items) if items.len().to_string() == last => {
                        items.push(value.clone());
                    }
                    parent => match last.parse::<usize>() {
                        Ok(index) => parent[index] = value.clone(),
                        Err(_) => parent[last] = value.clone(),
                    },
                }
            })
            .await;
        assert_eq!(trial.restart().await, ["patch"], "{path}");
        if !path.contains("/ports/") && !path.contains("/initContainers/") {
            let after = trial.child().await;
            assert_eq!(after["spec"], before["spec"], "{path}");
            let metadata = |child: &Value, field: &str| child["metadata"][field].clone();
            for field in ["labels", "annotations", "ownerReferences"] {
                assert_eq!(metadata(&after, field), metadata(&before, field), "{path}");
            }
        }
        assert!(trial.restart().await.is_empty(), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_fields_that_others_added() {
    let resource = ApiResource::of::<Deployment>();
    let mut trial = Trial::<Deployment>::start(resource, deployment()).await;
    trial
        .change(|child| {
            child["spec"]["replicas"] = 3.into();
            child["metadata"]["labels"]["theirs"] = "1".into();
            let pod = &mut child["spec"]["template"]["spec"];
            let containers = pod["containers"].as_array_mut().unwrap();
            containers.insert(0, json!({"name": "sidecar", "image": "i"}));
            let env = containers[1]["env"].as_array_mut().unwrap();
            env.push(json!({"name": "THEIRS", "value": "1"}));
        })
        .await;
    assert!(trial.restart().await.is_empty());
    let child = trial.child().await;
    assert_eq!(child["spec"]["replicas"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_field_that_the_program_no_longer_writes_is_removed_after_a_restart() {
    let resource = ApiResource::of::<Deployment>();
    let mut trial = Trial::<Deployment>::start(resource, deployment()).await;
    let mut less = deployment();
    less["metadata"].as_object_mut().unwrap().remove("labels");
    let pod = &mut less["spec"]["template"]["spec"];
    pod["initContainers"].as_array_mut().unwrap().remove(0);
    let container = pod["containers"][0].as_object_mut().unwrap();
    container.remove("readinessProbe");
    trial.wants(less);
    assert_eq!(trial.restart().await, ["patch"]);
    let child = trial.child().await;
    assert!(child["metadata"]["labels"].is_null());
    let pod = &child["spec"]["template"]["spec"];
    assert_eq!(pod["initContainers"].as_array().unwrap().len(), 1);
    assert!(pod["containers"][0]["readinessProbe"].is_null());
    assert!(trial.restart().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_secret_key_is_removed_after_a_restart_and_the_annotation_has_no_values() {
    let resource = ApiResource::of::<Secret>();
    let data = |value: &str| json!({"data": {"a": "eA==", "password": value}});
    let mut trial = Trial::<Secret>::start(resource, data("MQ==")).await;
    let mark = |child: Value| child["metadata"]["annotations"][APPLIED_ANNOTATION].clone();
    let before = mark(trial.child().await);
    trial.wants(data("Mg=="));
    assert_eq!(trial.restart().await, ["patch"]);
    let child = trial.child().await;
    assert_eq!(child["data"]["password"], "Mg==");
    assert_eq!(mark(child), before);
    trial.wants(json!({"data": {"a": "eA=="}}));
    assert_eq!(trial.restart().await, ["patch"]);
    assert_eq!(trial.child().await["data"], json!({"a": "eA=="}));
}

#[tokio::test(start_paused = true)]
async fn a_child_with_a_missing_or_different_annotation_is_written_once() {
    let resource = ApiResource::of::<Deployment>();
    let mut trial = Trial::<Deployment>::start(resource, deployment()).await;
    let before = trial.child().await;
    for value in [None, Some("forged")] {
        trial
            .change(|child| {
                let annotations = child["metadata"]["annotations"].as_object_mut().unwrap();
                annotations.remove(APPLIED_ANNOTATION);
                annotations.extend(value.map(|value| (APPLIED_ANNOTATION.into(), value.into())));
            })
            .await;
        assert_eq!(trial.restart().await, ["patch"], "{value:?}");
        let after = trial.child().await;
        assert_eq!(
            after["metadata"]["annotations"],
            before["metadata"]["annotations"]
        );
        assert!(trial.restart().await.is_empty(), "{value:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_field_manager_writes_each_child_once() {
    let resource = ApiResource::of::<Deployment>();
    let mut trial = Trial::<Deployment>::start(resource, deployment()).await;
    assert_eq!(trial.restart_as("other").await, ["patch"]);
    assert!(trial.restart_as("other").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_status_change_of_the_child_causes_no_apply() {
    let resource = ApiResource::of::<Deployment>();
    let trial = Trial::<Deployment>::start(resource, deployment()).await;
    trial.cluster.forget_requests();
    let status = json!({"status": {"readyReplicas": 1, "replicas": 1}});
    let deployments = trial.cluster.api::<Deployment>();
    let patch = pilothouse::client::Patch::Merge(status);
    let params = Default::default();
    deployments
        .patch_status("child", &params, &patch)
        .await
        .unwrap();
    trial.cluster.settle().await;
    // Only the test's own write.
    assert_eq!(trial.writes(), ["patch"]);
    let child = trial.child().await;
    assert_eq!(child["status"]["readyReplicas"], 1);
}

#[tokio::test(start_paused = true)]
async fn detached_children_need_no_apply_after_a_restart_either() {
    let copies = Copies::default();
    copies.wants(&["default/a", "team-a/b"]);
    let mut world = crate::children::World::start(&copies).await;
    world.create("web").await;
    world.cluster.forget_requests();
    world.restart(&copies).await;
    assert!(world.cluster.writes().is_empty());

    world.stop().await;
    let there = world.cluster.in_namespace("team-a");
    let unmarked = json!({"metadata": {"labels": {pilothouse::controller::OWNER_UID_LABEL: null}}});
    there.patch::<ConfigMap>("b", unmarked).await.unwrap();
    world.cluster.forget_requests();
    world.restart(&copies).await;
    let writes = world.cluster.writes();
    let writes: Vec<_> = writes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(writes, ["b"]);
}
