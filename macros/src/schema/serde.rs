use proc_macro2::Span;
use quote::quote;
use syn::{Attribute, Expr, Lit, Meta, Token, punctuated::Punctuated, spanned::Spanned};

/// The serde attributes of a type, a variant or a field.
///
/// Malformed attributes are skipped, because serde's own derive reports them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serde {
    metas: Vec<Meta>,
}

/// A function or module by which serde reads or writes a field.
#[derive(Clone, Debug)]
pub(crate) struct Conversion {
    /// The name of serde's attribute.
    pub(crate) attribute: String,
    pub(crate) path: String,
    /// Whether it is `pilothouse::resource::duration`, whose form is known.
    pub(crate) is_duration: bool,
    pub(crate) writes: bool,
    pub(crate) reads: bool,
    pub(crate) span: Span,
}

fn is_duration(path: &str) -> bool {
    let path: String = path.chars().filter(|c| !c.is_whitespace()).collect();
    path == "resource::duration" || path.ends_with("::resource::duration")
}

/// The string of `name = "string"`.
fn text(meta: &Meta) -> Option<String> {
    match &meta.require_name_value().ok()?.value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
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

    /// The attribute with this name, for its span.
    pub(crate) fn meta(&self, name: &str) -> Option<&Meta> {
        self.find(name)
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        text(self.find(name)?)
    }

    /// The other names under which serde reads the field or variant.
    pub(crate) fn aliases(&self) -> Vec<String> {
        let named = self
            .metas
            .iter()
            .filter(|meta| meta.path().is_ident("alias"));
        named.filter_map(text).collect()
    }

    /// An attribute by which serde writes another name than it reads.
    pub(crate) fn two_names(&self) -> Option<&Meta> {
        let names = ["rename", "rename_all", "rename_all_fields"];
        let lists = self
            .metas
            .iter()
            .filter(|meta| matches!(meta, Meta::List(_)));
        lists
            .into_iter()
            .find(|meta| names.iter().any(|name| meta.path().is_ident(name)))
    }

    /// Whether serde neither reads nor writes the field or variant.
    pub(crate) fn is_skipped(&self) -> bool {
        self.has("skip") || (self.has("skip_serializing") && self.has("skip_deserializing"))
    }

    /// Whether serde reads or writes the type as another type.
    pub(crate) fn is_converted(&self) -> bool {
        ["from", "try_from", "into", "transparent"]
            .iter()
            .any(|name| self.has(name))
    }

    /// The function or module by which serde reads or writes the field; `None` if it takes the form of the type.
    pub(crate) fn conversion(&self) -> Option<Conversion> {
        ["with", "serialize_with", "deserialize_with"]
            .iter()
            .find_map(|name| {
                let path = self.string(name)?;
                Some(Conversion {
                    is_duration: *name == "with" && is_duration(&path),
                    writes: *name != "deserialize_with",
                    reads: *name != "serialize_with" || self.has("deserialize_with"),
                    path,
                    attribute: (*name).to_owned(),
                    span: self.find(name)?.span(),
                })
            })
    }

    /// The attributes for a field of the copy: of the conversions, only how serde writes the default.
    pub(crate) fn for_field(&self) -> Option<proc_macro2::TokenStream> {
        let metas: Vec<_> = self
            .metas
            .iter()
            .filter_map(|meta| {
                if meta.path().is_ident("deserialize_with") || meta.path().is_ident("bound") {
                    return None;
                }
                if meta.path().is_ident("with") {
                    let write = format!("{}::serialize", self.string("with")?);
                    return Some(quote!(serialize_with = #write));
                }
                Some(quote!(#meta))
            })
            .collect();
        (!metas.is_empty()).then(|| quote!(#[serde(#(#metas),*)]))
    }

    /// The attributes for the copy of a type. `default = ".."` becomes `default`, because the copy has its own `Default`.
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
