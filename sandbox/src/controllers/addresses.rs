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

/// Follows the Services.
pub(crate) async fn follow(core: Arc<Core>) {
    let handle = Handle::new(&core, "kube-apiserver");
    let mut feed = Feed::new(&handle, Some(vec![GroupResource::new("", "services")]));
    let mut known = BTreeMap::<Owner, BTreeSet<String>>::new();
    loop {
        let mut wanted = BTreeMap::new();
        for event in feed.next().await {
            let (object, is_gone) = match event {
                FeedEvent::Put { object, .. } => (object.value(), false),
                FeedEvent::Gone { object, .. } => (object.value(), true),
                FeedEvent::Kinds => continue,
            };
            let has = match is_gone {
                true => BTreeSet::new(),
                false => addresses_of(&object),
            };
            wanted.insert(owner(&object), has);
        }
        // An address may go from one Service to another.
        for (owner, has) in &wanted {
            for address in known.get(owner).into_iter().flatten() {
                if !has.contains(address) {
                    delete(&handle, owner, address);
                }
            }
        }
        for (owner, has) in wanted {
            for address in &has {
                if known
                    .get(&owner)
                    .is_none_or(|known| !known.contains(address))
                {
                    create(&handle, &owner, address);
                }
            }
            match has.is_empty() {
                true => known.remove(&owner),
                false => known.insert(owner, has),
            };
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

fn create(handle: &Handle, owner: &Owner, address: &str) {
    let family = if address.contains(':') {
        "IPv6"
    } else {
        "IPv4"
    };
    let (label, value) = MANAGED;
    let object = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
        "metadata": {"name": address, "labels": {"ipaddress.kubernetes.io/ip-family": family, label: value}},
        "spec": {"parentRef": parent(owner)},
    });
    // That of the data folder stays.
    if let Err(error) = handle.create(&addresses(), object)
        && error.reason != "AlreadyExists"
    {
        tracing::debug!(%address, %error, "cannot keep the address of a Service");
    }
}

fn delete(handle: &Handle, owner: &Owner, address: &str) {
    let found = handle.get(&addresses(), None, address);
    if found.is_none_or(|found| found["spec"]["parentRef"] != parent(owner)) {
        return;
    }
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
        let changed = handle.update(&services, Some("default"), "one", "", |service| {
            service["spec"] = json!({"type": "ExternalName", "externalName": "example.com"});
        });
        changed.unwrap();
        let options = DeleteOptions::default();
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
