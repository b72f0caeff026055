//! Unusual forms of types and attributes, and the hygiene of the generated code.

/// The crate under another name.
mod inner {
    pub(crate) use ::pilothouse as captain;
}

use pilothouse::crd::{CustomResource, to_json};
use pilothouse::resource::{ObjectMeta, Resource as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn schema_of<K: CustomResource>() -> Value {
    to_json(&K::crd().unwrap())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        .clone()
}

/// A module in which the user has shadowed names of the standard library.
mod shadowed {
    #![allow(dead_code, non_camel_case_types)]

    use super::{Deserialize, Serialize};

    struct Option;
    struct Result;
    struct String;
    struct Vec;
    struct Default;
    mod core {}
    mod std {}
    mod serde {}
    mod schemars {}
    mod pilothouse {}

    #[derive(::pilothouse::Resource, Clone, Debug)]
    #[resource(group = "demo.example.com", version = "v1", cluster)]
    pub(super) struct Hygienic {
        metadata: ::pilothouse::resource::ObjectMeta,
        spec: HygienicSpec,
        status: ::core::option::Option<HygienicSpec>,
    }

    #[derive(::pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
    #[serde(default = "anything")]
    pub(super) struct HygienicSpec {
        #[schema(minimum = 1, rule("self > 0", "positive"))]
        number: i32,
    }

    fn anything() -> HygienicSpec {
        HygienicSpec { number: 7 }
    }
}

#[test]
fn generated_code_works_where_the_user_shadows_standard_names() {
    let schema = schema_of::<shadowed::Hygienic>();
    assert_eq!(schema["spec"]["properties"]["number"]["default"], 7);
}

#[test]
fn the_crate_may_be_renamed() {
    use inner::captain;

    #[derive(captain::Resource, Clone, Debug)]
    #[resource(
        group = "demo.example.com",
        version = "v1",
        cluster,
        crate = "inner::captain"
    )]
    struct Renamed {
        metadata: ObjectMeta,
        spec: RenamedSpec,
    }

    #[derive(captain::Schema, Clone, Debug, Deserialize, Serialize)]
    #[schema(crate = "inner::captain")]
    struct RenamedSpec {
        name: String,
    }

    assert_eq!(schema_of::<Renamed>()["spec"]["required"], json!(["name"]));
}

#[test]
fn a_kind_may_have_no_spec() {
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(group = "demo.example.com", version = "v1", namespaced)]
    struct Marker {
        metadata: ObjectMeta,
    }

    assert_eq!(schema_of::<Marker>().get("spec"), None);
    let marker: Marker =
        serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": {"x": 1}})).unwrap();
    assert_eq!(
        serde_json::to_value(&marker).unwrap(),
        json!({"apiVersion": "demo.example.com/v1", "kind": "Marker", "metadata": {"name": "a"}})
    );
    assert_eq!(Marker::PLURAL, "markers");
}

#[test]
fn a_spec_may_be_optional() {
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(group = "demo.example.com", version = "v1", namespaced)]
    struct Optional {
        metadata: ObjectMeta,
        spec: Option<OptionalSpec>,
    }

    #[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
    struct OptionalSpec {
        name: String,
    }

    let crd = to_json(&Optional::crd().unwrap());
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema.get("required"), None);
    let without: Optional = serde_json::from_value(json!({"metadata": {}})).unwrap();
    assert!(without.spec.is_none());
}

#[derive(pilothouse::Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Forms {
    metadata: ObjectMeta,
    spec: FormsSpec,
}

#[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
struct FormsSpec {
    /// First line
    /// and second.
    ///
    /// A paragraph.
    documented: String,
    #[serde(rename = "odd.name")]
    #[schema(column = "Odd")]
    renamed: bool,
    port: Port,
    level: Option<Level>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    maybe: Option<String>,
    #[serde(skip)]
    #[allow(dead_code)]
    hidden: std::marker::PhantomData<()>,
    #[schema(values("a", "b"), example = "a")]
    one_of: String,
    #[schema(map_type = "atomic", max_properties = 3)]
    labels: std::collections::BTreeMap<String, String>,
    #[schema(list_type = "atomic", max_items = 2)]
    atomic: Vec<i64>,
    #[schema(int_or_string)]
    either: Option<String>,
    boxed: Box<Level>,
    #[schema(preserve_unknown_fields)]
    open: Open,
    time: Option<pilothouse::k8s::apimachinery::pkg::apis::meta::v1::Time>,
}

#[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
struct Port(#[schema(minimum = 1)] u16);

#[derive(pilothouse::Schema, Clone, Debug, Default, Deserialize, Serialize)]
struct Open {}

#[derive(pilothouse::Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Level {
    #[default]
    Low,
    High,
}

#[test]
fn each_form_is_described_as_serde_serializes_it() {
    let spec = &schema_of::<Forms>()["spec"];
    for (name, expected) in [
        (
            "documented",
            json!({"type": "string", "description": "First line\nand second.\n\nA paragraph."}),
        ),
        ("odd.name", json!({"type": "boolean"})),
        (
            "port",
            json!({"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535}),
        ),
        ("level", json!({"type": "string", "enum": ["LOW", "HIGH"]})),
        ("maybe", json!({"type": "string"})),
        (
            "one_of",
            json!({"type": "string", "enum": ["a", "b"], "example": "a"}),
        ),
        (
            "labels",
            json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3, "x-kubernetes-map-type": "atomic"}),
        ),
        (
            "atomic",
            json!({"type": "array", "items": {"type": "integer", "format": "int64"}, "maxItems": 2, "x-kubernetes-list-type": "atomic"}),
        ),
        ("either", json!({"x-kubernetes-int-or-string": true})),
        ("boxed", json!({"type": "string", "enum": ["LOW", "HIGH"]})),
        (
            "open",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        ),
        ("time", json!({"type": "string", "format": "date-time"})),
    ] {
        assert_eq!(spec["properties"][name], expected, "{name}");
    }
    assert_eq!(spec["properties"].get("hidden"), None);
    assert_eq!(
        spec["required"],
        json!([
            "documented",
            "odd.name",
            "port",
            "one_of",
            "labels",
            "atomic",
            "boxed",
            "open"
        ])
    );
}

#[test]
fn a_column_of_a_field_with_special_characters_has_a_quoted_path() {
    let columns = to_json(&Forms::crd().unwrap());
    let column = &columns["spec"]["versions"][0]["additionalPrinterColumns"][0];
    assert_eq!(column["jsonPath"], r".spec['odd\.name']");
}

#[test]
fn rules_of_the_field_of_its_type_and_of_a_flattened_type_all_hold() {
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(group = "demo.example.com", version = "v1", namespaced)]
    struct Ruled {
        metadata: ObjectMeta,
        spec: RuledSpec,
    }
    #[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
    #[schema(rule("self.a > 1", "on the spec"))]
    struct RuledSpec {
        #[schema(rule("self.b > 1", "on the field"))]
        inner: Option<RuledInner>,
        a: i32,
        #[serde(flatten)]
        flat: RuledFlat,
    }
    #[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
    #[schema(rule("self.b > 0", "on the type"))]
    struct RuledInner {
        b: i32,
    }
    #[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
    #[schema(rule("self.c > 0", "on the flattened type"))]
    struct RuledFlat {
        c: i32,
    }

    let spec = &schema_of::<Ruled>()["spec"];
    let messages = |schema: &Value| -> Vec<String> {
        let rules = schema["x-kubernetes-validations"].as_array().unwrap();
        rules
            .iter()
            .map(|rule| rule["message"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(messages(spec), ["on the flattened type", "on the spec"]);
    assert_eq!(
        messages(&spec["properties"]["inner"]),
        ["on the field", "on the type"]
    );
}

#[test]
fn renamed_and_raw_names_and_skipped_fields_are_described_as_serde_serializes_them() {
    /// Says "quoted", `code` and a \\ too.
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(group = "demo.example.com", version = "v1", namespaced)]
    struct Named {
        metadata: ObjectMeta,
        spec: nested::NamedSpec,
        status: Option<nested::NamedStatus>,
    }

    mod nested {
        use super::{Deserialize, Serialize};

        #[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct NamedSpec {
            #[schema(values("a", "b"), column = "Type")]
            r#type: String,
            #[serde(alias = "oldName")]
            new_name: i32,
            #[schema(min_items = 1)]
            maybe_many: Option<Vec<deeper::Item>>,
            #[cfg(any())]
            absent: NoSuchType,
            #[cfg(test)]
            present: bool,
            #[serde(skip_serializing)]
            pub(super) only_read: String,
            #[serde(flatten)]
            flat: deeper::Flat,
        }

        #[derive(pilothouse::Schema, Clone, Debug, Default, Deserialize, Serialize)]
        #[serde(default)]
        pub(super) struct NamedStatus {
            r#in: String,
        }

        mod deeper {
            use super::{Deserialize, Serialize};

            #[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
            pub(in super::super) struct Flat {
                r#match: Option<String>,
            }

            #[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
            #[serde(tag = "kind", rename_all = "lowercase")]
            pub(in super::super) enum Item {
                One { r#ref: String },
                Two { r#ref: String },
            }
        }
    }

    let schema = schema_of::<Named>();
    let spec = &schema["spec"];
    let names: Vec<&String> = spec["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "match",
            "maybeMany",
            "newName",
            "onlyRead",
            "present",
            "type"
        ]
    );
    assert_eq!(spec["properties"]["type"]["enum"], json!(["a", "b"]));
    assert_eq!(spec["properties"]["maybeMany"]["minItems"], 1);
    let item = &spec["properties"]["maybeMany"]["items"]["properties"];
    assert_eq!(item["kind"]["enum"], json!(["one", "two"]));
    assert_eq!(item["ref"]["type"], "string");
    assert_eq!(schema["status"]["properties"]["in"]["type"], "string");
    let crd = to_json(&Named::crd().unwrap());
    let version = &crd["spec"]["versions"][0];
    assert_eq!(
        version["additionalPrinterColumns"][0]["jsonPath"],
        ".spec.type"
    );
    assert_eq!(
        version["schema"]["openAPIV3Schema"]["description"],
        r#"Says "quoted", `code` and a \\ too."#
    );
    let named: Named = serde_json::from_value(json!({
        "metadata": {}, "spec": {"type": "a", "oldName": 1, "present": true, "onlyRead": "", "match": "x"}
    }))
    .unwrap();
    assert_eq!(named.spec.only_read, "");
    assert_eq!(serde_json::to_value(&named).unwrap()["spec"]["match"], "x");
}
