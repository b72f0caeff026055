use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Path, parse_quote};

/// The path of `pilothouse` in generated code.
pub(crate) fn path(renamed: Option<&Path>) -> Path {
    renamed
        .cloned()
        .unwrap_or_else(|| parse_quote!(::pilothouse))
}

/// The same tokens at `span`, so that errors in the code they begin are shown there.
pub(crate) fn at(tokens: &impl ToTokens, span: Span) -> TokenStream {
    tokens
        .to_token_stream()
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &token {
                token = Group::new(group.delimiter(), at(&group.stream(), span)).into();
            }
            token.set_span(span);
            token
        })
        .collect()
}
