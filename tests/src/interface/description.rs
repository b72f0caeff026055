use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Fields, ImplItem, Item, ItemImpl, PathArguments, TraitItem, Type, Visibility,
};

use crate::attributes::attributes;

/// What of an item is public, as ends of lines that begin with its path.
pub(super) fn describe(item: &Item) -> Vec<String> {
    let head = |keyword: &str, tokens: TokenStream| {
        let space = if keyword.is_empty() { "" } else { " " };
        format!(
            "{}{space}{keyword}{}",
            marks(attributes(item)),
            text(tokens)
        )
    };
    match item {
        Item::Struct(item) => {
            let (generics, bounds) = (&item.generics, &item.generics.where_clause);
            let mut lines = vec![head("struct", quote!(#generics #bounds))];
            lines.extend(fields(&item.fields, false));
            lines.extend(derives(&item.attrs));
            lines
        }
        Item::Enum(item) => {
            let (generics, bounds) = (&item.generics, &item.generics.where_clause);
            let mut lines = vec![head("enum", quote!(#generics #bounds))];
            for variant in &item.variants {
                lines.push(format!("::{}{}", variant.ident, marks(&variant.attrs)));
                let inner = fields(&variant.fields, true);
                lines.extend(
                    inner
                        .into_iter()
                        .map(|line| format!("::{}{line}", variant.ident)),
                );
            }
            lines.extend(derives(&item.attrs));
            lines
        }
        Item::Trait(item) => {
            let (generics, bounds, supers) = (
                &item.generics,
                &item.generics.where_clause,
                &item.supertraits,
            );
            let mut lines = vec![head("trait", quote!(#generics : #supers #bounds))];
            for inner in &item.items {
                let (name, tokens, attributes) = match inner {
                    TraitItem::Fn(one) => {
                        let (signature, provided) =
                            (&one.sig, one.default.as_ref().map(|_| quote!({})));
                        (&one.sig.ident, quote!(#signature #provided), &one.attrs)
                    }
                    TraitItem::Type(one) => {
                        let (bounds, default) = (
                            &one.bounds,
                            one.default.as_ref().map(|(_, ty)| quote!(= #ty)),
                        );
                        (&one.ident, quote!(type : #bounds #default), &one.attrs)
                    }
                    TraitItem::Const(one) => {
                        let (ty, provided) = (&one.ty, one.default.as_ref().map(|_| quote!(= _)));
                        (&one.ident, quote!(const : #ty #provided), &one.attrs)
                    }
                    _ => continue,
                };
                if !is_hidden(attributes) {
                    lines.push(format!("::{name}{}", text(tokens)));
                }
            }
            lines
        }
        Item::Fn(item) => {
            let signature = &item.sig;
            vec![head("", quote!(#signature))]
        }
        Item::Const(item) => {
            let ty = &item.ty;
            vec![head("const", quote!(: #ty))]
        }
        Item::Static(item) => {
            let ty = &item.ty;
            vec![head("static", quote!(: #ty))]
        }
        Item::Type(item) => {
            let (generics, ty) = (&item.generics, &item.ty);
            vec![head("type", quote!(#generics = #ty))]
        }
        Item::Mod(_) => vec![head("mod", TokenStream::new())],
        Item::Macro(_) => vec![head("macro", TokenStream::new())],
        _ => Vec::new(),
    }
}

fn fields(fields: &Fields, all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        if (all || matches!(field.vis, Visibility::Public(_))) && !is_hidden(&field.attrs) {
            let name = field
                .ident
                .as_ref()
                .map_or_else(|| index.to_string(), ToString::to_string);
            lines.push(format!(
                ".{name}: {}",
                text(field.ty.to_token_stream()).trim_start()
            ));
        }
    }
    lines
}

/// The public functions of an impl block, or the trait that it implements.
pub(super) fn described_impl(block: &ItemImpl) -> Vec<String> {
    if is_hidden(&block.attrs) {
        return Vec::new();
    }
    let (generics, ty, bounds) = (
        &block.generics,
        &block.self_ty,
        &block.generics.where_clause,
    );
    if let Some((of, _)) = &block.trait_ {
        return vec![format!(
            " impl{}",
            text(quote!(#generics #of for #ty #bounds))
        )];
    }
    // Which types a function is for matters only if it is not for all.
    let is_plain = bounds.is_none()
        && generics.params.iter().all(|one| match one {
            syn::GenericParam::Type(one) => one.bounds.is_empty(),
            _ => true,
        });
    let parameters: Vec<String> = generics
        .params
        .iter()
        .map(|one| match one {
            syn::GenericParam::Type(one) => one.ident.to_string(),
            other => other.to_token_stream().to_string(),
        })
        .collect();
    let limit = match is_plain && arguments(ty) == parameters {
        true => String::new(),
        false => format!(" [impl{}]", text(quote!(#generics #ty #bounds))),
    };
    let mut lines = Vec::new();
    for item in &block.items {
        match item {
            ImplItem::Fn(one)
                if matches!(one.vis, Visibility::Public(_)) && !is_hidden(&one.attrs) =>
            {
                let signature = &one.sig;
                lines.push(format!(
                    "::{}{}{}{limit}",
                    one.sig.ident,
                    marks(&one.attrs),
                    text(quote!(#signature))
                ));
            }
            ImplItem::Const(one)
                if matches!(one.vis, Visibility::Public(_)) && !is_hidden(&one.attrs) =>
            {
                let ty = &one.ty;
                lines.push(format!(
                    "::{} const{}{limit}",
                    one.ident,
                    text(quote!(: #ty))
                ));
            }
            _ => {}
        }
    }
    lines
}

/// The generic arguments of a type, as text.
fn arguments(ty: &Type) -> Vec<String> {
    let Type::Path(ty) = ty else {
        return Vec::new();
    };
    match ty.path.segments.last().map(|last| &last.arguments) {
        Some(PathArguments::AngleBracketed(list)) => {
            let all = list.args.iter();
            all.map(|one| one.to_token_stream().to_string()).collect()
        }
        _ => Vec::new(),
    }
}

fn derives(attributes: &[Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in attributes
        .iter()
        .filter(|one| one.path().is_ident("derive"))
    {
        let _ = attribute.parse_nested_meta(|meta| {
            lines.push(format!(
                " derive {}",
                text(meta.path.to_token_stream()).trim_start()
            ));
            Ok(())
        });
    }
    lines
}

/// The attributes that are part of the interface.
fn marks(attributes: &[Attribute]) -> String {
    let mut marks = String::new();
    for attribute in attributes {
        let path = attribute.path();
        if ["non_exhaustive", "must_use", "deprecated"]
            .iter()
            .any(|name| path.is_ident(name))
        {
            marks.push_str(&format!(
                " #[{}]",
                text(path.to_token_stream()).trim_start()
            ));
        }
        if path.is_ident("cfg") {
            marks.push_str(&format!(
                " #[{}]",
                text(attribute.meta.to_token_stream()).trim_start()
            ));
        }
    }
    marks
}

pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let tokens = attribute
            .meta
            .to_token_stream()
            .to_string()
            .replace(' ', "");
        tokens == "doc(hidden)" || tokens == "cfg(test)" || tokens.starts_with("cfg(all(test")
    })
}

pub(super) fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Mod(item) => item.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}

pub(super) fn is_public(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Macro(item) => {
            return item
                .attrs
                .iter()
                .any(|one| one.path().is_ident("macro_export"));
        }
        Item::Mod(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return false,
    };
    matches!(visibility, Visibility::Public(_))
}

/// Tokens as text, with spaces between words only and after commas, after a leading space.
fn text(tokens: TokenStream) -> String {
    let mut out = String::new();
    write(tokens, &mut out);
    let out = out
        .replace("(mut ", "(")
        .replace(", mut ", ", ")
        .replace("where<", "where <")
        .replace("  ", " ")
        .replace(", )", ")")
        .replace(", >", ">")
        .replace(",>", ">");
    let out = out.trim_end();
    match out.starts_with(['<', '(', ':']) || out.is_empty() {
        true => out.to_owned(),
        false => format!(" {out}"),
    }
}

fn write(tokens: TokenStream, out: &mut String) {
    for token in tokens {
        let ends_word = out.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => (" {", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                out.push_str(open);
                write(group.stream(), out);
                out.push_str(close);
            }
            TokenTree::Punct(punct) => match punct.as_char() {
                ',' => out.push_str(", "),
                '=' | '+' => {
                    if !out.ends_with(' ') {
                        out.push(' ');
                    }
                    out.push(punct.as_char());
                    if punct.spacing() == proc_macro2::Spacing::Alone {
                        out.push(' ');
                    }
                }
                '-' => out.push_str(" -"),
                ':' if punct.spacing() == proc_macro2::Spacing::Alone && !out.ends_with(':') => {
                    out.push_str(": ")
                }
                '&' | '\'' if ends_word => {
                    out.push(' ');
                    out.push(punct.as_char());
                }
                '>' if out.ends_with('-') => out.push_str("> "),
                '?' if !out.ends_with(' ') => out.push('?'),
                other => out.push(other),
            },
            TokenTree::Ident(_) | TokenTree::Literal(_) => {
                if ends_word || out.ends_with([')', '>', ']', '}']) {
                    out.push(' ');
                }
                out.push_str(&token.to_string());
            }
        }
    }
}
