//! The derive macros of [Pilothouse](https://docs.rs/pilothouse), a Kubernetes controller framework.
//!
//! * [`Resource`](derive@Resource) makes a struct a Kubernetes kind.
//! * [`Schema`](derive@Schema) describes the types of its spec and status to Kubernetes.
//!
//! Use them through `pilothouse`, which re-exports both beside the traits of the same names. The generated code refers to
//! that crate only: a crate that uses the derives needs `pilothouse` and `serde`, nothing else.
//!
//! ```ignore
//! use pilothouse::prelude::*;
//!
//! /// A static web site.
//! #[derive(Resource, Clone, Debug)]
//! #[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
//! pub struct Website {
//!     pub metadata: ObjectMeta,
//!     pub spec: WebsiteSpec,
//! }
//!
//! #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
//! #[serde(rename_all = "camelCase")]
//! pub struct WebsiteSpec {
//!     /// Number of pods to run.
//!     #[schema(minimum = 0, maximum = 100)]
//!     pub replicas: i32,
//! }
//! ```
//!
//! # Errors
//!
//! The derives refuse what Kubernetes would refuse later, such as a bound that no value satisfies or a field whose type has
//! no schema. Each error points at the wrong code and says what to do. `CustomResource::crd()` reports the few problems
//! that only the whole schema shows.
//!
//! # Files
//!
//! | file or folder | holds |
//! | --- | --- |
//! | `resource/` | `#[derive(Resource)]` |
//! | `schema/` | `#[derive(Schema)]` |
//! | `shape.rs` | the JSON form of a Rust type, as far as its name shows it |
//! | `stub.rs` | the impls beside an error, so that one mistake is one error |
//! | `strings.rs` | lists of strings in an attribute |
//! | `crate_path.rs` | the path of `pilothouse` in generated code |

mod crate_path;
mod resource;
mod schema;
mod shape;
mod strings;
mod stub;

/// Makes a struct with `metadata`, `spec` and `status` a Kubernetes kind.
///
/// It implements `Object`, `Resource`, `CustomResource`, `Serialize` and `Deserialize`, and `HasStatus` if there is a field
/// `status`. Derive `Clone` and `Debug` beside it. The struct has no fields for `apiVersion` and `kind`: `Serialize` writes
/// them, and `Deserialize` compares them if they are present. Unknown fields are ignored. The type of the status has to be as
/// visible as the kind: a `pub` kind has a `pub` status.
///
/// ```ignore
/// #[derive(Resource, Clone, Debug)]
/// #[resource(group = "demo.pilothouse.dev", version = "v1", namespaced, short_names("ws"))]
/// pub struct Website {
///     pub metadata: ObjectMeta,
///     pub spec: WebsiteSpec,
///     pub status: Option<WebsiteStatus>,
/// }
/// ```
///
/// | attribute | meaning | default |
/// | --- | --- | --- |
/// | `group = ".."`, `version = ".."` | API group and version | required |
/// | `namespaced` or `cluster` | scope of the kind | one of them is required |
/// | `kind = ".."` | the kind | the struct's name |
/// | `plural = ".."`, `singular = ".."` | names in URLs and for kubectl | English plural of the singular, such as `policies`, `shelves` or `indices`; the lower-case kind |
/// | `short_names("..")`, `categories("..")` | more names for kubectl | none |
/// | `label("key", "value")`, `annotation("key", "value")` | a label or an annotation of the CRD; write one attribute for each | none |
/// | `deprecated = ".."` | marks the version as deprecated; the API server sends the text to each client | not deprecated |
/// | `max_description = n` | length to which descriptions in the CRD are cut, in characters; 0 removes them | whole; cut if the CRD is too large for `kubectl apply` otherwise, and cutting suffices |
/// | `served(v1beta1::Website)` | the types of the other versions in which the API server serves the kind; this one is stored, and `From` or `TryFrom` converts to and from each | one version |
/// | `conversion = "none"` | the versions have the same fields, and the API server only changes `apiVersion`; needs no `From` | the program converts |
/// | `foreign` | another program installs the CRD: the kind has no definition here, and its types need no `Schema` | the operator defines the kind |
/// | `crate = ".."` | path of `pilothouse`, if it is renamed | `::pilothouse` |
///
/// `spec` may be missing or be an `Option`. `status` may be missing. A foreign kind may have other fields, whose names in JSON are in
/// camelCase: the field `data_source` is `dataSource`.
///
/// `#[schema(..)]` on the struct concerns the whole object: a CEL rule may use `self.metadata.name`, and a column may show
/// what a JSON path finds, for example in a list of conditions.
///
/// ```ignore
/// #[schema(rule("self.metadata.name.size() <= 40", "the name must have at most 40 characters"))]
/// #[schema(column(name = "Ready", json_path = ".status.conditions[?(@.type==\"Ready\")].status"))]
/// ```
///
/// | attribute | meaning |
/// | --- | --- |
/// | `rule("cel", "message", reason = "..", field_path = "..", message_expression = "..", optional_old_self)` | a CEL rule; `self` is the object, of whose metadata only `name` and `generateName` are visible |
/// | `column(name = "..", json_path = "..", type = "..", format = "..", priority = 1, order = 1, description = "..")` | a column of `kubectl get`, after those of the fields; its type is `string` by default |
///
/// # Several versions
///
/// The type of the stored version names the types of the others. Each of them is a kind with its own `version`, and with the same
/// group, kind, plural and scope. `From` or `TryFrom` converts in both directions; the definition of the stored type has all versions.
///
/// ```ignore
/// #[derive(Resource, Clone, Debug)]
/// #[resource(group = "demo.pilothouse.dev", version = "v1", namespaced, served(v1beta1::Website))]
/// pub struct Website { .. }
///
/// impl From<v1beta1::Website> for Website { .. }
/// impl From<Website> for v1beta1::Website { .. }
/// ```
///
/// # Views
///
/// A view is a struct with `metadata` and a part of another kind's fields, of any types that can read them. Reading skips
/// all other fields. A cache of views needs less memory than a cache of whole objects.
///
/// ```ignore
/// #[derive(Resource, Deserialize, Serialize, Clone, Debug)]
/// #[resource(view_of = Pod)]
/// pub struct PodOnNode {
///     pub metadata: ObjectMeta,
///     pub spec: OnNode,
/// }
///
/// #[derive(Deserialize, Serialize, Clone, Debug)]
/// #[serde(rename_all = "camelCase")]
/// pub struct OnNode {
///     pub node_name: Option<String>,
/// }
/// ```
///
/// A view is a resource of the same kind, with two differences: the client refuses to `create` and `replace` it, because
/// the fields that it leaves out would be lost, and it has no definition of its own. Derive `Serialize` and `Deserialize`
/// beside it. The only other attribute of a view is `crate = ".."`.
#[proc_macro_derive(Resource, attributes(resource, schema))]
pub fn resource(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    run(input, resource::expand, stub::resource)
}

/// Describes a struct or enum of a spec or status to Kubernetes.
///
/// The derive reads names, defaults and tags from serde's attributes, and descriptions from doc comments. Write everything
/// else into `#[schema(..)]`:
///
/// | attribute | on | meaning |
/// | --- | --- | --- |
/// | `minimum`, `maximum`, `exclusive_minimum`, `exclusive_maximum`, `multiple_of` | numbers | bounds |
/// | `min_length`, `max_length`, `pattern`, `format` | strings | bounds |
/// | `values("a", "b")` | strings | the only allowed values |
/// | `min_items`, `max_items`, `unique_items` | lists | bounds; unique scalars |
/// | `list_type = "map"`, `"set"` or `"atomic"`, `list_map_keys("name")` | lists | how field managers share the list |
/// | `items(..)` | lists | what holds for each item: bounds, rules and extensions of this table, such as `items(max_length = 63, pattern = "^[a-z]+$")` |
/// | `additional_properties(..)` | maps | the same for each value of a map |
/// | `min_properties`, `max_properties`, `map_type = "atomic"` | maps | bounds; one field manager owns all keys |
/// | `rule("cel", "message", reason = "..", field_path = "..", message_expression = "..", optional_old_self)` | fields and types | a CEL rule; the message is shown if the expression of a message fails |
/// | `immutable` | fields and types | a value that is set once. On a field: it can be neither changed nor removed later, unless the object around it is removed. On a type: it cannot be changed. In a list it needs `list_type = "map"` |
/// | `column = "Ready"` or `column(name = "Ready", type = "..", format = "..", priority = 1, order = 1, description = "..")` | scalars | a column of `kubectl get`. A column of a time shows its age; with `type = "string"` it shows the time, also one in the future. Columns are in the order of the fields; those with an `order` below 0 come first, those above 0 last |
/// | `selectable` | strings, integers, booleans | a field that field selectors can name: `kubectl get --field-selector spec.class=a`; at most 8 |
/// | `scale = "spec"`, `"status"` or `"selector"` | scalars | the field that `kubectl scale` reads and writes |
/// | `preserve_unknown_fields`, `embedded_resource`, `int_or_string`, `nullable` | fields | the Kubernetes extension of this name |
/// | `example = ..` | fields | an example |
/// | `with = "Type"` | fields | describes the field as `Type`, a type with schemars' `JsonSchema` |
/// | `crate = ".."` | types | path of `pilothouse`, if it is renamed |
///
/// A type may have type parameters: `PoolSpec<T>` has a schema for each `T` that has one. Parameters that occur only in
/// fields with `with`, or that serde skips, need none.
///
/// An enum of plain names, and a struct around a `String`, can be the keys of a map.
///
/// `#[serde(alias = "..")]` is the older name of a field: the schema has both names, and an object one of them. Such a field
/// has no default in the schema.
///
/// serde writes a `std::time::Duration` as `{"secs": .., "nanos": ..}`. Such a field does not compile without
/// `#[serde(with = "pilothouse::resource::duration")]`, which writes it as Kubernetes does: `1h30m0s`.
#[proc_macro_derive(Schema, attributes(schema, schemars, serde))]
pub fn schema(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    run(input, schema::expand, stub::schema)
}

fn run(
    input: proc_macro::TokenStream,
    expand: fn(&syn::DeriveInput) -> darling::Result<proc_macro2::TokenStream>,
    stub: fn(&syn::DeriveInput) -> proc_macro2::TokenStream,
) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    let tokens = expand(&input).unwrap_or_else(|errors| {
        let stub = stub(&input);
        let errors = errors.write_errors();
        quote::quote!(#errors #stub)
    });
    tokens.into()
}
