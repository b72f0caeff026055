//! Unusual forms of types and attributes, and the hygiene of the generated code.

mod foreign;
mod values;
mod variants;

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
            "oldName",
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

/// The version of the definition.
fn version_of<K: CustomResource>() -> Value {
    to_json(&K::crd().unwrap())["spec"]["versions"][0].clone()
}

#[derive(pilothouse::Resource, Clone, Debug)]
#[resource(
    group = "demo.example.com",
    version = "v1alpha1",
    namespaced,
    label("example.com/team", "web"),
    annotation("example.com/docs", "https://example.com"),
    annotation("short", ""),
    deprecated = "demo.example.com/v1alpha1 Volume is deprecated: use v1"
)]
#[schema(column(name = "First", json_path = ".metadata.labels.first", order = -1))]
struct Volume {
    metadata: ObjectMeta,
    spec: VolumeSpec,
}

#[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[schema(rule(
    "self.size > 0",
    "must be positive",
    message_expression = "self.size == 0 ? 'must not be 0' : 'must not be negative'"
))]
struct VolumeSpec {
    #[schema(immutable, selectable, column(name = "Class", order = 1))]
    storage_class: String,
    #[schema(immutable)]
    r#in: Option<String>,
    #[serde(default)]
    #[schema(immutable, column = "Size")]
    size: i32,
    #[schema(list_type = "map", list_map_keys("name"), max_items = 9)]
    parts: Vec<Part>,
    origin: Option<Origin>,
}

#[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
struct Part {
    name: String,
    #[schema(immutable, max_length = 99)]
    disk: String,
}

#[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
#[schema(immutable)]
struct Origin {
    url: String,
}

#[test]
fn an_immutable_field_can_be_neither_changed_nor_removed() {
    let schema = version_of::<Volume>()["schema"]["openAPIV3Schema"].clone();
    let server = pilothouse_sandbox::internals::schema::Schema::from_json(&schema).unwrap();
    let object = |spec: Value| json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "spec": spec});
    let old = json!({"storageClass": "a", "in": "b", "size": 1, "parts": [{"name": "x", "disk": "y"}], "origin": {"url": "z"}});
    let after = |change: fn(&mut Value)| -> String {
        let mut new = old.clone();
        change(&mut new);
        let errors = server.validate(&object(new), Some(&object(old.clone())));
        errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(after(|_| ()), "");
    for (change, expected) in [
        (
            (|spec| spec["storageClass"] = "b".into()) as fn(&mut Value),
            "spec.storageClass: Invalid value: \"b\": the value cannot be changed",
        ),
        (|spec| spec["in"] = "c".into(), "spec.in: "),
        (
            |spec| drop(spec.as_object_mut().unwrap().remove("in")),
            "in cannot be removed",
        ),
        (|spec| spec["size"] = 2.into(), "spec.size: "),
        (
            |spec| spec["parts"][0]["disk"] = "z".into(),
            "spec.parts[0].disk: ",
        ),
        (|spec| spec["origin"]["url"] = "a".into(), "spec.origin: "),
    ] {
        let errors = after(change);
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn the_attributes_of_the_definition_are_in_it() {
    let crd = to_json(&Volume::crd().unwrap());
    assert_eq!(
        crd["metadata"]["labels"],
        json!({"example.com/team": "web"})
    );
    assert_eq!(
        crd["metadata"]["annotations"],
        json!({"example.com/docs": "https://example.com", "short": ""})
    );
    let version = version_of::<Volume>();
    assert_eq!(version["deprecated"], true);
    assert_eq!(
        version["deprecationWarning"],
        "demo.example.com/v1alpha1 Volume is deprecated: use v1"
    );
    assert_eq!(
        version["selectableFields"],
        json!([{"jsonPath": ".spec.storageClass"}])
    );
    let columns = version["additionalPrinterColumns"].as_array().unwrap();
    let columns: Vec<&str> = columns
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["First", "Size", "Class", "Age"]);
    let rule =
        &version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"][0];
    assert_eq!(
        rule["messageExpression"],
        "self.size == 0 ? 'must not be 0' : 'must not be negative'"
    );
}

#[test]
fn descriptions_are_cut_only_if_the_definition_is_too_large_for_kubectl_apply() {
    use pilothouse::k8s::api::core::v1::Node;

    /// Says it.
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(group = "demo.example.com", version = "v1", namespaced)]
    struct Wordy {
        metadata: ObjectMeta,
        spec: WordySpec,
    }

    /// Fields with descriptions of 3000 characters.
    macro_rules! wordy {
        ($($name:ident)+) => {
            #[derive(pilothouse::Schema, Clone, Debug, Default, Deserialize, Serialize)]
            struct WordyPart {
                $(#[doc = include_str!("long_description.txt")] $name: Option<String>,)+
            }
        };
    }
    wordy! { a b c d e f g h i j }

    #[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
    struct WordySpec {
        one: WordyPart,
        two: WordyPart,
        three: WordyPart,
        four: WordyPart,
        five: WordyPart,
        six: WordyPart,
        seven: WordyPart,
        eight: WordyPart,
        nine: WordyPart,
        node: Option<Node>,
    }

    let crd = to_json(&Wordy::crd().unwrap());
    let size = crd.to_string().len();
    assert!((20_000..256 * 1024).contains(&size), "{size}");
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema["description"], "Says it.");
    let field = &schema["properties"]["spec"]["properties"]["one"]["properties"]["a"];
    assert_eq!(field["description"].as_str().unwrap().chars().count(), 1000);
}
