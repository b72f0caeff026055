//! The promises of the quick start, tested with `website dev` and the framework's client over HTTPS.

use crate::dev::{Dev, eventually};
use pilothouse::{
    client::{Api, Client, Config, DeleteParams, KubeconfigOptions, Patch, PatchParams},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::{ApiResource, DynamicObject, Object, controller_of},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A user's view of the cluster, as blocking calls.
struct User {
    runtime: Runtime,
    client: Client,
}

impl User {
    fn of(dev: &Dev) -> Self {
        let runtime = Runtime::new().unwrap();
        let options = KubeconfigOptions {
            path: Some(dev.kubeconfig.clone()),
            ..KubeconfigOptions::default()
        };
        let config = runtime.block_on(Config::from_kubeconfig(&options)).unwrap();
        let client = Client::new(config).unwrap();
        Self { runtime, client }
    }

    fn websites(&self) -> Api<DynamicObject> {
        let websites = ApiResource {
            group: "demo.pilothouse.dev".into(),
            version: "v1".into(),
            kind: "Website".into(),
            plural: "websites".into(),
            namespaced: true,
        };
        Api::of(&self.client, websites, Some("default"))
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(&self.client, "default")
    }

    fn pages(&self) -> Api<ConfigMap> {
        Api::namespaced(&self.client, "default")
    }

    fn apply(&self, manifest: Value) -> DynamicObject {
        let apply = PatchParams::apply("user").force();
        let (websites, patch) = (self.websites(), Patch::Apply(manifest));
        self.runtime
            .block_on(websites.patch("hello", &apply, &patch))
            .unwrap()
    }

    fn merge(&self, patch: Value) -> DynamicObject {
        let (websites, patch) = (self.websites(), Patch::Merge(patch));
        let params = PatchParams::default();
        self.runtime
            .block_on(websites.patch("hello", &params, &patch))
            .unwrap()
    }

    /// Waits until the Deployment exists with this number of replicas.
    fn deployment_with(&self, replicas: i32) -> Deployment {
        let deployments = self.deployments();
        eventually(&format!("a Deployment of {replicas}"), || {
            let found = self.runtime.block_on(deployments.get_opt("hello")).unwrap();
            let asked = found.as_ref().and_then(|found| found.spec.replicas);
            found
                .filter(|_| asked == Some(replicas))
                .ok_or_else(|| format!("{asked:?}"))
        })
    }

    /// Waits until the ConfigMap exists with this page.
    fn page_with(&self, html: &str) -> ConfigMap {
        let pages = self.pages();
        eventually(&format!("the page {html}"), || {
            let found = self.runtime.block_on(pages.get_opt("hello")).unwrap();
            let page = found
                .as_ref()
                .and_then(|found| found.data.as_ref()?.get("index.html").cloned());
            found
                .filter(|_| page.as_deref() == Some(html))
                .ok_or_else(|| format!("{page:?}"))
        })
    }

    /// Waits until the status reports this number of ready pods.
    fn ready(&self, pods: i64) {
        let websites = self.websites();
        eventually(&format!("{pods} ready"), || {
            let site = self.runtime.block_on(websites.get("hello")).unwrap();
            let site = serde_json::to_value(&site).unwrap();
            let ready = site["status"]["readyReplicas"].as_i64();
            (ready == Some(pods))
                .then_some(())
                .ok_or_else(|| format!("{:?}", site["status"]))
        });
    }
}

fn site() -> Value {
    serde_saphyr::from_str(include_str!("../../site.yaml")).unwrap()
}

#[test]
fn the_operator_creates_updates_repairs_and_deletes_its_children() {
    let dev = Dev::start();
    let user = User::of(&dev);

    // The children are created with their owner, and the status reports them.
    let site = site();
    let html = site["spec"]["html"].as_str().unwrap();
    let website = user.apply(site.clone());
    let deployment = user.deployment_with(2);
    let page = user.page_with(html);
    for child in [&deployment.metadata, &page.metadata] {
        let owner = controller_of(child).unwrap();
        assert_eq!(
            (owner.kind.as_str(), Some(owner.uid.as_str())),
            ("Website", website.uid())
        );
    }
    user.ready(2);

    // The children follow a changed spec.
    user.merge(json!({"spec": {"replicas": 3, "html": "<h1>Changed</h1>"}}));
    user.deployment_with(3);
    user.page_with("<h1>Changed</h1>");
    user.ready(3);

    // The operator repairs children that somebody changed or deleted.
    let by_hand = Patch::Merge(json!({"spec": {"replicas": 1}}));
    let patched = user.runtime.block_on(user.deployments().patch(
        "hello",
        &PatchParams::default(),
        &by_hand,
    ));
    assert_eq!(patched.unwrap().spec.replicas, Some(1));
    user.deployment_with(3);
    let deleted = user
        .runtime
        .block_on(user.pages().delete("hello", &DeleteParams::default()));
    deleted.unwrap();
    assert_ne!(user.page_with("<h1>Changed</h1>").uid(), page.uid());
    user.ready(3);

    // The children are deleted with the site.
    user.runtime
        .block_on(user.websites().delete("hello", &DeleteParams::default()))
        .unwrap();
    eventually("the children to be gone", || {
        let deployment = user
            .runtime
            .block_on(user.deployments().get_opt("hello"))
            .unwrap();
        let page = user
            .runtime
            .block_on(user.pages().get_opt("hello"))
            .unwrap();
        match (&deployment, &page) {
            (None, None) => Ok(()),
            _ => Err(format!("{} {}", deployment.is_some(), page.is_some())),
        }
    });

    assert_eq!(dev.interrupt().code(), Some(0));
}

#[test]
fn a_reconcile_without_changes_sends_no_request() {
    let dev = Dev::start();
    let user = User::of(&dev);
    user.apply(site());
    user.ready(2);
    let reconciles = || dev.metric("controller_runtime_reconcile_total{", "result=\"success\"");
    let writes = || dev.metric("rest_client_requests_total{", "method=\"PATCH\"");
    let (reconciled, written) = eventually("the operator to settle", || {
        let before = (reconciles(), writes());
        std::thread::sleep(std::time::Duration::from_millis(300));
        let after = (reconciles(), writes());
        (before == after)
            .then_some(after)
            .ok_or_else(|| format!("{before:?} {after:?}"))
    });
    assert!(reconciled > 0.0 && written > 0.0, "{reconciled} {written}");

    user.merge(json!({"metadata": {"labels": {"changed": "nothing"}}}));
    eventually("another reconcile", || {
        (reconciles() > reconciled)
            .then_some(())
            .ok_or_else(|| reconciles().to_string())
    });
    assert_eq!(writes(), written);
}

#[test]
fn dev_prints_its_addresses_and_the_commands_to_use_it() {
    let dev = Dev::start();
    for said in [
        "Starting an API server in this process …",
        "Installing websites.demo.pilothouse.dev …",
        "website is running.",
        "  API server  https://127.0.0.1:",
        "  export KUBECONFIG=",
        "  kubectl apply -f examples/website/site.yaml",
        "  kubectl explain website.spec",
        "  kubectl get websites --watch",
    ] {
        assert!(dev.banner.contains(said), "no `{said}` in:\n{}", dev.banner);
    }
    let (status, ready) = dev.get("/readyz?verbose");
    assert_eq!(status, "HTTP/1.0 200 OK", "{ready}");
    for check in [
        "configmaps",
        "deployments.apps",
        "websites.demo.pilothouse.dev",
    ] {
        assert!(
            ready.contains(&format!("[+]informer-{check} ok")),
            "{ready}"
        );
    }
    assert_eq!(dev.get("/healthz"), ("HTTP/1.0 200 OK".into(), "ok".into()));
    assert!(dev.get("/metrics").1.contains("workqueue_depth{"));
    assert_eq!(dev.interrupt().code(), Some(0));
}
