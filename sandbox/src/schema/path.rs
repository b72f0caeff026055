use std::fmt;

/// A path in an object or in a schema. It lives on the stack and is formatted only for an error.
#[derive(Clone, Copy)]
pub(crate) enum FieldPath<'a> {
    /// The object itself.
    Root,
    /// A path that the caller gave as text.
    Base(&'a str),
    /// A field.
    Child(&'a FieldPath<'a>, &'a str),
    /// An entry of a map.
    Key(&'a FieldPath<'a>, &'a str),
    /// An item of a list.
    Index(&'a FieldPath<'a>, usize),
}

impl FieldPath<'_> {
    pub(crate) fn child<'b>(&'b self, name: &'b str) -> FieldPath<'b> {
        FieldPath::Child(self, name)
    }

    pub(crate) fn key<'b>(&'b self, key: &'b str) -> FieldPath<'b> {
        FieldPath::Key(self, key)
    }

    pub(crate) fn index(&self, index: usize) -> FieldPath<'_> {
        FieldPath::Index(self, index)
    }

    pub(crate) fn is_root(&self) -> bool {
        match self {
            Self::Root => true,
            Self::Base(text) => text.is_empty(),
            _ => false,
        }
    }

    /// Like `Display`, but the root is the empty text instead of `<nil>`.
    pub(crate) fn bare(&self) -> String {
        if self.is_root() {
            String::new()
        } else {
            self.to_string()
        }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("<nil>"),
            Self::Base(text) => f.write_str(text),
            Self::Child(parent, name) if parent.is_root() => f.write_str(name),
            Self::Child(parent, name) => write!(f, "{parent}.{name}"),
            Self::Key(parent, key) if parent.is_root() => write!(f, "[{key}]"),
            Self::Key(parent, key) => write!(f, "{parent}[{key}]"),
            Self::Index(parent, index) if parent.is_root() => write!(f, "[{index}]"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
