use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Expr, Lit, Meta, Path, Token, parse_quote, punctuated::Punctuated};

/// The path of `pilothouse` in generated code: `renamed`, from the attribute `crate`, or `::pilothouse`.
pub(crate) fn path(renamed: Option<&Path>) -> Path {
    renamed
        .cloned()
        .unwrap_or_else(|| parse_quote!(::pilothouse))
}

/// The value of `key` in the attributes `name`, as far as they can be read. It is for code beside an error.
pub(crate) fn lenient_value(attributes: &[Attribute], name: &str, key: &str) -> Option<Expr> {
    let metas = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident(name))
        .filter_map(|attribute| {
            attribute
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .ok()
        })
        .flatten();
    metas
        .filter(|meta| meta.path().is_ident(key))
        .find_map(|meta| Some(meta.require_name_value().ok()?.value.clone()))
}

/// The path of `pilothouse` in code beside an error in the attributes `name`.
pub(crate) fn lenient(attributes: &[Attribute], name: &str) -> Path {
    let renamed = match lenient_value(attributes, name, "crate") {
        Some(Expr::Lit(literal)) => match &literal.lit {
            Lit::Str(text) => text.parse().ok(),
            _ => None,
        },
        Some(Expr::Path(path)) => Some(path.path),
        _ => None,
    };
    path(renamed.as_ref())
}

/// Gives the tokens the span `span`, so that the compiler shows an error in code that begins with them there.
pub(crate) fn respan(tokens: &impl ToTokens, span: Span) -> TokenStream {
    tokens
        .to_token_stream()
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &token {
                token = Group::new(group.delimiter(), respan(&group.stream(), span)).into();
            }
            token.set_span(span);
            token
        })
        .collect()
}
