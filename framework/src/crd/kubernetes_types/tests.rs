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

/// A kind whose spec this describes.
fn declaration(describe: Describe) -> Declaration {
    Declaration {
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
    }
}

/// The schema of a spec in its definition.
fn spec(describe: Describe) -> Result<Value, String> {
    let declaration = declaration(describe);
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

/// The types of the newest version.
fn with_fields() -> Vec<every::Listed> {
    let mut all = every::since_1_33();
    k8s_openapi::k8s_if_ge_1_34! { all.extend(every::since_1_34()); }
    k8s_openapi::k8s_if_ge_1_35! { all.extend(every::since_1_35()); }
    k8s_openapi::k8s_if_ge_1_36! { all.extend(every::since_1_36()); }
    k8s_openapi::k8s_if_ge_1_37! { all.extend(every::since_1_37()); }
    all
}

fn all() -> Vec<(&'static str, Describe)> {
    let all = with_fields().into_iter();
    let mut all: Vec<_> = all.map(|one| (one.path, one.describe)).collect();
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

/// Writes or compares `schemas.txt`.
#[cfg(feature = "k8s-descriptions")]
mod written {
    use std::collections::BTreeMap;

    use super::*;

    fn remove_descriptions(schema: &mut Value) {
        let Value::Object(schema) = schema else {
            return;
        };
        schema.remove("description");
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for property in properties.into_iter().flat_map(|all| all.values_mut()) {
            remove_descriptions(property);
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get_mut(key) {
                remove_descriptions(inner);
            }
        }
    }

    #[test]
    fn the_schemas_are_those_of_the_newest_kubernetes() {
        let mut all = BTreeMap::new();
        for one in with_fields() {
            for (name, mut schema) in (one.definitions)() {
                remove_descriptions(&mut schema);
                all.insert(name, schema);
            }
        }
        let lines = all
            .iter()
            .map(|(name, schema)| format!("{name} {schema}\n"));
        let text = lines.collect::<String>();
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/crd/kubernetes_types/schemas.txt"
        );
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        let is_same = std::fs::read_to_string(file).unwrap() == text;
        assert!(
            is_same,
            "{file} is old: run this test with UPDATE_SCHEMAS=1"
        );
    }
}

mod whole {
    use std::sync::Arc;

    use pilothouse_sandbox::{Sandbox, internals::builtin};

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
    use crate::{
        client::{Api, Client, Config, Patch, PatchParams},
        crd,
        resource::DynamicObject,
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

    /// Lists whose keys are neither required nor have a default in Kubernetes, so that a definition cannot say their type.
    const NOT_IN_A_DEFINITION: [&str; 15] = [
        "DaemonSet.status.conditions",
        "DaemonSetStatus.conditions",
        "Deployment.status.conditions",
        "DeploymentStatus.conditions",
        "FlowSchema.status.conditions",
        "FlowSchemaStatus.conditions",
        "PriorityLevelConfiguration.status.conditions",
        "PriorityLevelConfigurationStatus.conditions",
        "ReplicaSet.status.conditions",
        "ReplicaSetStatus.conditions",
        "ResourceClaim.status.devices",
        "ResourceClaimStatus.devices",
        "ServiceAccount.secrets",
        "StatefulSet.status.conditions",
        "StatefulSetStatus.conditions",
    ];

    /// Compares how lists and maps are merged, in the whole depth. Returns the number of those that have a rule.
    fn same_rules(own: &Value, kubernetes: &Value, path: &str) -> usize {
        // A type in itself is an open object.
        if own["x-kubernetes-preserve-unknown-fields"] == true {
            return 0;
        }
        let mut found = 0;
        for key in [
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-map-type",
        ] {
            let is_known = NOT_IN_A_DEFINITION.iter().any(|end| path.ends_with(end));
            // Lists are atomic and maps are granular without a rule.
            let rule = |schema: &Value| match &schema[key] {
                Value::String(text) if text == "atomic" && key == "x-kubernetes-list-type" => {
                    Value::Null
                }
                Value::String(text) if text == "granular" => Value::Null,
                other => other.clone(),
            };
            if !is_known {
                assert_eq!(rule(own), rule(kubernetes), "{path}: {key}");
                found += usize::from(!rule(own).is_null());
            }
        }
        for (field, schema) in own["properties"].as_object().into_iter().flatten() {
            let other = &kubernetes["properties"][field];
            // The document of the sandbox has no alpha fields.
            if other.is_object() {
                found += same_rules(schema, other, &format!("{path}.{field}"));
            }
        }
        for (key, end) in [("items", "[]"), ("additionalProperties", "{}")] {
            if own[key].is_object() {
                found += same_rules(&own[key], &kubernetes[key], &format!("{path}{end}"));
            }
        }
        found
    }

    #[test]
    fn several_appliers_share_the_lists_of_a_type_as_they_do_in_kubernetes() {
        let mut found = 0;
        for (name, describe) in all() {
            let Some((module, ty)) = name.rsplit_once("::") else {
                continue;
            };
            let document =
                builtin::schema_json(&format!("io.k8s.{}.{ty}", module.replace("::", ".")));
            if document["properties"].is_object() {
                found += same_rules(
                    &spec(describe).unwrap()["properties"]["spec"],
                    &document,
                    ty,
                );
            }
        }
        assert!(found > 500, "{found} lists and maps have a rule");
    }

    /// Two programs apply a template without `force`: a side-car and a variable beside what the first one applies.
    #[tokio::test(start_paused = true)]
    async fn two_appliers_share_the_containers_variables_and_ports_of_a_template() {
        let kind = ApiResource {
            group: "templates.example.com".into(),
            version: "v1".into(),
            kind: "Thing".into(),
            plural: "things".into(),
            namespaced: true,
        };
        let declaration = declaration(<PodTemplateSpec as Schema>::describe);
        let (definition, _) = build(&kind, &declaration).unwrap();
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let pipes = sandbox.clone();
        let config = Config::new(http::Uri::from_static("http://sandbox"));
        let client = Client::builder(config).connector(Arc::new(move || Ok(pipes.connect())));
        let client = client.build().unwrap();
        crd::install(&client, &[definition], "tests").await.unwrap();
        let api = Api::<DynamicObject>::of(&client, kind, Some("default"));
        let apply = async |manager: &str, containers: Value| {
            let object = json!({
                "apiVersion": "templates.example.com/v1", "kind": "Thing", "metadata": {"name": "a"},
                "spec": {"spec": {"containers": containers}},
            });
            let params = PatchParams::apply(manager);
            let applied = api
                .patch("a", &params, &Patch::Apply(object))
                .await
                .unwrap();
            json!(applied)["spec"]["spec"]["containers"].take()
        };
        let web = json!({
            "name": "web", "image": "nginx", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}],
        });
        apply("operator", json!([web])).await;
        let added = json!([
            {"name": "log", "image": "fluent"},
            {"name": "web", "env": [{"name": "B", "value": "2"}], "ports": [{"containerPort": 80, "protocol": "UDP"}]},
        ]);
        apply("mesh", added).await;
        let both = apply("operator", json!([web])).await;
        let expected = json!([
            {
                "name": "web", "image": "nginx",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}],
            },
            {"name": "log", "image": "fluent"},
        ]);
        let sorted = |containers: &Value| {
            let mut all = containers.as_array().unwrap().clone();
            all.sort_by_key(|one| one["name"].to_string());
            all
        };
        assert_eq!(sorted(&both), sorted(&expected));
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
