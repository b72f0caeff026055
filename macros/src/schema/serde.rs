use quote::quote;
use syn::{Attribute, Expr, Lit, Meta, Token, punctuated::Punctuated};

/// What serde was told about a type, variant or field, as far as it matters here.
///
/// serde's own derive reports what is wrong in it; here such parts are passed over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serde {
    metas: Vec<Meta>,
}

impl Serde {
    pub(crate) fn of(attributes: &[Attribute]) -> Self {
        let metas = attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("serde"))
            .filter_map(|attribute| {
                attribute
                    .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                    .ok()
            })
            .flatten()
            .collect();
        Self { metas }
    }

    fn find(&self, name: &str) -> Option<&Meta> {
        self.metas.iter().find(|meta| meta.path().is_ident(name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The meta itself, for its span.
    pub(crate) fn meta(&self, name: &str) -> Option<&Meta> {
        self.find(name)
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        match &self.find(name)?.require_name_value().ok()?.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Never on the wire, in either direction.
    pub(crate) fn is_skipped(&self) -> bool {
        self.has("skip") || (self.has("skip_serializing") && self.has("skip_deserializing"))
    }

    /// A type that serde reads or writes as another one.
    pub(crate) fn is_converted(&self) -> bool {
        ["from", "try_from", "into", "transparent"]
            .iter()
            .any(|name| self.has(name))
    }

    /// The attribute again, `default = ".."` of a type as plain `default`.
    pub(crate) fn for_copy(&self) -> Option<proc_macro2::TokenStream> {
        if self.metas.is_empty() {
            return None;
        }
        let metas = self.metas.iter().map(|meta| {
            if meta.path().is_ident("default") {
                quote!(default)
            } else {
                quote!(#meta)
            }
        });
        Some(quote!(#[serde(#(#metas),*)]))
    }
}
