//! The hint of a refused request names the RBAC rule, and the role that it belongs into.

use std::sync::Arc;

use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::{
    client::{AccessGuard, Api, Body, Client, Patch, PatchParams},
    resource::AccessRule,
};

/// A client whose patches the API server's authorizer refuses.
fn refused() -> Client {
    let message = "configmaps \"a\" is forbidden: User \"op\" cannot patch resource \"configmaps\" in API group \"\" \
                   in the namespace \"shop\"";
    Client::from_service(tower::service_fn(move |_: Request<Body>| async move {
        let status =
            json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": message});
        Response::builder().status(403).body(status.to_string())
    }))
}

async fn hint(client: &Client, patch: Patch) -> String {
    let maps = Api::<ConfigMap>::namespaced(client, "shop");
    let refused = maps.patch("a", &PatchParams::apply("me"), &patch).await;
    refused.unwrap_err().hint().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_hint_names_a_role_or_a_cluster_role_by_the_namespaces_of_the_program() {
    let client = refused();
    let guarded = |namespaces: Option<Vec<String>>| {
        let patches = AccessRule::of::<ConfigMap>(["create", "patch"]);
        client.guarded(Arc::new(AccessGuard::new(&patches.into(), namespaces)))
    };
    let rule =
        "with apiGroups: [\"\"], resources: [\"configmaps\"], verbs: [\"create\", \"patch\"]";
    for (client, role) in [
        (client.clone(), "a Role in shop"),
        (client.in_all_namespaces(), "a ClusterRole"),
        (guarded(None), "a ClusterRole"),
        (guarded(Some(vec!["shop".into()])), "a Role in shop"),
    ] {
        let apply = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap"}));
        assert_eq!(
            hint(&client, apply).await,
            format!("bind op to {role} {rule}")
        );
    }
    let merged = hint(&client, Patch::Merge(json!({}))).await;
    assert!(merged.ends_with("verbs: [\"patch\"]"), "{merged}");
}
