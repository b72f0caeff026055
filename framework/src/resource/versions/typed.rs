use std::fmt::Display;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::resource::{
    ApiResource, OtherVersion, Resource, TypedConversion, TypedFailure, TypedTrip, decode_reason,
};

/// A version of a kind that can be converted to another one. Every type has it for which `From` or `TryFrom` leads to the other.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be converted to `{To}`, another version of its kind",
    label = "a conversion is missing",
    note = "write `impl From<{Self}> for {To}`; if it can fail, write `TryFrom` with an error that implements `Display`",
    note = "if all versions have the same fields, `conversion = \"none\"` beside `served` needs no conversions"
)]
pub trait ConvertsTo<To>: Sized {
    /// Converts it.
    ///
    /// # Errors
    /// The text of the error of `TryFrom`.
    fn convert_to(self) -> Result<To, String>;
}

#[diagnostic::do_not_recommend]
impl<A, B> ConvertsTo<B> for A
where
    B: TryFrom<A>,
    B::Error: Display,
{
    fn convert_to(self) -> Result<B, String> {
        B::try_from(self).map_err(|error| error.to_string())
    }
}

/// The version `Other` of the kind whose stored version is `Stored`.
pub const fn converted_version<Other, Stored>() -> OtherVersion
where
    Other: Resource + ConvertsTo<Stored>,
    Stored: Resource + ConvertsTo<Other>,
{
    OtherVersion {
        resource: ApiResource::of::<Other>(),
        definition: Other::definition,
        conversion: Some(TypedConversion {
            to_stored: trip::<Other, Stored>,
            from_stored: trip::<Stored, Other>,
        }),
    }
}

/// As [`converted_version`], for a version that differs from the stored one in nothing but `apiVersion`.
pub const fn renamed_version<Other: Resource>() -> OtherVersion {
    OtherVersion {
        resource: ApiResource::of::<Other>(),
        definition: Other::definition,
        conversion: None,
    }
}

/// Fails to compile if `Other` is not another version of the kind `Stored`.
#[track_caller]
pub const fn check_version<Other: Resource, Stored: Resource>() {
    use crate::resource::Scope;
    if !same(Other::GROUP, Stored::GROUP) {
        panic!("this version is in another group: all versions of a kind have the same `group`");
    }
    if !same(Other::KIND, Stored::KIND) {
        panic!(
            "this version is of another kind: give its type the same name, or write `kind = \"..\"` in its `#[resource(..)]`"
        );
    }
    if !same(Other::PLURAL, Stored::PLURAL) {
        panic!("this version has another plural: write the same `plural = \"..\"` in both types");
    }
    if <Other::Scope as Scope>::NAMESPACED != <Stored::Scope as Scope>::NAMESPACED {
        panic!(
            "this version has another scope: all versions of a kind are `namespaced` or all are `cluster`"
        );
    }
    if !Other::OTHER_VERSIONS.is_empty() {
        panic!(
            "this version has `served(..)` itself: only the stored version names the other ones"
        );
    }
    check_distinct::<Other, Stored>();
}

/// Fails to compile if two types have the same version.
#[track_caller]
pub const fn check_distinct<Other: Resource, Before: Resource>() {
    if same(Other::VERSION, Before::VERSION) {
        panic!("another type has the same `version`: a kind has one type for each version");
    }
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

fn trip<A: Resource + ConvertsTo<B>, B: Resource>(
    object: &Value,
) -> Result<TypedTrip, TypedFailure> {
    let before: A = read(object)?;
    let from = write(&before)?;
    let after = before.convert_to().map_err(TypedFailure::Refused)?;
    let made = write::<B>(&after)?;
    Ok(TypedTrip { from, made })
}

fn read<K: DeserializeOwned>(object: &Value) -> Result<K, TypedFailure> {
    serde_path_to_error::deserialize(object).map_err(|error| TypedFailure::Unfit {
        path: error.path().to_string(),
        reason: decode_reason(&error.inner().to_string()),
    })
}

fn write<K: Serialize>(object: &K) -> Result<Value, TypedFailure> {
    serde_json::to_value(object)
        .map_err(|error| TypedFailure::Refused(format!("it cannot be written as JSON: {error}")))
}
