//! The objects that each namespace has: the ServiceAccount `default`, and the ConfigMap with the certificate authority of the server.

use std::time::Duration;

use serde_json::{Value, json};

use super::object::update;
use crate::api::{AUTHORITY, Handle, create_default_account};
use crate::meta;
use crate::registry::GroupResource;

pub(super) fn namespaces() -> GroupResource {
    GroupResource::new("", "namespaces")
}

pub(super) fn accounts() -> GroupResource {
    GroupResource::new("", "serviceaccounts")
}

pub(super) fn config_maps() -> GroupResource {
    GroupResource::new("", "configmaps")
}

/// Whether a namespace always has an object of this name.
pub(super) fn is_default(resource: &GroupResource, object: &Value) -> bool {
    let name = meta::name(object);
    *resource == accounts() && name == "default" || *resource == config_maps() && name == AUTHORITY
}

/// Gives a namespace what it lacks, and corrects a changed certificate authority.
pub(super) fn reconcile(handle: &Handle, namespace: &Value) -> Option<Duration> {
    if meta::is_deleting(namespace) {
        return None;
    }
    let name = meta::name(namespace);
    let core = handle.core();
    if handle.get(&accounts(), Some(name), "default").is_none() {
        create_default_account(core, name);
    }
    // Without an HTTPS listener there is no authority yet, and the text is empty.
    let data = json!({"ca.crt": *core.root_ca.borrow()});
    match handle.get(&config_maps(), Some(name), AUTHORITY) {
        Some(map) if map["data"] == data => {}
        Some(map) => update(handle, &config_maps(), &map, "", |map| {
            map["data"] = data.clone();
        }),
        None => {
            let description =
                "The certificate authority that signs the certificate of this API server";
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": data,
                "metadata": {
                    "name": AUTHORITY, "namespace": name,
                    "annotations": {"kubernetes.io/description": description},
                },
            });
            if let Err(error) = handle.create(&config_maps(), map) {
                tracing::debug!(namespace = %name, %error, "the simulator cannot write the certificate authority");
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AUTHORITY, accounts, config_maps, namespaces};
    use crate::controllers::simulator::world::World;
    use crate::meta;

    #[tokio::test(start_paused = true)]
    async fn each_namespace_gets_its_objects_back() {
        let world = World::new();
        world.create(&namespaces(), json!({"metadata": {"name": "team"}}));
        world.pass(1).await;
        let of = |name: &str| world.handle.get(&accounts(), Some(name), "default");
        assert!(of("team").is_some() && of("kube-system").is_some());
        let first = world.get(&accounts(), "default");
        // One after the other: each is a reason of its own to look at the namespace.
        world.delete(&accounts(), "default", None);
        world.pass(1).await;
        assert_ne!(
            meta::uid(&world.get(&accounts(), "default")),
            meta::uid(&first)
        );
        world.delete(&config_maps(), AUTHORITY, None);
        world.pass(1).await;
        assert_eq!(
            world.get(&config_maps(), AUTHORITY)["data"],
            json!({"ca.crt": ""})
        );
    }

    #[tokio::test]
    async fn the_authority_is_that_of_the_listener() {
        let world = World::new();
        let address = ([127, 0, 0, 1], 0).into();
        let server = world.sandbox.serve_https(address).await.unwrap();
        let shown = || {
            let map = world.find(&config_maps(), AUTHORITY)?;
            Some(map["data"]["ca.crt"] == server.ca_pem())
        };
        while shown() != Some(true) {
            tokio::task::yield_now().await;
        }
        world.change(&config_maps(), AUTHORITY, |map| {
            map["data"]["ca.crt"] = json!("other")
        });
        while shown() != Some(true) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_can_be_deleted() {
        let world = World::new();
        world.create(&namespaces(), json!({"metadata": {"name": "team"}}));
        world.pass(1).await;
        let handle = &world.handle;
        handle
            .delete(&namespaces(), None, "team", &Default::default())
            .unwrap();
        world.pass(30).await;
        assert!(handle.get(&namespaces(), None, "team").is_none());
        assert!(handle.list(&accounts(), Some("team")).is_empty());
    }
}
