use syn::{Path, parse_quote};

/// The path of `pilothouse` in generated code.
pub(crate) fn path(renamed: Option<&Path>) -> Path {
    renamed
        .cloned()
        .unwrap_or_else(|| parse_quote!(::pilothouse))
}
