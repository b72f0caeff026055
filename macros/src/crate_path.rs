use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Path, parse_quote};

/// The path of `pilothouse` in generated code: `renamed`, from the attribute `crate`, or `::pilothouse`.
pub(crate) fn path(renamed: Option<&Path>) -> Path {
    renamed
        .cloned()
        .unwrap_or_else(|| parse_quote!(::pilothouse))
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
