//! Kinds that another program defines.

use pilothouse::resource::{ObjectMeta, Resource as _};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[test]
fn a_foreign_kind_has_no_definition_and_needs_no_schema() {
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(group = "cert-manager.io", version = "v1", namespaced, foreign)]
    struct Certificate {
        metadata: ObjectMeta,
        spec: CertificateSpec,
    }

    #[derive(Clone, Debug, Deserialize, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct CertificateSpec {
        secret_name: String,
    }

    assert!(Certificate::definition().is_none());
    let text = json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "a"}, "spec": {"secretName": "b"}});
    let certificate: Certificate = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(certificate.spec.secret_name, "b");
    assert_eq!(serde_json::to_value(&certificate).unwrap(), text);
}

#[test]
fn a_foreign_kind_may_have_other_fields_than_spec_and_status() {
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(
        group = "snapshot.storage.k8s.io",
        version = "v1",
        plural = "volumesnapshotclasses",
        cluster,
        foreign
    )]
    struct VolumeSnapshotClass {
        metadata: ObjectMeta,
        driver: String,
        deletion_policy: Option<String>,
        parameters: Option<std::collections::BTreeMap<String, String>>,
    }

    let text = json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass", "metadata": {"name": "a"}, "driver": "b", "deletionPolicy": "Retain"});
    let class: VolumeSnapshotClass = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(class.driver, "b");
    assert_eq!(class.deletion_policy.as_deref(), Some("Retain"));
    assert_eq!(class.parameters, None);
    assert_eq!(serde_json::to_value(&class).unwrap(), text);
    let without = json!({"metadata": {}, "deletionPolicy": "Retain"});
    let error = serde_json::from_value::<VolumeSnapshotClass>(without).unwrap_err();
    assert!(error.to_string().starts_with("driver: "), "{error}");
    let twice = r#"{"driver": "a", "driver": "b"}"#;
    let error = serde_json::from_str::<VolumeSnapshotClass>(twice).unwrap_err();
    assert!(
        error.to_string().contains("duplicate field `driver`"),
        "{error}"
    );
}
