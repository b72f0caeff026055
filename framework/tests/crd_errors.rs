//! Errors that only the whole schema shows: `crd()` returns an error that names the field and says what to do.

use std::collections::BTreeMap;

use pilothouse::crd::CustomResource;
use pilothouse::resource::ObjectMeta;
use pilothouse::{Resource, Schema};
use serde::{Deserialize, Serialize};

/// The error in the definition of a kind with the given spec.
macro_rules! error_of {
    ($spec:ident) => {{
        #[derive(Resource, Clone, Debug)]
        #[resource(group = "demo.example.com", version = "v1", kind = "Thing", namespaced)]
        struct Thing {
            metadata: ObjectMeta,
            spec: $spec,
        }
        Thing::crd().unwrap_err().to_string()
    }};
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
struct Inner {
    #[schema(column = "Name")]
    name: String,
}

#[test]
fn a_column_in_a_list_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        items: Vec<Inner>,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.items[].name: a column shows one value, and a list or map has many: set the attribute on a field outside of it"
    );
}

#[test]
fn a_column_of_an_object_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        #[schema(column = "Inner")]
        inner: Empty,
    }
    #[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
    struct Empty {}
    assert!(
        error_of!(Spec).starts_with("Thing: spec.inner: a column shows one value"),
        "{}",
        error_of!(Spec)
    );
}

#[test]
fn two_columns_with_the_same_name_are_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        one: Inner,
        other: Inner,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.other.name: two columns have the name `Name`: rename one"
    );
}

#[test]
fn a_default_that_the_server_would_refuse_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        #[serde(default)]
        #[schema(min_length = 1)]
        html: String,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.html: serde's default violates the schema: it is shorter than allowed"
    );
}

#[test]
fn a_map_flattened_into_fields_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        name: String,
        #[serde(flatten)]
        rest: BTreeMap<String, i32>,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec: an object has either fields or keys of any name: move the flattened map into a field of its own"
    );
}

#[test]
fn a_type_of_another_crate_without_structural_schema_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        #[schema(with = "(u8, String)")]
        pair: (u8, String),
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.pair: Kubernetes has no schema for a list of mixed types: use a struct with named fields"
    );
}

#[test]
fn variants_with_conflicting_fields_are_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        choice: Choice,
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    #[serde(tag = "type")]
    enum Choice {
        One(One),
        Two(Two),
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct One {
        value: i32,
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Two {
        value: String,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.choice.value: two variants have a field of this name with different types: give both the same type, or rename one"
    );
}

#[test]
fn a_rule_on_the_type_of_one_variant_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        choice: Choice,
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    #[serde(tag = "type")]
    enum Choice {
        One(One),
        Two {},
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    #[schema(rule("self.value > 0", "positive"))]
    struct One {
        value: i32,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.choice: a rule on the type of one variant would apply to all variants: write it on the enum, as `!has(self.field) || …`"
    );
}

#[test]
fn an_immutable_field_in_a_list_without_keys_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        items: Vec<Fixed>,
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Fixed {
        #[schema(immutable)]
        name: String,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.items[].name: the API server does not know the old value of an item of this list: add `list_type = \"map\"` with the keys of its items to the list, or remove `immutable`"
    );
}

#[test]
fn a_selectable_field_that_no_selector_can_name_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        #[serde(rename = "the-name")]
        #[schema(selectable)]
        name: String,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.the-name: a field selector cannot name this field: use letters, digits and `_` in its name"
    );
}

#[test]
fn more_selectable_fields_than_a_server_allows_are_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        one: Three,
        two: Three,
        three: Three,
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Three {
        #[schema(selectable)]
        a: String,
        #[schema(selectable)]
        b: i32,
        #[schema(selectable)]
        c: bool,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.two.c: an API server allows at most 8 selectable fields: remove `selectable` from the others"
    );
}

#[test]
fn an_alias_of_a_field_of_one_variant_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        choice: Choice,
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    #[serde(tag = "type")]
    enum Choice {
        One {
            #[serde(alias = "old")]
            new: String,
        },
        Two {},
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.choice: a field of one variant has an alias, and the schema has the fields of all variants in one object: write a field of its own for the older name"
    );
}

/// The real API server refuses such a null also if the values of the enum include null.
#[test]
fn a_null_in_place_of_a_value_of_an_enum_is_an_error() {
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        levels: Vec<Option<Level>>,
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    enum Level {
        Low,
        High,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.levels[]: an API server refuses null in place of a value of an enum, even if the schema allows it: leave the missing ones out, or add a variant for them"
    );
}

#[test]
fn items_of_a_field_that_is_no_list_are_an_error() {
    type Name = String;
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Spec {
        #[schema(items(min_length = 1))]
        name: Name,
    }
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct Mapped {
        #[schema(additional_properties(min_length = 1))]
        name: Name,
    }
    assert_eq!(
        error_of!(Spec),
        "Thing: spec.name: `items` applies to lists, and the type of this field is no list: remove it"
    );
    assert_eq!(
        error_of!(Mapped),
        "Thing: spec.name: `additional_properties` applies to maps, and the type of this field is no map: remove it"
    );
}
