//! The rule for the finalizers of owners. Only a server with the admission plugin OwnerReferencesPermissionEnforcement asks for it.

use std::time::Duration;

use pilothouse::{
    client::{Client, Config, Impersonation, KubeconfigOptions},
    manifests::Roles,
};
use pilothouse_tests::real::RealServer;
use serde_json::{Value, json};
use tokio::{
    task::block_in_place,
    time::{Instant, sleep},
};

use crate::{images::kubectl, stories::EXAMPLES};

const PLUGIN: &str = "--admission=OwnerReferencesPermissionEnforcement";
const NAMESPACE: &str = "operators";
/// The longest wait for a state.
const PATIENCE: Duration = Duration::from_secs(60);

struct World(RealServer);

impl World {
    fn kubectl(&self, arguments: &str, input: &str) -> String {
        block_in_place(|| kubectl(&self.0, arguments, input))
    }

    /// Waits until the output of kubectl contains `text`.
    async fn until_shows(&self, arguments: &str, text: &str) {
        let late = Instant::now() + PATIENCE;
        loop {
            let seen = self.kubectl(arguments, "");
            if seen.contains(text) {
                return;
            }
            assert!(
                Instant::now() < late,
                "`kubectl {arguments}` did not show `{text}`: {seen}"
            );
            sleep(Duration::from_millis(200)).await;
        }
    }

    fn apply(&self, objects: Vec<Value>) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.kubectl("apply --server-side -f -", &list.to_string());
    }

    async fn config(&self) -> Config {
        let options = KubeconfigOptions {
            path: Some(self.0.kubeconfig().to_owned()),
            ..KubeconfigOptions::default()
        };
        Config::from_kubeconfig(&options).await.unwrap()
    }
}

/// The same roles without the rule.
fn without_the_rule(roles: &Roles) -> Roles {
    let mut roles = roles.clone();
    let all = roles.cluster_roles.iter_mut();
    let mut removed = 0;
    for rules in all.filter_map(|role| role.rules.as_mut()) {
        for rule in rules.iter_mut() {
            if let Some(resources) = &mut rule.resources {
                let number = resources.len();
                resources.retain(|resource| !resource.ends_with("/finalizers"));
                removed += number - resources.len();
            }
        }
        rules.retain(|rule| rule.resources.as_ref().is_none_or(|all| !all.is_empty()));
    }
    assert_eq!(removed, 1);
    roles
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_protects_owners_accepts_children_only_with_the_rule_for_finalizers() {
    let Some(server) = RealServer::from_environment(&[PLUGIN]).filter(RealServer::is_own) else {
        return;
    };
    let world = World(server);
    world.kubectl(&format!("create namespace {NAMESPACE}"), "");
    let site = json!({"apiVersion": "demo.pilothouse.dev/v1", "kind": "Website", "metadata": {"name": "hello", "namespace": "default"},
        "spec": {"replicas": 1, "html": "Hello"}});
    let task = json!({"apiVersion": "demo.pilothouse.dev/v1", "kind": "ScheduledTask", "metadata": {"name": "greet", "namespace": "default"},
        "spec": {"everySeconds": 3600, "image": "busybox", "command": [], "history": 1}});
    for (name, object, child) in [
        ("website", site, "configmaps/hello"),
        ("scheduled-task", task, "jobs/greet-0"),
    ] {
        let example = EXAMPLES.iter().find(|one| one.name == name).unwrap();
        let roles = example.operator().roles(NAMESPACE).unwrap();
        let admin = Client::new(world.config().await).unwrap();
        example.operator().install(&admin).await.unwrap();
        world.apply(without_the_rule(&roles).to_json().unwrap());
        world.apply(vec![object]);
        let account = Impersonation::service_account(NAMESPACE, name);
        let config = world.config().await.with_default_namespace(NAMESPACE);
        let client = Client::new(config.with_impersonation(account)).unwrap();
        let running = example.operator().start(client).await.unwrap();

        let notes = "get events -n default -o jsonpath={.items[*].message}";
        world
            .until_shows(notes, "cannot set blockOwnerDeletion")
            .await;
        let get = format!("get {child} -n default --ignore-not-found -o name");
        assert_eq!(world.kubectl(&get, ""), "", "{name}");

        world.apply(roles.to_json().unwrap());
        let (_, child) = child.split_once('/').unwrap();
        world.until_shows(&get, child).await;
        running.stop().await;
        world.kubectl("delete events --all -n default", "");
    }
}
