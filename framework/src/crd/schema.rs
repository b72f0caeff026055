use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
    num::{
        NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32,
        NonZeroU64,
    },
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime},
};

use schemars::{JsonSchema, SchemaGenerator, json_schema};

use crate::resource::duration;

/// A type that a Kubernetes schema can describe.
///
/// Derive it for the structs and enums of a spec or status. Scalars, strings, `Option`, lists, sets, maps with string keys,
/// `serde_json::Value` (any value), paths, IP addresses and the types of k8s-openapi implement it. The types of
/// k8s-openapi, such as `PodTemplateSpec`, have the schemas that the newest Kubernetes gives them; the feature `k8s-descriptions`
/// adds its descriptions of the fields. `#[schema(with = "serde_json::Map<String, serde_json::Value>")]` makes such a field an open object, which
/// the API server does not check. For a type of another crate, write `#[schema(with = "..")]` on the field, with a type that has the same form and schemars' `JsonSchema`: for
/// `url::Url` it is `#[schema(with = "String", format = "uri")]`.
///
/// A `std::time::Duration` needs [`#[serde(with = "pilothouse::resource::duration")]`](crate::resource::duration) on its
/// field: serde's own form is not the one of Kubernetes.
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
    note = "or write `#[schema(with = \"String\")]` above the field, with a type that has the same JSON form; for `url::Url`: `#[schema(with = \"String\", format = \"uri\")]`"
)]
pub trait Schema {
    /// The type that describes this one to schemars.
    #[doc(hidden)]
    type Json: JsonSchema;

    /// Its evaluation visits all types in this one. A type that contains itself is a cycle, which the compiler reports.
    /// Kubernetes schemas have no references, so the schema of such a type would be infinite.
    #[doc(hidden)]
    const NOT_RECURSIVE: () = ();

    /// Why serde's form of the type is not one for Kubernetes; `None` if it is.
    #[doc(hidden)]
    const WRONG_FORM: Option<&'static str> = None;

    /// Whether serde writes one of its values as null.
    #[doc(hidden)]
    const IS_OPTION: bool = false;

    /// Why the type cannot be a status; `None` if it can.
    #[doc(hidden)]
    const STATUS_GAP: Option<&'static str> = None;

    /// The parts of the scale subresource in this type: 1 spec, 2 status, 4 selector.
    #[doc(hidden)]
    const SCALE: u8 = 0;

    /// Describes the type, with the types in it inlined.
    #[doc(hidden)]
    fn describe(generator: &mut SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<Self::Json>()
    }
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
impl MapKey for Rc<str> {}
impl MapKey for Cow<'static, str> {}
impl MapKey for char {}
impl MapKey for PathBuf {}
impl MapKey for IpAddr {}
impl MapKey for Ipv4Addr {}
impl MapKey for Ipv6Addr {}
impl MapKey for SocketAddr {}
impl MapKey for SocketAddrV4 {}
impl MapKey for SocketAddrV6 {}

macro_rules! plain {
    ($($ty:ty),+) => { $(impl Schema for $ty { type Json = Self; })+ };
}

plain!(
    bool, char, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64, NonZeroI8, NonZeroI16,
    NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, String, Box<str>,
    Arc<str>, PathBuf, Ipv4Addr, Ipv6Addr, serde_json::Value,
    serde_json::Map<String, serde_json::Value>, serde_json::Number
);

/// Types that serde writes as texts of no particular form.
macro_rules! texts {
    ($($ty:ty),+) => { $(impl Schema for $ty { type Json = String; })+ };
}

texts!(
    SocketAddr,
    SocketAddrV4,
    SocketAddrV6,
    Rc<str>,
    Cow<'static, str>
);

impl Schema for IpAddr {
    type Json = IpAddrJson;
}

/// Describes an IP address of one of the two versions.
#[derive(Debug)]
pub struct IpAddrJson;

impl JsonSchema for IpAddrJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("IpAddrJson")
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        // No format of Kubernetes allows both versions.
        json_schema!({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]})
    }
}

/// The type describes the form that [`resource::duration`](crate::resource::duration) writes.
impl Schema for Duration {
    type Json = DurationJson;
    const WRONG_FORM: Option<&'static str> = Some(
        "serde writes a `Duration` as `{\"secs\": .., \"nanos\": ..}`, and Kubernetes writes it as text, such as `1h30m0s`.\nWrite `#[serde(with = \"pilothouse::resource::duration\")]` above its field, and for an `Option` `#[serde(default, with = \"pilothouse::resource::duration\")]`",
    );
}

/// Describes a duration in Go's form.
#[derive(Debug)]
pub struct DurationJson;

impl JsonSchema for DurationJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("DurationJson")
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        // The format also allows negative durations and forms such as `2 days`.
        json_schema!({"type": "string", "format": "duration", "pattern": duration::PATTERN})
    }
}

impl Schema for SystemTime {
    type Json = String;
    const WRONG_FORM: Option<&'static str> = Some(
        "serde writes a `SystemTime` as seconds and nanoseconds, and Kubernetes writes a time as text.\nUse `pilothouse::k8s::apimachinery::pkg::apis::meta::v1::Time`",
    );
}

impl<T: Schema> Schema for Option<T> {
    type Json = Option<T::Json>;
    const NOT_RECURSIVE: () = T::NOT_RECURSIVE;
    const WRONG_FORM: Option<&'static str> = match T::IS_OPTION {
        true => Some(
            "JSON has one null, and Kubernetes drops it, so that `Some(None)` is read as `None`.\nUse `Option` once, or an enum with a name for each case",
        ),
        false => T::WRONG_FORM,
    };
    const IS_OPTION: bool = true;
    const SCALE: u8 = T::SCALE;
}

/// Types that serde writes as their content, or as a list of it.
macro_rules! around {
    ($($outer:ident, scale: $scale:expr, is_option: $is_option:expr;)+) => { $(
        impl<T: Schema> Schema for $outer<T> {
            type Json = $outer<T::Json>;
            const NOT_RECURSIVE: () = T::NOT_RECURSIVE;
            const WRONG_FORM: Option<&'static str> = T::WRONG_FORM;
            const IS_OPTION: bool = $is_option;
            const SCALE: u8 = $scale;
        }
    )+ };
}

// The scale subresource cannot be in a list, because no single JSON path leads there.
around! {
    Box, scale: T::SCALE, is_option: T::IS_OPTION;
    Arc, scale: T::SCALE, is_option: T::IS_OPTION;
    Rc, scale: T::SCALE, is_option: T::IS_OPTION;
    Vec, scale: 0, is_option: false;
    VecDeque, scale: 0, is_option: false;
    BTreeSet, scale: 0, is_option: false;
}

impl<T: Schema, S> Schema for HashSet<T, S> {
    type Json = BTreeSet<T::Json>;
    const NOT_RECURSIVE: () = T::NOT_RECURSIVE;
    const WRONG_FORM: Option<&'static str> = T::WRONG_FORM;
}

impl<T: Schema, const N: usize> Schema for [T; N]
where
    [T::Json; N]: JsonSchema,
{
    type Json = [T::Json; N];
    const NOT_RECURSIVE: () = T::NOT_RECURSIVE;
    const WRONG_FORM: Option<&'static str> = T::WRONG_FORM;
}

impl<K: MapKey, V: Schema> Schema for BTreeMap<K, V> {
    type Json = BTreeMap<String, V::Json>;
    const NOT_RECURSIVE: () = V::NOT_RECURSIVE;
    const WRONG_FORM: Option<&'static str> = V::WRONG_FORM;
}

impl<K: MapKey, V: Schema, S> Schema for HashMap<K, V, S> {
    type Json = BTreeMap<String, V::Json>;
    const NOT_RECURSIVE: () = V::NOT_RECURSIVE;
    const WRONG_FORM: Option<&'static str> = V::WRONG_FORM;
}
