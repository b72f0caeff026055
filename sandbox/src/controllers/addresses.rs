//! Keeps an IPAddress for each address of a Service, as the server of a cluster does.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};

use super::feed::{Feed, FeedEvent};
use crate::api::{DeleteOptions, Handle, MANAGED_ADDRESS as MANAGED, addresses};
use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

/// Namespace and name of a Service.
type Owner = (String, String);

/// Follows the Services and the IPAddresses: it creates those that are missing, and removes its own that stand for no Service.
pub(crate) async fn follow(core: Arc<Core>) {
    let handle = Handle::new(&core, "kube-apiserver");
    let services = GroupResource::new("", "services");
    let kinds = vec![services.clone(), addresses()];
    let mut feed = Feed::new(&handle, Some(kinds));
    let mut has = BTreeMap::<Owner, BTreeSet<String>>::new();
    let mut owners = BTreeMap::<String, Owner>::new();
    // What each of the own IPAddresses stands for.
    let mut kept = BTreeMap::<String, Value>::new();
    loop {
        let mut touched = BTreeSet::new();
        for event in feed.next().await {
            let (resource, object, is_gone) = match event {
                FeedEvent::Put { resource, object } => (resource, object.value(), false),
                FeedEvent::Gone { resource, object } => (resource, object.value(), true),
                FeedEvent::Kinds => continue,
            };
            if resource == services {
                let owner = owner(&object);
                for address in has.remove(&owner).into_iter().flatten() {
                    if owners.get(&address) == Some(&owner) {
                        owners.remove(&address);
                    }
                    touched.insert(address);
                }
                let addresses = match is_gone {
                    true => BTreeSet::new(),
                    false => addresses_of(&object),
                };
                for address in &addresses {
                    owners.insert(address.clone(), owner.clone());
                    touched.insert(address.clone());
                }
                has.insert(owner, addresses);
            } else {
                let name = meta::name(&object).to_owned();
                let is_own = object["metadata"]["labels"][MANAGED.0] == MANAGED.1;
                match is_own && !is_gone {
                    true => kept.insert(name.clone(), object["spec"]["parentRef"].clone()),
                    false => kept.remove(&name),
                };
                touched.insert(name);
            }
        }
        has.retain(|_, addresses| !addresses.is_empty());
        // Each change comes back as an event.
        for address in touched {
            let wanted = owners.get(&address).map(parent);
            if kept.get(&address) == wanted.as_ref() {
                continue;
            }
            if kept.contains_key(&address) {
                delete(&handle, &address);
            }
            if let Some(parent) = wanted {
                create(&handle, &parent, &address);
            }
        }
    }
}

fn owner(service: &Value) -> Owner {
    let namespace = meta::text(service, "namespace").to_owned();
    (namespace, meta::name(service).to_owned())
}

fn addresses_of(service: &Value) -> BTreeSet<String> {
    let all = service["spec"]["clusterIPs"].as_array();
    let all = all.into_iter().flatten().filter_map(Value::as_str);
    // Not `None` of a headless Service.
    all.filter(|one| one.parse::<IpAddr>().is_ok())
        .map(str::to_owned)
        .collect()
}

fn parent((namespace, name): &Owner) -> Value {
    json!({"resource": "services", "namespace": namespace, "name": name})
}

fn create(handle: &Handle, parent: &Value, address: &str) {
    let family = if address.contains(':') {
        "IPv6"
    } else {
        "IPv4"
    };
    let (label, value) = MANAGED;
    let object = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
        "metadata": {"name": address, "labels": {"ipaddress.kubernetes.io/ip-family": family, label: value}},
        "spec": {"parentRef": parent},
    });
    // That of somebody else stays.
    if let Err(error) = handle.create(&addresses(), object)
        && error.reason != "AlreadyExists"
    {
        tracing::debug!(%address, %error, "cannot keep the address of a Service");
    }
}

fn delete(handle: &Handle, address: &str) {
    let deleted = handle.delete(&addresses(), None, address, &DeleteOptions::default());
    if let Err(error) = deleted {
        tracing::debug!(%address, %error, "cannot give back the address of a Service");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Sandbox;

    #[tokio::test(start_paused = true)]
    async fn each_address_of_a_service_has_an_object_as_long_as_the_service_has_it() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let services = GroupResource::new("", "services");
        let settled = || tokio::time::sleep(Duration::from_millis(10));
        let names = || {
            let all = handle.list(&addresses(), None);
            let names = all.iter().map(|one| meta::name(one).to_owned());
            names.collect::<Vec<_>>()
        };
        for (name, address) in [("one", "10.96.7.7"), ("two", "10.96.7.8"), ("none", "None")] {
            let service = json!({
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"clusterIP": address, "ports": [{"port": 80}]},
            });
            handle.create(&services, service).unwrap();
        }
        settled().await;
        assert_eq!(names(), ["10.96.7.7", "10.96.7.8"]);
        let found = handle.get(&addresses(), None, "10.96.7.7").unwrap();
        let expected = parent(&("default".into(), "one".into()));
        assert_eq!(found["spec"]["parentRef"], expected);
        // One that somebody deletes comes back, and one that a process left behind, which ended too early, goes.
        let options = DeleteOptions::default();
        handle
            .delete(&addresses(), None, "10.96.7.7", &options)
            .unwrap();
        let mut stale = Value::clone(&found);
        stale["metadata"] = json!({"name": "10.96.7.9", "labels": found["metadata"]["labels"]});
        handle.create(&addresses(), stale).unwrap();
        settled().await;
        assert_eq!(names(), ["10.96.7.7", "10.96.7.8"]);
        let changed = handle.update(&services, Some("default"), "one", "", |service| {
            service["spec"] = json!({"type": "ExternalName", "externalName": "example.com"});
        });
        changed.unwrap();
        handle
            .delete(&services, Some("default"), "two", &options)
            .unwrap();
        settled().await;
        assert_eq!(names(), [""; 0]);
    }

    #[tokio::test]
    async fn a_service_does_not_get_an_address_that_somebody_has_taken() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let taken = json!({
            "metadata": {"name": "10.96.7.7"},
            "spec": {"parentRef": {"group": "example.com", "resource": "routers", "name": "a"}},
        });
        handle.create(&addresses(), taken).unwrap();
        let service = json!({
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {"clusterIP": "10.96.7.7", "ports": [{"port": 80}]},
        });
        let refused = handle.create(&GroupResource::new("", "services"), service);
        let refused = refused.unwrap_err().message;
        assert!(
            refused.contains("provided IP is already allocated"),
            "{refused}"
        );
    }
}
