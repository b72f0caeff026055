use syn::{GenericArgument, PathArguments, Type};

/// The JSON form of a Rust type, as far as the name of the type shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// An integer of the Rust type `name`, between the two bounds.
    Integer {
        name: String,
        min: i128,
        max: i128,
    },
    Number,
    Boolean,
    Text,
    List(Box<Shape>),
    Set(Box<Shape>),
    Map,
    /// A type whose name does not show its form.
    Unknown,
}

impl Shape {
    /// The shape of `ty`, or of the type in it if it is an `Option`, `Box`, `Arc`, `Rc` or `Cow`.
    pub(crate) fn of(ty: &Type) -> Self {
        let ty = transparent(ty);
        let Some((name, arguments)) = named(ty) else {
            return Self::Unknown;
        };
        let first = || {
            Box::new(
                arguments
                    .first()
                    .map_or(Self::Unknown, |item| Self::of(item)),
            )
        };
        match name.as_str() {
            "i8" => integer(&name, i8::MIN, i8::MAX),
            "i16" => integer(&name, i16::MIN, i16::MAX),
            "i32" => integer(&name, i32::MIN, i32::MAX),
            "i64" | "isize" => integer(&name, i64::MIN, i64::MAX),
            "u8" => integer(&name, u8::MIN, u8::MAX),
            "u16" => integer(&name, u16::MIN, u16::MAX),
            "u32" => integer(&name, u32::MIN, u32::MAX),
            "u64" | "usize" => integer(&name, 0, i64::MAX),
            "f32" | "f64" => Self::Number,
            "bool" => Self::Boolean,
            "String" | "char" => Self::Text,
            "Vec" | "VecDeque" => Self::List(first()),
            "BTreeSet" | "HashSet" => Self::Set(first()),
            "BTreeMap" | "HashMap" | "IndexMap" => Self::Map,
            _ => Self::Unknown,
        }
    }

    /// The shape in words, for errors: "this field is …".
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Integer { .. } => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Text => "a string",
            Self::List(_) => "a list",
            Self::Set(_) => "a set",
            Self::Map => "a map",
            Self::Unknown => "of a type of its own",
        }
    }

    /// The JSON type; `None` if the name of the type does not show it.
    pub(crate) fn json_type(&self) -> Option<&'static str> {
        Some(match self {
            Self::Integer { .. } => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Text => "string",
            Self::List(_) | Self::Set(_) => "array",
            Self::Map => "object",
            Self::Unknown => return None,
        })
    }
}

fn integer(name: &str, min: impl Into<i128>, max: impl Into<i128>) -> Shape {
    Shape::Integer {
        name: name.to_owned(),
        min: min.into(),
        max: max.into(),
    }
}

/// Last segment and type arguments of a path; `None` if `ty` is not a path.
pub(crate) fn named(ty: &Type) -> Option<(String, Vec<&Type>)> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last()?;
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(list) => list
            .args
            .iter()
            .filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    Some((segment.ident.to_string(), arguments))
}

/// The `T` of an `Option<T>`; `None` for other types.
pub(crate) fn optional(ty: &Type) -> Option<&Type> {
    match named(plain(ty)) {
        Some((name, arguments)) if name == "Option" => arguments.first().copied(),
        _ => None,
    }
}

/// The type of the items of a list, or of the values of a map; `None` for other types.
pub(crate) fn values_of(ty: &Type) -> Option<&Type> {
    let (name, arguments) = named(transparent(ty))?;
    let at = match name.as_str() {
        "Vec" | "VecDeque" | "BTreeSet" | "HashSet" => 0,
        "BTreeMap" | "HashMap" | "IndexMap" => 1,
        _ => return None,
    };
    arguments.get(at).copied()
}

/// Removes the invisible groups and the parentheses that macros leave around a type.
fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => plain(&group.elem),
        Type::Paren(paren) => plain(&paren.elem),
        other => other,
    }
}

fn transparent(ty: &Type) -> &Type {
    let ty = plain(ty);
    match named(ty) {
        Some((name, arguments))
            if matches!(name.as_str(), "Option" | "Box" | "Arc" | "Rc" | "Cow")
                && arguments.len() == 1 =>
        {
            transparent(arguments[0])
        }
        _ => ty,
    }
}

/// Whether `ty` contains the type `ident`, with any arguments, or `Self`.
pub(crate) fn mentions(ty: &Type, ident: &syn::Ident) -> bool {
    let Type::Path(path) = plain(ty) else {
        return false;
    };
    let is_it = path.path.segments.len() == 1
        && path
            .path
            .segments
            .first()
            .is_some_and(|segment| segment.ident == *ident || segment.ident == "Self");
    is_it
        || named(ty).is_some_and(|(_, arguments)| {
            arguments
                .into_iter()
                .any(|argument| mentions(argument, ident))
        })
}

/// Refuses `ty` if it is, or contains, a type that no Kubernetes schema describes. The error points at that type.
pub(crate) fn refuse(ty: &Type) -> darling::Result<()> {
    let error = |text: &str| Err(darling::Error::custom(text).with_span(ty));
    match plain(ty) {
        Type::Tuple(tuple) if tuple.elems.is_empty() => {
            error("`()` has no value that Kubernetes can store: remove the field")
        }
        Type::Tuple(_) => error(
            "a tuple is a list of mixed types, which a Kubernetes schema cannot describe: write a struct with named fields",
        ),
        Type::Reference(_) => error(
            "the API server's response cannot be read into a borrowed field: use an owned type",
        ),
        Type::Array(array) => refuse(&array.elem),
        path @ Type::Path(_) => {
            let Some((name, arguments)) = named(path) else {
                return Ok(());
            };
            if matches!(name.as_str(), "i128" | "u128") {
                return error(
                    "Kubernetes integers have 64 bits: use `i64`, or `String` for longer numbers",
                );
            }
            if matches!(name.as_str(), "BTreeMap" | "HashMap" | "IndexMap")
                && let Some(key) = arguments.first()
                && !matches!(Shape::of(key), Shape::Text | Shape::Unknown)
            {
                return Err(darling::Error::custom(
                    "the keys of a Kubernetes map are strings: use `String` as the key type",
                )
                .with_span(*key));
            }
            if name == "Option"
                && arguments
                    .first()
                    .is_some_and(|inner| optional(inner).is_some())
            {
                return error(
                    "JSON has one null, and Kubernetes drops it, so that `Some(None)` is read as `None`: use `Option` once, or an enum with a name for each case",
                );
            }
            arguments.into_iter().try_for_each(refuse)
        }
        _ => Ok(()),
    }
}
