use darling::{Error, FromAttributes, Result};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Data, DeriveInput, Fields, Path, Type, spanned::Spanned};

use super::{
    attributes::{Container, Field, error},
    check::{self, two_names},
    map_key,
    parameters::{Copied, Parameters},
    rule::{self, Rule},
    serde::Serde,
    variants,
};
use crate::shape::{self, Shape};

/// Writes the impls of `JsonSchema` and `Schema`. schemars derives `JsonSchema` for a hidden copy of the type.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let mut errors = Error::accumulator();
    if let Some(lifetime) = input.generics.lifetimes().next() {
        errors.push(error(
            "a type with a schema owns its data, because the API server's response cannot be read into a borrowed field: remove the lifetime, and use owned types",
            lifetime.span(),
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
    if let Some(meta) = serde.two_names() {
        errors.push(two_names(meta));
    }
    let krate = crate::crate_path::path(
        container
            .as_ref()
            .and_then(|container| container.krate.as_ref()),
    );
    let mut parts = Parts {
        ident: &input.ident,
        krate: &krate,
        has_container_default: serde.has("default"),
        types: Vec::new(),
        parameters: Parameters::new(&input.generics),
        scale: 0,
        errors: Error::accumulator(),
    };
    let body = match &input.data {
        Data::Struct(data) => {
            errors.handle(struct_style(&data.fields, input, &serde));
            parts.fields(&data.fields)
        }
        Data::Enum(data) => {
            errors.handle(variants::check(data, &serde, &input.ident));
            let variants: Vec<TokenStream> = data
                .variants
                .iter()
                .map(|variant| {
                    let attributes = kept(&variant.attrs);
                    let aliases = Serde::of(&variant.attrs).aliases();
                    let aliases = (!aliases.is_empty()).then(
                        || quote!(#[schemars(extend("x-pilothouse-aliases" = [#(#aliases),*]))]),
                    );
                    let (ident, fields) = (&variant.ident, parts.fields(&variant.fields));
                    quote!(#(#attributes)* #aliases #ident #fields)
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
        mut parameters,
        scale,
        errors: of_fields,
        ..
    } = parts;
    if serde.has("default") && serde.string("default").is_none() {
        parameters.whole_has_default(input);
    }
    errors.handle(of_fields.finish());
    let gap = status_gap(input, &serde);
    errors.finish()?;
    let rules: Vec<TokenStream> = container
        .iter()
        .flat_map(|container| {
            let immutable = container.immutable.is_present().then(rule::immutable);
            container.rules.iter().map(Rule::json).chain(immutable)
        })
        .collect();
    // Rules of several types and of a field may meet at one place of the schema. Each type has its own key there, until
    // `pilothouse::crd` joins them.
    let key = format!("x-pilothouse-rules-{}", input.ident);
    let rules = (!rules.is_empty()).then(|| quote!(#[schemars(extend(#key = [#(#rules),*]))]));
    Ok(write(
        input,
        &krate,
        &serde,
        Written {
            body,
            types,
            parameters,
            scale,
            gap,
            rules,
        },
    ))
}

struct Written {
    body: TokenStream,
    types: Vec<FieldType>,
    parameters: Parameters,
    scale: u8,
    gap: Option<String>,
    rules: Option<TokenStream>,
}

fn write(input: &DeriveInput, krate: &Path, serde: &Serde, written: Written) -> TokenStream {
    let Written {
        body,
        types,
        parameters,
        scale,
        gap,
        rules,
    } = written;
    let ident = &input.ident;
    let name = ident.to_string();
    let copy = format_ident!("__{}Schema", ident);
    let private = quote!(#krate::__private);
    let schemars = quote!(#private::schemars);
    let schemars_text = schemars.to_string();
    let docs = input.attrs.iter().filter(|attribute| {
        attribute.path().is_ident("doc") || attribute.path().is_ident("schemars")
    });
    let serde_attribute = serde.for_copy();
    let copy_of = parameters.copy(krate);
    let declaration = declaration(input, &copy, &copy_of, &body);
    let default = container_default(input, serde, &copy, &copy_of);
    let gap = match gap {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => quote!(::core::option::Option::None),
    };
    let schema = quote!(#krate::crd::Schema);
    let of_type = |ty: &Type, tokens: TokenStream| {
        let schema = crate::crate_path::respan(&schema, ty.span());
        quote_spanned!(ty.span()=> <#ty as #schema>::#tokens)
    };
    let recursion = types.iter().map(|field| {
        let not_recursive = of_type(&field.ty, quote!(NOT_RECURSIVE));
        quote!(let () = #not_recursive;)
    });
    let nested = types.iter().map(|field| {
        let scale = of_type(&field.ty, quote!(SCALE));
        quote!(| #scale)
    });
    let (of_parameters, known): (Vec<_>, Vec<_>) = types
        .iter()
        .filter(|field| field.checks_form)
        .map(|field| &field.ty)
        .partition(|ty| parameters.mentioned_in(ty));
    // A generic type passes the problem of an argument on to the place that names the argument.
    let wrong_form = of_parameters
        .into_iter()
        .map(|ty| of_type(ty, quote!(WRONG_FORM)));
    let wrong_form = quote!(#private::first(&[#(#wrong_form),*]));
    let forms = known.into_iter().map(|ty| {
        let wrong_form = of_type(ty, quote!(WRONG_FORM));
        let private = crate::crate_path::respan(&private, ty.span());
        quote_spanned!(ty.span()=> const _: () = #private::check_form(#wrong_form);)
    });
    let evaluated = parameters
        .is_empty()
        .then(|| quote!(const _: () = <#ident as #schema>::NOT_RECURSIVE;));
    let (generics, arguments, conditions) = parameters.whole(krate);
    let described = copy_of.arguments;
    let map_key = map_key::is_map_key(&input.data, serde).then(|| {
        quote! {
            #[automatically_derived]
            impl #generics #krate::crd::MapKey for #ident #arguments #conditions {}
        }
    });
    quote! {
        const _: () = {
            #[derive(#schemars::JsonSchema)]
            #[schemars(crate = #schemars_text, rename = #name, bound = "")]
            #(#docs)*
            #serde_attribute
            #rules
            #[allow(dead_code, clippy::all)]
            #declaration
            #default

            #[automatically_derived]
            impl #generics #schemars::JsonSchema for #ident #arguments #conditions {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    ::std::borrow::Cow::Borrowed(#name)
                }
                fn schema_id() -> ::std::borrow::Cow<'static, str> {
                    ::std::borrow::Cow::Borrowed(::core::any::type_name::<Self>())
                }
                fn json_schema(generator: &mut #schemars::SchemaGenerator) -> #schemars::Schema {
                    <#copy #described as #schemars::JsonSchema>::json_schema(generator)
                }
            }
            #[automatically_derived]
            impl #generics #schema for #ident #arguments #conditions {
                type Json = Self;
                const NOT_RECURSIVE: () = { #(#recursion)* };
                const WRONG_FORM: ::core::option::Option<&'static str> = #wrong_form;
                const STATUS_GAP: ::core::option::Option<&'static str> = #gap;
                const SCALE: u8 = #scale #(#nested)*;
            }
            #map_key
            #evaluated
            #(#forms)*
        };
    }
}

/// The declaration of the copy.
fn declaration(
    input: &DeriveInput,
    copy: &syn::Ident,
    copy_of: &Copied,
    body: &TokenStream,
) -> TokenStream {
    let Copied {
        generics,
        conditions,
        ..
    } = copy_of;
    match &input.data {
        Data::Enum(_) => quote!(enum #copy #generics #conditions #body),
        Data::Struct(data) if matches!(data.fields, Fields::Named(_)) => {
            quote!(struct #copy #generics #conditions #body)
        }
        _ => quote!(struct #copy #generics #body #conditions;),
    }
}

/// The type of a field whose schema is a part of the schema.
struct FieldType {
    ty: Type,
    /// Whether serde writes the type in its own form, so that the form must be one for Kubernetes.
    checks_form: bool,
}

/// Rewrites the fields of a struct or of variants for the copy.
struct Parts<'a> {
    ident: &'a syn::Ident,
    krate: &'a Path,
    has_container_default: bool,
    types: Vec<FieldType>,
    parameters: Parameters,
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
        let kept = kept_of_field(&field.attrs, &serde);
        let plain = quote!(#kept #(#ident:)* #ty);
        let Some(read) = self.errors.handle(Field::read(field)) else {
            return plain;
        };
        self.errors.handle(check::field(&read, ty, &serde));
        if read.with.is_none() && shape::mentions(ty, self.ident) {
            self.errors.push(error(
                "the type contains itself, and Kubernetes schemas have no references: use a list of names instead, or describe the field as any value with `#[schema(with = \"serde_json::Value\")]`",
                ty.span(),
            ));
            return plain;
        }
        if let Some(scale) = &read.scale {
            self.scale |= scale.bit();
        }
        if serde.is_skipped() {
            return plain;
        }
        let conversion = serde.conversion();
        let has_default = serde.has("default") || self.has_container_default;
        self.errors
            .handle(check::left_out(&serde, field, has_default));
        self.errors.handle(check::conversion(
            conversion.as_ref(),
            &read,
            field,
            has_default,
        ));
        let index = if serde.has("flatten") { None } else { index };
        let mut extensions = read.extensions(index);
        let aliases = serde.aliases();
        if !aliases.is_empty() {
            extensions.push(quote!("x-pilothouse-aliases" = [#(#aliases),*]));
        }
        let extensions = (!extensions.is_empty()).then(|| quote!(, extend(#(#extensions),*)));
        let krate = self.krate;
        let described = match &read.with {
            // An optional field stays optional, whatever type describes its value.
            Some(with) if shape::optional(ty).is_some() && shape::optional(with).is_none() => {
                quote!(::core::option::Option<#with>)
            }
            Some(with) => with.to_token_stream(),
            None => {
                let checks_form = conversion.is_none()
                    && matches!(
                        Shape::of(ty),
                        Shape::Unknown | Shape::List(_) | Shape::Set(_) | Shape::Map
                    );
                self.types.push(FieldType {
                    ty: ty.clone(),
                    checks_form,
                });
                self.parameters.described(ty);
                // With the span of the type, the compiler shows an error at the type.
                let schema = crate::crate_path::respan(&quote!(#krate::crd::Schema), ty.span());
                quote_spanned!(ty.span()=> <#ty as #schema>::Json)
            }
        };
        let ident = field.ident.iter();
        if conversion.is_some() {
            // schemars writes an item with the type of the field, which cannot name a parameter.
            let has_default = serde.has("default") || self.has_container_default;
            if has_default && self.parameters.mentioned_in(ty) {
                self.errors.push(error(
                    "the schema cannot show the default of a field that serde writes with a function and whose type depends on a parameter: remove the default, or use a concrete type",
                    ty.span(),
                ));
            }
            let with = described.to_string();
            return quote!(#kept #[schemars(with = #with #extensions)] #(#ident:)* #ty);
        }
        if serde.has("default") || self.has_container_default {
            let own = serde.has("default") && serde.string("default").is_none();
            self.parameters.default_of(ty, own);
        }
        let parameter = self.parameters.add(described);
        let with = parameter.to_string();
        quote! {
            #kept #[schemars(with = #with #extensions)]
            #(#ident:)* <#parameter as #krate::__private::Keeps<#ty>>::Type
        }
    }
}

/// The attributes that schemars reads on a field. Of serde's conversions it reads only how a default is written.
fn kept_of_field(attributes: &[Attribute], serde: &Serde) -> TokenStream {
    let others = kept(attributes)
        .into_iter()
        .filter(|attribute| !attribute.path().is_ident("serde"));
    let of_serde = serde.for_field();
    quote!(#(#others)* #of_serde)
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
fn container_default(
    input: &DeriveInput,
    serde: &Serde,
    copy: &syn::Ident,
    copy_of: &Copied,
) -> Option<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return None;
    };
    let meta = serde.meta("default")?;
    let ident = &input.ident;
    let (_, arguments, _) = input.generics.split_for_impl();
    let value = match serde
        .string("default")
        .and_then(|path| syn::parse_str::<Path>(&path).ok())
    {
        Some(path) => quote!(#path()),
        None => {
            quote_spanned!(meta.span()=> <#ident #arguments as ::core::default::Default>::default())
        }
    };
    let members: Vec<_> = data.fields.members().collect();
    let Copied {
        generics,
        names,
        conditions,
        ..
    } = copy_of;
    Some(quote! {
        impl #generics ::core::default::Default for #copy #names #conditions {
            fn default() -> Self {
                let value: #ident #arguments = #value;
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
