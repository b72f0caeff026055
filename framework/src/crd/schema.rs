use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    rc::Rc,
    sync::Arc,
};

use schemars::JsonSchema;

/// A type that a Kubernetes schema can describe.
///
/// Derive it for the structs and enums of a spec or status. Scalars, strings, `Option`, lists, sets, maps with string keys,
/// `serde_json::Value` (any value) and the common types of k8s-openapi implement it. The large types of k8s-openapi, such
/// as `PodTemplateSpec`, are open objects unless the feature `k8s-schemas` is on. For a type of another crate that has
/// schemars' `JsonSchema`, write `#[schema(with = "ThatType")]` on the field.
///
/// A type that contains itself, directly or through other types, does not compile:
///
/// ```compile_fail,E0391
/// use pilothouse::Schema;
///
/// #[derive(Schema, serde::Serialize)]
/// struct Folder {
///     entries: Vec<Entry>,
/// }
///
/// #[derive(Schema, serde::Serialize)]
/// struct Entry {
///     folder: Option<Folder>,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no schema that describes it to Kubernetes",
    label = "no schema for this type",
    note = "add `#[derive(Schema)]` to the type if it is yours",
    note = "or write `#[schema(with = \"String\")]` above the field, with a type that has the same JSON form",
    note = "the feature `k8s-schemas` describes all types of k8s-openapi"
)]
pub trait Schema {
    /// The type that describes this one to schemars.
    #[doc(hidden)]
    type Json: JsonSchema;

    /// Its evaluation visits all types in this one. A type that contains itself is a cycle, which the compiler reports.
    /// Kubernetes schemas have no references, so the schema of such a type would be infinite.
    #[doc(hidden)]
    const NOT_RECURSIVE: () = ();

    /// Why the type cannot be a status; `None` if it can.
    #[doc(hidden)]
    const STATUS_GAP: Option<&'static str> = None;

    /// The parts of the scale subresource in this type: 1 spec, 2 status, 4 selector.
    #[doc(hidden)]
    const SCALE: u8 = 0;
}

/// A type that serde writes as a string when it is the key of a map.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a map key for Kubernetes, where keys are strings",
    note = "use `String`, or implement `pilothouse::crd::MapKey` for a type that serde writes as a string"
)]
pub trait MapKey {}

impl MapKey for String {}
impl MapKey for Box<str> {}
impl MapKey for Arc<str> {}

macro_rules! plain {
    ($($ty:ty),+) => { $(impl Schema for $ty { type Json = Self; })+ };
}

plain!(
    bool, char, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64, String, Box<str>,
    Arc<str>, std::net::IpAddr, std::net::Ipv4Addr, std::net::Ipv6Addr, serde_json::Value,
    serde_json::Map<String, serde_json::Value>, serde_json::Number
);

/// Types that serde writes as their content, or as a list of it.
macro_rules! around {
    ($($outer:ident, scale: $scale:expr;)+) => { $(
        impl<T: Schema> Schema for $outer<T> {
            type Json = $outer<T::Json>;
            const NOT_RECURSIVE: () = T::NOT_RECURSIVE;
            const SCALE: u8 = $scale;
        }
    )+ };
}

// The scale subresource cannot be in a list, because no single JSON path leads there.
around! {
    Option, scale: T::SCALE;
    Box, scale: T::SCALE;
    Arc, scale: T::SCALE;
    Rc, scale: T::SCALE;
    Vec, scale: 0;
    VecDeque, scale: 0;
    BTreeSet, scale: 0;
}

impl<T: Schema, S> Schema for HashSet<T, S> {
    type Json = BTreeSet<T::Json>;
    const NOT_RECURSIVE: () = T::NOT_RECURSIVE;
}

impl<T: Schema, const N: usize> Schema for [T; N]
where
    [T::Json; N]: JsonSchema,
{
    type Json = [T::Json; N];
    const NOT_RECURSIVE: () = T::NOT_RECURSIVE;
}

impl<K: MapKey, V: Schema> Schema for BTreeMap<K, V> {
    type Json = BTreeMap<String, V::Json>;
    const NOT_RECURSIVE: () = V::NOT_RECURSIVE;
}

impl<K: MapKey, V: Schema, S> Schema for HashMap<K, V, S> {
    type Json = BTreeMap<String, V::Json>;
    const NOT_RECURSIVE: () = V::NOT_RECURSIVE;
}
