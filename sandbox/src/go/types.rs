use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::LazyLock;

use serde::Deserialize;

/// The Go type of a field, which OpenAPI does not contain.
#[derive(Debug, PartialEq)]
pub(crate) struct Field {
    /// Whether the field is written even if it is not set.
    pub(crate) always: bool,
    /// Whether a zero value differs from an absent one.
    pub(crate) pointer: bool,
    pub(crate) kind: Type,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Type {
    /// `string`, `bool`, `int32` and so on, and the Go name.
    Basic(Box<str>, Box<str>),
    /// Bytes in base64.
    Bytes,
    /// The type of the items, and the Go name of the list.
    List(Box<Type>, Box<str>),
    /// The type of the values, and the Go name of the map.
    Map(Box<Type>, Box<str>),
    /// The name of its definition.
    Struct(Box<str>),
    /// A type with a JSON form of its own: `Time`, `Quantity` and so on.
    Own(Box<str>),
}

/// The fields of a struct by their names.
pub(crate) type Fields = BTreeMap<Box<str>, Field>;

#[derive(Deserialize)]
struct Data {
    #[cfg_attr(not(test), expect(dead_code, reason = "says where the data is from"))]
    source: String,
    types: BTreeMap<String, BTreeMap<String, String>>,
}

// A constant of the build, and the tests below check it: reading it cannot fail at run time.
static DATA: LazyLock<Data> = LazyLock::new(|| {
    let packed: &[u8] = include_bytes!("../builtin/data/types.json.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("embedded types.json.gz");
    serde_json::from_str(&text).expect("embedded types")
});

static TYPES: LazyLock<BTreeMap<&str, Fields>> = LazyLock::new(|| {
    let types = DATA.types.iter();
    types
        .map(|(name, fields)| {
            let fields = fields.iter();
            let fields = fields.map(|(name, text)| (name.as_str().into(), field(text)));
            (name.as_str(), fields.collect())
        })
        .collect()
});

/// The fields of a struct, by the name of its definition.
pub(crate) fn fields(name: &str) -> Option<&'static Fields> {
    TYPES.get(name)
}

fn field(text: &str) -> Field {
    let (always, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (pointer, text) = match text.strip_prefix('*') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    Field {
        always,
        pointer,
        kind: parse(text),
    }
}

fn parse(text: &str) -> Type {
    let named = |rest: &str, close: char, usual: &str| {
        let (name, inner) = rest.split_once(close).unwrap_or(("", rest));
        let inner = parse(inner);
        let name = if name.is_empty() {
            format!("{usual}{}", inner.name())
        } else {
            name.replace('(', "[").replace(')', "]")
        };
        (Box::new(inner), name.into_boxed_str())
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (inner, name) = named(rest, ']', "[]");
        Type::List(inner, name)
    } else if let Some(rest) = text.strip_prefix('{') {
        let (inner, name) = named(rest, '}', "map[string]");
        Type::Map(inner, name)
    } else if let Some(name) = text.strip_prefix('@') {
        Type::Struct(name.into())
    } else if let Some(name) = text.strip_prefix('#') {
        Type::Own(name.into())
    } else if text == "bytes" {
        Type::Bytes
    } else {
        let (basic, name) = text.split_once('=').unwrap_or((text, text));
        Type::Basic(basic.into(), name.into())
    }
}

impl Type {
    /// The name of the type in errors: `v1.PodSpec`, `[]string`.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Basic(_, name) | Self::List(_, name) | Self::Map(_, name) => name.to_string(),
            Self::Bytes => "[]uint8".into(),
            Self::Struct(name) => package_and_name(name),
            Self::Own(name) => match &**name {
                "Quantity" => "resource.Quantity".into(),
                "IntOrString" => "intstr.IntOrString".into(),
                name => format!("v1.{name}"),
            },
        }
    }
}

/// `v1.PodSpec` for `io.k8s.api.core.v1.PodSpec`.
pub(crate) fn package_and_name(definition: &str) -> String {
    let mut parts = definition.rsplit('.');
    let (name, package) = (parts.next(), parts.next());
    format!(
        "{}.{}",
        package.unwrap_or_default(),
        name.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_of_the_same_release_as_the_definitions() {
        assert_eq!(DATA.source, crate::builtin::source());
    }

    #[test]
    fn the_types_of_every_kind_and_struct_are_known() {
        fn inner(kind: &Type) -> Option<&str> {
            match kind {
                Type::Struct(name) => Some(name),
                Type::List(inner_kind, _) | Type::Map(inner_kind, _) => inner(inner_kind),
                _ => None,
            }
        }
        for resource in crate::builtin::resources() {
            assert!(
                fields(&resource.definition).is_some(),
                "{}",
                resource.definition
            );
        }
        for fields_of in TYPES.values() {
            for name in fields_of.values().filter_map(|field| inner(&field.kind)) {
                assert!(fields(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn types_are_read_with_their_names() {
        let container = fields("io.k8s.api.core.v1.Container").unwrap();
        assert!(container["name"].always && !container["image"].always);
        assert_eq!(container["env"].kind.name(), "[]v1.EnvVar");
        assert_eq!(container["imagePullPolicy"].kind.name(), "v1.PullPolicy");
        let resources = fields("io.k8s.api.core.v1.ResourceRequirements").unwrap();
        assert_eq!(resources["limits"].kind.name(), "v1.ResourceList");
        let meta = fields("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").unwrap();
        assert_eq!(meta["labels"].kind.name(), "map[string]string");
    }
}
