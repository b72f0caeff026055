use serde_json::{Value, json};

use crate::Sandbox;
use crate::api::{DeleteOptions, Handle};
use crate::definitions::conditions;
use crate::meta;
use crate::registry::GroupResource;

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "websites.demo.dev"},
        "spec": {
            "group": "demo.dev",
            "scope": "Namespaced",
            "names": {"plural": "websites", "kind": "Website"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "default": 1}}},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
            }],
        },
    })
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_served_and_then_nothing_more_is_written()
-> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::builder().seed(1).build()?;
    let handle = Handle::new(sandbox.core(), "test");
    let resource = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
    handle.create(&resource, definition())?;
    wait_until_idle().await;
    let version = handle.version();
    let settled = handle
        .get(&resource, None, "websites.demo.dev")
        .ok_or("it is there")?;
    assert!(conditions::is_true(&settled, "Established"), "{settled}");
    wait_until_idle().await;
    let again = handle
        .get(&resource, None, "websites.demo.dev")
        .ok_or("it is there")?;
    assert_eq!(settled, again);
    assert_eq!(version, handle.version());
    let site = json!({
        "apiVersion": "demo.dev/v1",
        "kind": "Website",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {},
        "status": {"dropped": true},
    });
    let site = handle.create(&GroupResource::new("demo.dev", "websites"), site)?;
    assert_eq!(site.pointer("/spec/replicas"), Some(&json!(1)));
    assert_eq!(
        (meta::generation(&site), site.get("status")),
        (Some(1), None)
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_deleted_definition_deletes_its_objects_and_is_no_longer_served()
-> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::builder().seed(1).build()?;
    let handle = Handle::new(sandbox.core(), "test");
    let resource = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
    handle.create(&resource, definition())?;
    wait_until_idle().await;
    let sites = GroupResource::new("demo.dev", "websites");
    let site = json!({"apiVersion": "demo.dev/v1", "kind": "Website", "metadata": {"name": "a", "namespace": "default"}});
    handle.create(&sites, site)?;
    handle.delete(
        &resource,
        None,
        "websites.demo.dev",
        &DeleteOptions::default(),
    )?;
    wait_until_idle().await;
    assert_eq!(handle.get(&resource, None, "websites.demo.dev"), None);
    assert!(handle.target(&sites, None).is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_is_emptied_and_removed() -> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::builder().seed(1).build()?;
    let handle = Handle::new(sandbox.core(), "test");
    let (namespaces, maps) = (
        GroupResource::new("", "namespaces"),
        GroupResource::new("", "configmaps"),
    );
    handle.create(
        &namespaces,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}),
    )?;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x", "finalizers": ["a.dev/b"]}});
    handle.create(&maps, map.clone())?;
    handle.delete(&namespaces, None, "x", &DeleteOptions::default())?;
    wait_until_idle().await;
    let held = handle
        .get(&namespaces, None, "x")
        .ok_or("its content holds it")?;
    assert_eq!(held.pointer("/status/phase"), Some(&json!("Terminating")));
    let refused = handle.create(&maps, map).map_err(|error| error.message);
    let expected = "configmaps \"a\" is forbidden: unable to create new content in namespace x because it is being terminated";
    assert_eq!(refused, Err(expected.into()));
    handle.update(&maps, Some("x"), "a", "", |map| {
        meta::remove(map, "finalizers")
    })?;
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    assert_eq!(handle.get(&namespaces, None, "x"), None);
    Ok(())
}

/// Waits until the controllers have nothing left to do.
async fn wait_until_idle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}
