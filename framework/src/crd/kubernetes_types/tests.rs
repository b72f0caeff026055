//! Builds the definition of a kind whose spec is each type in turn, and lets the sandbox check it as an API server does.

use pilothouse_sandbox::internals::schema::Schema as ServerSchema;
use serde_json::{Value, json};

use super::{described, every};
use crate::{
    crd::{Declaration, Describe, Schema, custom_resource::build, to_json},
    k8s::{
        ByteString,
        api::core::v1::ConfigMap,
        apimachinery::pkg::{api::resource::Quantity, util::intstr::IntOrString},
    },
    resource::ApiResource,
};

/// The schema of a spec in its definition.
fn spec(describe: Describe) -> Result<Value, String> {
    let declaration = Declaration {
        singular: "thing",
        short_names: &[],
        categories: &[],
        labels: &[],
        annotations: &[],
        deprecated: None,
        description: "",
        max_description: Some(0),
        spec: Some(describe),
        spec_required: false,
        status: None,
        marks: || schemars::json_schema!({}),
    };
    let built = build(&ApiResource::of::<ConfigMap>(), &declaration);
    let (crd, _) = built.map_err(|error| error.to_string())?;
    let crd = to_json(&crd);
    Ok(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
}

fn property(describe: Describe, path: &str) -> Value {
    let schema = spec(describe).unwrap();
    schema
        .pointer(&format!("/properties/spec{path}"))
        .cloned()
        .unwrap_or_else(|| panic!("{path} in {schema:#}"))
}

fn all() -> Vec<(&'static str, Describe)> {
    let mut all = every::since_1_33();
    k8s_openapi::k8s_if_ge_1_34! { all.extend(every::since_1_34()); }
    k8s_openapi::k8s_if_ge_1_35! { all.extend(every::since_1_35()); }
    k8s_openapi::k8s_if_ge_1_36! { all.extend(every::since_1_36()); }
    k8s_openapi::k8s_if_ge_1_37! { all.extend(every::since_1_37()); }
    all.extend(described::all());
    all
}

#[test]
fn an_api_server_accepts_the_schema_of_every_kubernetes_type() {
    let all = all();
    assert!(all.len() > 700, "{}", all.len());
    let mut problems = Vec::new();
    for (name, describe) in all {
        match spec(describe) {
            Err(problem) => problems.push(format!("{name}: {problem}")),
            Ok(schema) => {
                let refused = ServerSchema::from_json(&schema).err().into_iter().flatten();
                problems.extend(refused.map(|error| format!("{name}: {error}")));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn bytes_and_quantities_have_their_form() {
    let bytes = <ByteString as Schema>::describe;
    assert_eq!(
        property(bytes, ""),
        json!({"type": "string", "format": "byte"})
    );
    let port = <IntOrString as Schema>::describe;
    assert_eq!(
        property(port, ""),
        json!({"x-kubernetes-int-or-string": true})
    );
    assert!(property(<Quantity as Schema>::describe, "/pattern").is_string());
}

#[cfg(feature = "k8s-schemas")]
mod whole {
    use super::*;
    use crate::k8s::{
        api::{
            autoscaling::v2::MetricSpec,
            core::v1::{
                EmptyDirVolumeSource, HTTPGetAction, Lifecycle, PersistentVolumeClaim,
                PodTemplateSpec,
            },
        },
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        apimachinery::pkg::apis::meta::v1::ObjectMeta,
    };

    #[test]
    fn the_types_in_a_template_have_their_fields() {
        let template = <PodTemplateSpec as Schema>::describe;
        let container = "/properties/spec/properties/containers/items/properties";
        let limits = format!("{container}/resources/properties/limits/additionalProperties");
        assert_eq!(
            property(template, &limits),
            property(<Quantity as Schema>::describe, "")
        );
        let port =
            format!("{container}/lifecycle/properties/preStop/properties/httpGet/properties/port");
        assert_eq!(
            property(template, &port),
            json!({"x-kubernetes-int-or-string": true})
        );
        let created = "/properties/metadata/properties/creationTimestamp";
        assert_eq!(
            property(template, created),
            json!({"type": "string", "format": "date-time"})
        );
        let fields = "/properties/metadata/properties/managedFields/items/properties/fieldsV1";
        assert_eq!(
            property(template, fields),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
        );
        for (describe, field) in [
            (<Lifecycle as Schema>::describe as Describe, "preStop"),
            (<HTTPGetAction as Schema>::describe, "path"),
            (<MetricSpec as Schema>::describe, "resource"),
            (<EmptyDirVolumeSource as Schema>::describe, "sizeLimit"),
            (<ObjectMeta as Schema>::describe, "labels"),
            (<PersistentVolumeClaim as Schema>::describe, "spec"),
        ] {
            property(describe, &format!("/properties/{field}"));
        }
    }

    /// k8s-openapi demands `metadata`, which the template of a claim in a StatefulSet does not have.
    #[test]
    fn an_object_without_metadata_passes() {
        let claim = property(<PersistentVolumeClaim as Schema>::describe, "");
        assert_eq!(claim.get("required"), None);
    }

    #[test]
    fn a_schema_in_a_schema_is_an_open_object() {
        let schema = "/properties/spec/properties/versions/items/properties/schema/properties/openAPIV3Schema";
        assert_eq!(
            property(<CustomResourceDefinition as Schema>::describe, schema),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
        );
    }
}
