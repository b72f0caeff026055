use darling::{Error, FromMeta, Result, ast::NestedMeta};
use proc_macro2::Span;
use syn::{Lit, Meta, Path};

/// The types of the other versions of a kind: `served(v1alpha1::Website)`.
#[derive(Clone, Debug)]
pub(super) struct Served(pub(super) Vec<Path>);

impl FromMeta for Served {
    fn from_list(items: &[NestedMeta]) -> Result<Self> {
        let mut errors = Error::accumulator();
        let paths = items
            .iter()
            .filter_map(|item| {
                errors.handle(match item {
                    NestedMeta::Meta(Meta::Path(path)) => Ok(path.clone()),
                    other => Err(Error::custom(
                        "expected the type of another version, such as `v1alpha1::Website`",
                    )
                    .with_span(other)),
                })
            })
            .collect();
        errors.finish_with(Self(paths))
    }
}

/// `conversion = "none"`: the versions differ in `apiVersion` only.
#[derive(Clone, Debug)]
pub(super) struct Conversion {
    pub(super) span: Span,
}

impl FromMeta for Conversion {
    fn from_value(value: &Lit) -> Result<Self> {
        match value {
            Lit::Str(text) if text.value() == "none" => Ok(Self { span: text.span() }),
            other => Err(Error::custom(
                "the only value is `\"none\"`: all versions have the same fields, and no code converts them; without `conversion` the program converts with `From` or `TryFrom`",
            )
            .with_span(other)),
        }
    }
}
