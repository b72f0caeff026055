//! Which kinds a type has, and how objects change their version.

use serde::{Deserialize, Serialize};

use super::Scheme;
use crate::resource::{
    ApiResource, DynamicObject, Namespaced, Object, ObjectMeta, PartialObject, Resource,
};

/// A version of the kind `Widget`.
macro_rules! widget {
    ($name:ident, $version:literal, $field:ident: $type:ty) => {
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        struct $name {
            #[serde(default)]
            metadata: ObjectMeta,
            $field: $type,
        }

        impl Object for $name {
            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl Resource for $name {
            type Scope = Namespaced;
            const GROUP: &'static str = "demo.dev";
            const VERSION: &'static str = $version;
            const KIND: &'static str = "Widget";
            const PLURAL: &'static str = "widgets";
        }
    };
}

widget!(Old, "v1alpha1", size: String);
widget!(Middle, "v1beta1", length: u32);
widget!(New, "v1", millimetres: u32);

fn old(size: &str) -> Old {
    Old {
        metadata: ObjectMeta {
            name: Some("a".into()),
            namespace: Some("default".into()),
            ..ObjectMeta::default()
        },
        size: size.into(),
    }
}

fn to_middle(old: Old) -> Result<Middle, std::num::ParseIntError> {
    Ok(Middle {
        metadata: old.metadata,
        length: old.size.parse()?,
    })
}

fn to_new(middle: Middle) -> Result<New, String> {
    match middle.length {
        0 => Err("the length must not be 0".into()),
        length => Ok(New {
            metadata: middle.metadata,
            millimetres: length * 10,
        }),
    }
}

fn scheme() -> Scheme {
    Scheme::new()
        .with_conversion(to_middle)
        .with_conversion(to_new)
        .with_hub::<Middle>()
}

#[test]
fn a_type_has_the_kinds_for_which_it_was_registered() {
    let gadgets = |version: &str| ApiResource {
        group: "demo.dev".into(),
        version: version.to_owned().into(),
        kind: "Gadget".into(),
        plural: "gadgets".into(),
        namespaced: false,
    };
    let scheme = Scheme::new()
        .with::<Old>()
        .with_kind::<DynamicObject>(gadgets("v1"))
        .with_kind::<DynamicObject>(gadgets("v2"));
    let shown = |kinds: Vec<&ApiResource>| -> Vec<String> {
        kinds.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        shown(scheme.kinds_of::<Old>()),
        ["widgets.demo.dev/v1alpha1"]
    );
    assert_eq!(
        shown(scheme.kinds_of::<DynamicObject>()),
        ["gadgets.demo.dev/v1", "gadgets.demo.dev/v2"]
    );
    assert!(scheme.kinds_of::<New>().is_empty());
    assert!(scheme.kinds_of::<PartialObject<Old>>().is_empty());
    let found = scheme.decode("{apiVersion: demo.dev/v2, kind: Gadget, metadata: {name: a}}");
    let manifest = found.into_iter().next().unwrap().unwrap();
    assert_eq!(manifest.get::<DynamicObject>().unwrap().name(), "a");
}

#[test]
fn objects_are_converted_directly_or_by_way_of_the_hub() {
    let scheme = scheme();
    let middle: Middle = scheme.convert(old("7")).unwrap();
    assert_eq!(middle.length, 7);
    let new: New = scheme.convert(old("7")).unwrap();
    assert_eq!((new.millimetres, new.name()), (70, "a"));
    assert_eq!(scheme.convert::<New, New>(new.clone()).unwrap(), new);
    // A direct conversion comes first.
    let direct = scheme.with_conversion(|old: Old| {
        Ok::<_, String>(New {
            metadata: old.metadata,
            millimetres: 1,
        })
    });
    assert_eq!(direct.convert::<Old, New>(old("7")).unwrap().millimetres, 1);
}

#[test]
fn the_error_of_a_conversion_names_the_object_and_both_versions() {
    let text = |scheme: &Scheme, size: &str| {
        scheme
            .convert::<Old, New>(old(size))
            .unwrap_err()
            .to_string()
    };
    let scheme = scheme();
    assert_eq!(
        text(&scheme, "7m"),
        "convert Widget default/a from demo.dev/v1alpha1 to demo.dev/v1: by way of demo.dev/v1beta1: invalid digit found in string"
    );
    assert_eq!(
        text(&scheme, "0"),
        "convert Widget default/a from demo.dev/v1alpha1 to demo.dev/v1: by way of demo.dev/v1beta1: the length must not be 0"
    );
    assert_eq!(
        text(&Scheme::new().with::<Old>().with::<New>(), "7"),
        "convert Widget default/a from demo.dev/v1alpha1 to demo.dev/v1: there is no conversion between these versions: register one with `Scheme::with_conversion`"
    );
    assert_eq!(
        text(
            &Scheme::new()
                .with_conversion(to_middle)
                .with_hub::<Middle>(),
            "7"
        ),
        "convert Widget default/a from demo.dev/v1alpha1 to demo.dev/v1: there is no conversion from demo.dev/v1beta1 to demo.dev/v1, one of which is the hub: register one with `Scheme::with_conversion`"
    );
    let back = scheme.convert::<New, Old>(New::default()).unwrap_err();
    assert!(
        back.to_string()
            .contains("no conversion from demo.dev/v1 to demo.dev/v1beta1"),
        "{back}"
    );
    let error = scheme.convert::<Old, Middle>(old("7m")).unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.is::<std::num::ParseIntError>());
}

#[test]
fn a_manifest_of_any_registered_version_is_read_as_one_type() {
    let text = "
{apiVersion: demo.dev/v1alpha1, kind: Widget, metadata: {name: a}, size: '7'}
---
{apiVersion: demo.dev/v1, kind: Widget, metadata: {name: b}, millimetres: 3}
---
{apiVersion: v1, kind: Other, metadata: {name: c}}
";
    let scheme = scheme().with_other_kinds();
    let found = scheme
        .decode(text)
        .into_iter()
        .map(|one| one.unwrap().convert::<New>(&scheme));
    let found: Vec<_> = found
        .map(|one| {
            one.map(|new| new.millimetres)
                .map_err(|error| error.to_string())
        })
        .collect();
    assert_eq!(
        found,
        [
            Ok(70),
            Ok(3),
            Err("convert Other c from v1 to demo.dev/v1: it is of another kind than Widget in demo.dev".to_owned())
        ]
    );
}
