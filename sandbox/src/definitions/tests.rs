use serde_json::{Value, json};

use crate::api::{Handle, meta};
use crate::registry::GroupResource;
use crate::sandbox::Sandbox;

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
async fn a_definition_is_served_and_settles() -> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::builder().seed(1).build()?;
    let handle = Handle::new(sandbox.core(), "test");
    let resource = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
    handle.create(&resource, definition())?;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let version = handle.version();
    let settled = handle
        .get(&resource, None, "websites.demo.dev")
        .ok_or("it is there")?;
    assert!(
        super::conditions::is_true(&settled, "Established"),
        "{settled}"
    );
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
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
