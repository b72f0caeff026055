use std::fmt;
use std::sync::Arc;

use super::declare::Object;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// Anything: what is done with it is checked when it is evaluated.
    Dyn,
    /// The type of an expression with an error, which has been reported.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    /// A type of the server's library that has no fields.
    Library(&'static str),
    /// An object, a part of one, or an operation of a JSON patch that an expression makes.
    Patched(Arc<str>),
    /// An object of a schema.
    Object(Arc<Object>),
    /// `list`, `map`, `optional_type`, `type` and the opaque types.
    Made(Arc<Made>),
    /// A type that is not known yet.
    Variable(usize),
}

/// A type with parameters.
#[derive(Debug, PartialEq)]
pub(super) struct Made {
    pub(super) name: &'static str,
    pub(super) parameters: Vec<Type>,
    /// The number of types in it.
    size: usize,
}

/// The largest type. A variable can repeat a type many times, so that a short expression may have a huge type.
const LARGEST: usize = 4096;

pub(super) const LIST: &str = "list";
pub(super) const MAP: &str = "map";
pub(super) const OPTIONAL: &str = "optional_type";
pub(super) const TYPE: &str = "type";

impl Type {
    /// A type with parameters; [`Type::Dyn`] if it is too large.
    pub(super) fn made(name: &'static str, parameters: Vec<Type>) -> Self {
        let size = 1 + parameters.iter().map(Self::size).sum::<usize>();
        match size > LARGEST {
            true => Self::Dyn,
            false => Self::Made(Arc::new(Made {
                name,
                parameters,
                size,
            })),
        }
    }

    pub(super) fn list(item: Type) -> Self {
        Self::made(LIST, vec![item])
    }

    pub(super) fn map(key: Type, value: Type) -> Self {
        Self::made(MAP, vec![key, value])
    }

    pub(super) fn optional(value: Type) -> Self {
        Self::made(OPTIONAL, vec![value])
    }

    fn size(&self) -> usize {
        match self {
            Self::Made(made) => made.size,
            _ => 1,
        }
    }

    /// The parameters, if the type has this name.
    pub(super) fn parameters(&self, name: &str) -> Option<&[Type]> {
        match self {
            Self::Made(made) if made.name == name => Some(&made.parameters),
            _ => None,
        }
    }

    pub(super) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The value of an optional type, and whether the type was optional.
    pub(super) fn unwrap_optional(self) -> (Type, bool) {
        let inner = self.parameters(OPTIONAL).and_then(|p| p.first()).cloned();
        match inner {
            Some(inner) => (inner, true),
            None => (self, false),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::Library(name) => name,
            Self::Patched(name) => name,
            Self::Object(object) => &object.name,
            Self::Made(made) => made.name,
            Self::Variable(_) => "",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(number) => write!(f, "_var{number}"),
            Self::Made(made) if !made.parameters.is_empty() => {
                write!(f, "{}({})", made.name, joined(&made.parameters))
            }
            other => f.write_str(other.name()),
        }
    }
}

/// The types with commas between them.
pub(super) fn joined(types: &[Type]) -> String {
    let texts: Vec<String> = types.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
