use darling::{
    Error, Result,
    ast::{Data, Fields},
};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Path, spanned::Spanned};

use super::{args::Args, has_status::has_status};
use crate::shape;

/// Writes the impls of a view: a struct with a part of the kind `whole`. The user derives its serde impls.
pub(super) fn expand(args: &Args, whole: &Path) -> Result<TokenStream> {
    let mut errors = Error::accumulator();
    if !args.generics.params.is_empty() {
        errors.push(
            Error::custom("a view must not be generic: remove the parameters, and name concrete types in its fields")
                .with_span(&args.generics),
        );
    }
    for (name, span) in kind_attributes(args) {
        errors.push(
            Error::custom(format!(
                "a view takes `{name}` from its kind: remove the attribute"
            ))
            .with_span(&span),
        );
    }
    let field = |name: &str| match &args.data {
        Data::Struct(Fields { fields, .. }) => fields
            .iter()
            .find(|field| field.ident.as_ref().is_some_and(|ident| ident == name)),
        Data::Enum(_) => None,
    };
    match field("metadata") {
        None => errors.push(
            Error::custom(
                "a view must be a struct with the field `metadata`: add `pub metadata: ObjectMeta`",
            )
            .with_span(&args.ident),
        ),
        Some(field) if shape::named(&field.ty).is_none_or(|(name, _)| name != "ObjectMeta") => {
            errors.push(
                Error::custom(
                    "`metadata` must be an `ObjectMeta`: write `pub metadata: ObjectMeta`",
                )
                .with_span(&field.ty),
            );
        }
        Some(_) => {}
    }
    errors.finish()?;
    let (ident, krate) = (&args.ident, crate::crate_path::path(args.krate.as_ref()));
    let meta = quote!(#krate::resource::ObjectMeta);
    let status = field("status").map(|field| shape::optional(&field.ty).unwrap_or(&field.ty));
    let has_status = has_status(ident, &krate, status);
    // If `whole` is not a kind, the compiler's error points at it.
    let resource = quote_spanned!(whole.span()=> <#whole as #krate::resource::Resource>);
    Ok(quote! {
        #has_status
        #[automatically_derived]
        impl #krate::resource::Object for #ident {
            const PARTIAL: bool = true;
            fn metadata(&self) -> &#meta { &self.metadata }
            fn metadata_mut(&mut self) -> &mut #meta { &mut self.metadata }
        }
        #[automatically_derived]
        impl #krate::resource::Resource for #ident {
            type Scope = #resource::Scope;
            const GROUP: &'static str = #resource::GROUP;
            const VERSION: &'static str = #resource::VERSION;
            const KIND: &'static str = #resource::KIND;
            const PLURAL: &'static str = #resource::PLURAL;
        }
    })
}

/// The attributes that are set and that only a kind may have, with their spans.
fn kind_attributes(args: &Args) -> Vec<(&'static str, Span)> {
    let words = [
        ("group", &args.group),
        ("version", &args.version),
        ("kind", &args.kind),
        ("plural", &args.plural),
    ];
    let words = words
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?.span())));
    let flags = [
        ("namespaced", &args.namespaced),
        ("cluster", &args.cluster),
        ("foreign", &args.foreign),
    ];
    let flags = flags
        .into_iter()
        .filter(|(_, flag)| flag.is_present())
        .map(|(name, flag)| (name, flag.span()));
    words.chain(flags).chain(args.of_definition()).collect()
}
