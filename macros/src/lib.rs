//! The derives of `pilothouse`: `Resource` for the struct that is a kind, `Schema` for the types
//! its spec and status are made of.
//!
//! Use them through `pilothouse`, which documents their attributes; the code they write names
//! nothing but that crate.

mod krate;
mod resource;
mod schema;
mod shape;
mod strings;

/// Makes a struct with `metadata`, `spec` and `status` a Kubernetes kind.
///
/// It writes `Object`, `Resource`, `CustomResource`, `Serialize` and `Deserialize`; derive `Clone`
/// and `Debug` beside it. `apiVersion` and `kind` stand in no field: they are written, and on
/// reading they are compared where present. Unknown fields are ignored.
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
/// | `namespaced` or `cluster` | where objects live | one is required |
/// | `kind = ".."` | the kind | the struct's name |
/// | `plural = ".."`, `singular = ".."` | names in URLs and for kubectl | the lower-cased kind |
/// | `short_names("..")`, `categories("..")` | more names for kubectl | none |
/// | `max_description = n` | longest description in the CRD, in characters; 0 drops them all | unlimited |
/// | `crate = ".."` | path of `pilothouse`, where it is renamed | `::pilothouse` |
///
/// `spec` may be left out or be an `Option`; `status` may be left out.
///
/// # Views
///
/// A cache of a large kind of which little is needed holds views of it: a struct with `metadata` and
/// the fields that are wanted, of any types that read them. Reading steps over everything else.
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
/// It is the kind in every respect, but that its client refuses to `create` and `replace`: what
/// the view leaves out would be lost. It has no definition of its own; `Serialize` and `Deserialize` are derived
/// beside it. `crate = ".."` is the only other attribute.
#[proc_macro_derive(Resource, attributes(resource))]
pub fn resource(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    run(input, resource::expand)
}

/// Describes a struct or enum of a spec or status to Kubernetes.
///
/// Names, defaults and tags are read from serde's attributes, descriptions from doc comments.
/// What serde does not know stands in `#[schema(..)]`:
///
/// | attribute | on | meaning |
/// | --- | --- | --- |
/// | `minimum`, `maximum`, `exclusive_minimum`, `exclusive_maximum`, `multiple_of` | numbers | bounds |
/// | `min_length`, `max_length`, `pattern`, `format` | strings | bounds |
/// | `values("a", "b")` | strings | the only values |
/// | `min_items`, `max_items`, `unique_items` | lists | bounds; unique scalars |
/// | `list_type = "map"`, `"set"` or `"atomic"`, `list_map_keys("name")` | lists | how appliers share the list |
/// | `min_properties`, `max_properties`, `map_type = "atomic"` | maps | bounds; one owner for all keys |
/// | `rule("cel", "message", reason = "..", field_path = "..", optional_old_self)` | fields and types | a CEL rule |
/// | `column = "Ready"` or `column(name = "Ready", type = "..", format = "..", priority = 1, description = "..")` | scalars | a column of `kubectl get` |
/// | `scale = "spec"`, `"status"` or `"selector"` | scalars | what `kubectl scale` reads and writes |
/// | `preserve_unknown_fields`, `embedded_resource`, `int_or_string`, `nullable` | fields | as Kubernetes defines them |
/// | `example = ..` | fields | an example |
/// | `with = "Type"` | fields | described as another type is |
/// | `crate = ".."` | types | path of `pilothouse`, where it is renamed |
#[proc_macro_derive(Schema, attributes(schema, schemars, serde))]
pub fn schema(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    run(input, schema::expand)
}

fn run(
    input: proc_macro::TokenStream,
    expand: fn(syn::DeriveInput) -> darling::Result<proc_macro2::TokenStream>,
) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand(input)
        .unwrap_or_else(darling::Error::write_errors)
        .into()
}
