use serde_json::{Value, json};

use super::swagger::swagger;
use super::{document, index, swagger_json, swagger_protobuf, wants_protobuf};
use crate::builtin;
use crate::registry::Registry;

fn registry() -> Registry {
    Registry::new(builtin::kinds())
}

#[test]
fn every_document_of_the_index_exists() {
    let index = index(&registry());
    for (path, entry) in index["paths"].as_object().unwrap() {
        let parts: Vec<&str> = path.split('/').collect();
        let (group, version) = match parts.as_slice() {
            ["apis", group, version] => (*group, *version),
            ["api", version] => ("", *version),
            other => panic!("{other:?}"),
        };
        assert!(document(&registry(), group, version).is_some(), "{path}");
        let address = entry["serverRelativeURL"].as_str().unwrap();
        assert!(address.starts_with(&format!("/openapi/v3/{path}?hash=")));
    }
}

#[test]
fn a_patch_says_that_fields_can_be_validated() {
    let document = document(&registry(), "apps", "v1").unwrap();
    let patch =
        &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    let mut parameters = patch["parameters"].as_array().unwrap().iter();
    assert!(parameters.any(|parameter| parameter["name"] == "fieldValidation"));
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "apps", "version": "v1", "kind": "Deployment"})
    );
}

/// What `kubectl explain` prints comes from them.
#[test]
fn fields_of_built_in_kinds_are_described_in_both_versions() {
    let v3 = document(&registry(), "apps", "v1").unwrap();
    let v2 = swagger(&registry());
    for schemas in [&v3["components"]["schemas"], &v2["definitions"]] {
        let replicas = &schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"];
        let text = replicas["description"].as_str().unwrap();
        assert!(text.starts_with("Number of desired pods."), "{text}");
        let template = &schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["template"];
        assert!(template["description"].is_string(), "{template}");
    }
    let protocol =
        &v3["components"]["schemas"]["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"];
    assert_eq!(protocol["enum"], json!(["SCTP", "TCP", "UDP"]));
    let item = &v3["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
    assert_eq!(
        item["parameters"][0]["description"],
        "name of the Deployment"
    );
}

#[test]
fn the_document_of_version_2_begins_with_its_version() {
    let text = swagger_json(&registry());
    assert!(text.starts_with(r#"{"swagger":"2.0","info":"#));
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read, swagger(&registry()));
}

#[test]
fn references_lead_to_definitions_in_both_versions() {
    let text = swagger(&registry()).to_string();
    let document = document(&registry(), "batch", "v1").unwrap();
    for (text, prefix, defined) in [
        (text, "#/definitions/", &swagger(&registry())["definitions"]),
        (
            document.to_string(),
            "#/components/schemas/",
            &document["components"]["schemas"],
        ),
    ] {
        for part in text.split(prefix).skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(defined.get(name).is_some(), "{name}");
        }
    }
}

#[test]
fn protobuf_responses_have_a_content_type_that_clients_can_parse() {
    let old = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    assert!(!wants_protobuf(old).unwrap().contains('@'));
    assert!(wants_protobuf("application/json, */*").is_none());
    let bytes = swagger_protobuf(&registry());
    // Field 1, a text of three bytes: `swagger: "2.0"`.
    assert_eq!(bytes[..5], [0x0a, 3, b'2', b'.', b'0']);
}
