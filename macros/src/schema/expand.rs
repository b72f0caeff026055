use darling::{Error, FromAttributes, Result};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Data, DeriveInput, Fields, Path, Type, spanned::Spanned};

use super::{
    attributes::{Container, Field, error},
    check,
    rule::Rule,
    serde::Serde,
    variants,
};
use crate::shape;

/// Writes the impls of `JsonSchema` and `Schema`. schemars derives `JsonSchema` for a hidden copy of the type.
pub(crate) fn expand(input: DeriveInput) -> Result<TokenStream> {
    let mut errors = Error::accumulator();
    if !input.generics.params.is_empty() {
        errors.push(error(
            "a type with a schema must not be generic: replace the parameters with concrete types",
            input.generics.span(),
        ));
    }
    let container = errors.handle(Container::from_attributes(&input.attrs));
    let serde = Serde::of(&input.attrs);
    if let Some(meta) = serde.meta("remote") {
        errors.push(error(
            "derive `Schema` for a type of your own and use it with `#[schema(with = \"..\")]`",
            meta.span(),
        ));
    }
    let krate = crate::crate_path::path(
        container
            .as_ref()
            .and_then(|container| container.krate.as_ref()),
    );
    let mut parts = Parts {
        ident: &input.ident,
        krate: &krate,
        types: Vec::new(),
        scale: 0,
        errors: Error::accumulator(),
    };
    let body = match &input.data {
        Data::Struct(data) => {
            errors.handle(struct_style(&data.fields, &input, &serde));
            let fields = parts.fields(&data.fields);
            let end = matches!(data.fields, Fields::Unnamed(_)).then(|| quote!(;));
            quote!(#fields #end)
        }
        Data::Enum(data) => {
            errors.handle(variants::check(data, &serde, &input.ident));
            let variants: Vec<TokenStream> = data
                .variants
                .iter()
                .map(|variant| {
                    let attributes = kept(&variant.attrs);
                    let (ident, fields) = (&variant.ident, parts.fields(&variant.fields));
                    quote!(#(#attributes)* #ident #fields)
                })
                .collect();
            quote!({ #(#variants),* })
        }
        Data::Union(_) => {
            errors.push(error(
                "a union cannot have a schema: use an enum",
                input.ident.span(),
            ));
            TokenStream::new()
        }
    };
    let Parts {
        types,
        scale,
        errors: of_fields,
        ..
    } = parts;
    errors.handle(of_fields.finish());
    let gap = status_gap(&input, &serde);
    errors.finish()?;
    let rules: Vec<TokenStream> = container
        .iter()
        .flat_map(|container| &container.rules)
        .map(Rule::json)
        .collect();
    // Rules of several types and of a field may meet at one place of the schema. Each type has its own key there, until
    // `pilothouse::crd` joins them.
    let key = format!("x-pilothouse-rules-{}", input.ident);
    let rules = (!rules.is_empty()).then(|| quote!(#[schemars(extend(#key = [#(#rules),*]))]));
    Ok(write(
        &input,
        &krate,
        &serde,
        Written {
            body,
            types,
            scale,
            gap,
            rules,
        },
    ))
}

struct Written {
    body: TokenStream,
    types: Vec<Type>,
    scale: u8,
    gap: Option<String>,
    rules: Option<TokenStream>,
}

fn write(input: &DeriveInput, krate: &Path, serde: &Serde, written: Written) -> TokenStream {
    let Written {
        body,
        types,
        scale,
        gap,
        rules,
    } = written;
    let ident = &input.ident;
    let name = ident.to_string();
    let copy = format_ident!("__{}Schema", ident);
    let schemars = quote!(#krate::__private::schemars);
    let schemars_text = schemars.to_string();
    let keyword = if matches!(input.data, Data::Enum(_)) {
        quote!(enum)
    } else {
        quote!(struct)
    };
    let docs = input.attrs.iter().filter(|attribute| {
        attribute.path().is_ident("doc") || attribute.path().is_ident("schemars")
    });
    let serde_attribute = serde.for_copy();
    let default = container_default(input, serde, &copy);
    let gap = match gap {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => quote!(::core::option::Option::None),
    };
    let schema = quote!(#krate::crd::Schema);
    let recursion = types.iter().map(|ty| {
        let schema = crate::crate_path::respan(&schema, ty.span());
        quote_spanned!(ty.span()=> let () = <#ty as #schema>::NOT_RECURSIVE;)
    });
    let nested = types
        .iter()
        .map(|ty| quote_spanned!(ty.span()=> | <#ty as #schema>::SCALE));
    quote! {
        const _: () = {
            #[derive(#schemars::JsonSchema)]
            #[schemars(crate = #schemars_text, rename = #name)]
            #(#docs)*
            #serde_attribute
            #rules
            #[allow(dead_code, clippy::all)]
            #keyword #copy #body
            #default

            #[automatically_derived]
            impl #schemars::JsonSchema for #ident {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    <#copy as #schemars::JsonSchema>::schema_name()
                }
                fn schema_id() -> ::std::borrow::Cow<'static, str> {
                    ::std::borrow::Cow::Borrowed(::core::concat!(::core::module_path!(), "::", #name))
                }
                fn json_schema(generator: &mut #schemars::SchemaGenerator) -> #schemars::Schema {
                    <#copy as #schemars::JsonSchema>::json_schema(generator)
                }
            }
            #[automatically_derived]
            impl #schema for #ident {
                type Json = Self;
                const NOT_RECURSIVE: () = { #(#recursion)* };
                const STATUS_GAP: ::core::option::Option<&'static str> = #gap;
                const SCALE: u8 = #scale #(#nested)*;
            }
            const _: () = <#ident as #schema>::NOT_RECURSIVE;
        };
    }
}

/// Rewrites the fields of a struct or of variants for the copy.
struct Parts<'a> {
    ident: &'a syn::Ident,
    krate: &'a Path,
    types: Vec<Type>,
    scale: u8,
    errors: darling::error::Accumulator,
}

impl Parts<'_> {
    fn fields(&mut self, fields: &Fields) -> TokenStream {
        let named = matches!(fields, Fields::Named(_));
        let list: Vec<TokenStream> = fields
            .iter()
            .enumerate()
            .map(|(index, field)| self.field(field, named.then_some(index)))
            .collect();
        match fields {
            Fields::Named(_) => quote!({ #(#list),* }),
            Fields::Unnamed(_) => quote!((#(#list),*)),
            Fields::Unit => TokenStream::new(),
        }
    }

    fn field(&mut self, field: &syn::Field, index: Option<usize>) -> TokenStream {
        let serde = Serde::of(&field.attrs);
        let (ident, ty) = (field.ident.iter(), &field.ty);
        let kept = kept(&field.attrs);
        let Some(read) = self.errors.handle(Field::read(field)) else {
            return quote!(#(#kept)* #(#ident:)* #ty);
        };
        self.errors.handle(check::field(&read, ty, &serde));
        if read.with.is_none() && shape::mentions(ty, self.ident) {
            self.errors.push(error(
                "the type contains itself, and Kubernetes schemas have no references: use a list of names instead, or describe the field as any value with `#[schema(with = \"serde_json::Value\")]`",
                ty.span(),
            ));
            return quote!(#(#kept)* #(#ident:)* #ty);
        }
        if let Some(scale) = &read.scale {
            self.scale |= scale.bit();
        }
        if serde.is_skipped() {
            return quote!(#(#kept)* #(#ident:)* #ty);
        }
        let krate = self.krate;
        let with = match &read.with {
            // An optional field stays optional, whatever type describes its value.
            Some(with) if shape::optional(ty).is_some() && shape::optional(with).is_none() => {
                quote!(::core::option::Option<#with>).to_string()
            }
            Some(with) => with.to_token_stream().to_string(),
            None => {
                self.types.push(ty.clone());
                quote!(<#ty as #krate::crd::Schema>::Json).to_string()
            }
        };
        let index = if serde.has("flatten") { None } else { index };
        let extensions = read.extensions(index);
        let extensions = (!extensions.is_empty()).then(|| quote!(, extend(#(#extensions),*)));
        quote!(#(#kept)* #[schemars(with = #with #extensions)] #(#ident:)* #ty)
    }
}

/// The attributes that schemars reads.
fn kept(attributes: &[Attribute]) -> Vec<&Attribute> {
    attributes
        .iter()
        .filter(|attribute| {
            ["doc", "serde", "schemars"]
                .iter()
                .any(|name| attribute.path().is_ident(name))
        })
        .collect()
}

/// The `Default` of the copy, made from that of the type. It is needed if serde uses it for missing fields.
fn container_default(input: &DeriveInput, serde: &Serde, copy: &syn::Ident) -> Option<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return None;
    };
    let meta = serde.meta("default")?;
    let ident = &input.ident;
    let value = match serde
        .string("default")
        .and_then(|path| syn::parse_str::<Path>(&path).ok())
    {
        Some(path) => quote!(#path()),
        None => quote_spanned!(meta.span()=> <#ident as ::core::default::Default>::default()),
    };
    let members: Vec<_> = data.fields.members().collect();
    Some(quote! {
        impl ::core::default::Default for #copy {
            fn default() -> Self {
                let value: #ident = #value;
                Self { #(#members: value.#members),* }
            }
        }
    })
}

fn struct_style(fields: &Fields, input: &DeriveInput, serde: &Serde) -> Result<()> {
    if serde.is_converted() {
        return Ok(());
    }
    match fields {
        Fields::Unit => Err(error(
            "serde writes a struct without fields as null, which Kubernetes removes: write `{}` after its name",
            input.ident.span(),
        )),
        Fields::Unnamed(list) if list.unnamed.len() != 1 => Err(error(
            "several unnamed fields are a list of mixed types, which a Kubernetes schema cannot describe: name the fields",
            list.span(),
        )),
        _ => Ok(()),
    }
}

/// The error for a type that cannot be a status, because a field is neither optional nor has a default. `None` if there is
/// no such field.
fn status_gap(input: &DeriveInput, serde: &Serde) -> Option<String> {
    let Data::Struct(data) = &input.data else {
        return None;
    };
    if serde.has("default") || serde.is_converted() || !matches!(data.fields, Fields::Named(_)) {
        return None;
    }
    let field = data.fields.iter().find(|field| {
        let serde = Serde::of(&field.attrs);
        shape::optional(&field.ty).is_none()
            && !["default", "flatten"].iter().any(|name| serde.has(name))
            && !serde.is_skipped()
            && !serde.has("skip_deserializing")
    })?;
    let ident = field.ident.as_ref()?;
    let ty = field
        .ty
        .to_token_stream()
        .to_string()
        .replace(" < ", "<")
        .replace(" >", ">");
    let vis = match field.vis.to_token_stream().to_string() {
        vis if vis.is_empty() => vis,
        vis => format!("{vis} "),
    };
    Some(format!(
        "controllers write a status step by step, so each field must be optional or have a default, and `{0}` of `{1}` has neither.\nWrite `#[serde(default)]` above `{vis}{0}: {ty}`, or once above `struct {1}`, or make it `{vis}{0}: Option<{ty}>`",
        ident, input.ident
    ))
}
