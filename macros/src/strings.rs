use darling::{Error, FromMeta, Result, ast::NestedMeta};
use syn::{Lit, LitStr};

/// A list of strings in an attribute: `name("a", "b")`, or `name = "a"` for a single one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strings(pub(crate) Vec<LitStr>);

impl FromMeta for Strings {
    fn from_list(items: &[NestedMeta]) -> Result<Self> {
        let mut errors = Error::accumulator();
        let strings = items
            .iter()
            .filter_map(|item| errors.handle(string(item)))
            .collect();
        errors.finish_with(Self(strings))
    }

    fn from_value(value: &Lit) -> Result<Self> {
        string(&NestedMeta::Lit(value.clone())).map(|one| Self(vec![one]))
    }
}

/// The string literal that is an item of an attribute's list.
pub(crate) fn string(item: &NestedMeta) -> Result<LitStr> {
    match item {
        NestedMeta::Lit(Lit::Str(text)) => Ok(text.clone()),
        other => Err(Error::custom("expected a string literal").with_span(other)),
    }
}
