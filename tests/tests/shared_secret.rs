//! The recipe of the book: a Secret that many objects use, found by an index.

// ANCHOR: recipe
use pilothouse::{
    client::Patch,
    prelude::*,
    resource::{AccessRule, ObjectKey},
};
use serde_json::json;

/// The Secrets from which the Pods of a Deployment take their environment, with their namespace.
fn secrets(web: &Deployment) -> Vec<ObjectKey> {
    let pod = web.spec.template.spec.as_ref();
    let containers = pod.iter().flat_map(|pod| &pod.containers);
    let sources = containers.flat_map(|container| container.env_from.iter().flatten());
    let named = sources.filter_map(|source| source.secret_ref.as_ref());
    let key = |name: &str| ObjectKey::new(web.namespace(), name);
    named.map(|secret| key(&secret.name)).collect()
}

/// Replaces the Pods of a Deployment when a Secret that they use changes.
struct Reloader;

impl Reconciler for Reloader {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            // A changed Secret leads to the Deployments that name it, and to no others.
            .watches_indexed::<Secret>(secrets)
            .access(AccessRule::of::<Deployment>(["patch"]))
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result<Action> {
        let mut versions = Vec::new();
        for key in secrets(&web) {
            let secret = cx.get::<Secret>(key.name())?;
            versions.extend(secret.and_then(|secret| secret.metadata.resource_version.clone()));
        }
        let annotation = json!({"demo.pilothouse.dev/secrets": versions.join(",")});
        let template = json!({"metadata": {"annotations": annotation}});
        let patch = Patch::Merge(json!({"spec": {"template": template}}));
        cx.patch::<Deployment>(cx.key(), &patch).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;

    fn web(name: &str, secret: &str) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{
                        "name": "c",
                        "image": "nginx",
                        "envFrom": [{"secretRef": {"name": secret}}],
                    }]},
                },
            },
        }))
        .unwrap()
    }

    async fn secrets_of(cluster: &Cluster, name: &str) -> String {
        let web = cluster.get::<Deployment>(name).await.unwrap().unwrap();
        let template = web.spec.template.metadata.unwrap();
        template.annotations.unwrap()["demo.pilothouse.dev/secrets"].clone()
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_of_a_secret_replaces_the_pods_of_its_users_and_of_no_others() {
        let cluster = Cluster::start().unwrap();
        for (name, secret) in [("a", "token"), ("b", "other"), ("c", "token")] {
            cluster.create(&web(name, secret)).await.unwrap();
        }
        let mut token = Secret::named("token");
        token.string_data = Some([("key".to_owned(), "1".to_owned())].into());
        let token = cluster.create(&token).await.unwrap();
        let operator = Operator::new("reloader").controller(Reloader);
        let running = cluster.run(operator).await.unwrap();
        cluster.settle().await;
        let version = token.metadata.resource_version.unwrap();
        for (name, expected) in [("a", &*version), ("b", ""), ("c", &version)] {
            assert_eq!(secrets_of(&cluster, name).await, expected);
        }

        cluster.forget_requests();
        let change = json!({"stringData": {"key": "2"}});
        let token = cluster.patch::<Secret>("token", change).await.unwrap();
        cluster.settle().await;
        let version = token.metadata.resource_version.unwrap();
        assert_eq!(secrets_of(&cluster, "a").await, version);
        assert_eq!(secrets_of(&cluster, "c").await, version);
        let writes = cluster.writes();
        let to_b = writes
            .iter()
            .filter(|one| one.path.ends_with("deployments/b"));
        assert_eq!(to_b.count(), 0);
        running.stop().await;
    }
}
