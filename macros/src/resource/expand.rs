use darling::{FromDeriveInput, Result};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Expr, Lit, Meta, spanned::Spanned};

use super::{
    args::{Args, Kind, Spec},
    has_status::has_status,
    pair::Pair,
    versions, view,
};

/// Writes the impls of a kind or of a view.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let args = Args::from_derive_input(input)?;
    if let Some(whole) = &args.view_of {
        return view::expand(&args, whole);
    }
    let kind = args.check()?;
    let mut parts = vec![
        object(&kind),
        has_status(&kind.ident, &kind.krate, kind.status.as_ref()),
        serde(&kind),
    ];
    if !kind.is_foreign {
        parts.extend([
            custom_resource(&kind),
            checks(&kind),
            versions::checks(&kind),
        ]);
    }
    Ok(quote!(#(#parts)*))
}

fn object(kind: &Kind) -> TokenStream {
    let Kind {
        ident,
        krate,
        group,
        version,
        kind: name,
        plural,
        metadata,
        ..
    } = kind;
    let scope = if kind.namespaced {
        quote!(Namespaced)
    } else {
        quote!(Cluster)
    };
    let meta = quote!(#krate::resource::ObjectMeta);
    let definition = (!kind.is_foreign).then(|| {
        quote! {
            fn definition() -> ::core::option::Option<::core::result::Result<#krate::crd::CustomResourceDefinition, #krate::crd::CrdError>> {
                ::core::option::Option::Some(<Self as #krate::crd::CustomResource>::crd())
            }
            fn rule_places() -> ::std::vec::Vec<#krate::__private::RulePlace> {
                <Self as #krate::crd::CustomResource>::rule_places()
            }
        }
    });
    let versions = versions::list(kind);
    // The name of the type was checked. If it is a type of another crate with that name, the compiler reports an error here.
    let coerce = quote_spanned!(metadata.span()=> &self.metadata);
    quote! {
        #[automatically_derived]
        impl #krate::resource::Object for #ident {
            fn metadata(&self) -> &#meta { #coerce }
            fn metadata_mut(&mut self) -> &mut #meta { &mut self.metadata }
        }
        #[automatically_derived]
        impl #krate::resource::Resource for #ident {
            type Scope = #krate::resource::#scope;
            const GROUP: &'static str = #group;
            const VERSION: &'static str = #version;
            const KIND: &'static str = #name;
            const PLURAL: &'static str = #plural;
            #versions
            #definition
        }
    }
}

fn serde(kind: &Kind) -> TokenStream {
    let Kind {
        ident,
        krate,
        group,
        version,
        kind: name,
        ..
    } = kind;
    let api_version = format!("{group}/{version}");
    let private = quote!(#krate::__private);
    let (spec_ty, spec_read, spec_write) = match &kind.spec {
        Some(Spec {
            ty,
            optional: false,
        }) => (
            quote!(#ty),
            Some(quote!(spec: parts.required_spec()?,)),
            quote!(::core::option::Option::Some(&self.spec)),
        ),
        Some(Spec { ty, optional: true }) => (
            quote!(#ty),
            Some(quote!(spec: parts.spec,)),
            quote!(::core::option::Option::as_ref(&self.spec)),
        ),
        None => (
            quote!(#private::Absent),
            None,
            quote!(::core::option::Option::None),
        ),
    };
    let (status_ty, status_read, status_write) = match &kind.status {
        Some(ty) => (
            quote!(#ty),
            Some(quote!(status: parts.status.take(),)),
            quote!(::core::option::Option::as_ref(&self.status)),
        ),
        None => (
            quote!(#private::Absent),
            None,
            quote!(::core::option::Option::None),
        ),
    };
    let (mut write, mut read) = (quote!(serialize_kind), quote!(deserialize_kind));
    let (mut others_write, mut others_names, mut others_read) = (None, None, None);
    if !kind.others.is_empty() {
        write = quote!(serialize_kind_with);
        read = quote!(deserialize_kind_with);
        let idents: Vec<_> = kind.others.iter().map(|other| &other.ident).collect();
        let names: Vec<_> = kind.others.iter().map(|other| &other.name).collect();
        let types = kind.others.iter().map(|other| &other.ty);
        others_write = Some(quote! {
            &[#((#names, #private::serde_json::to_value(&self.#idents))),*],
        });
        others_names = Some(quote! {
            , &["apiVersion", "kind", "metadata", "spec", "status", #(#names),*]
        });
        others_read = Some(quote!(#(#idents: parts.other::<#types, D::Error>(#names)?,)*));
    }
    quote! {
        #[automatically_derived]
        impl #private::serde::Serialize for #ident {
            fn serialize<S: #private::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                #private::#write::<#spec_ty, #status_ty, S>(
                    serializer, #api_version, #name, &self.metadata, #spec_write, #status_write, #others_write
                )
            }
        }
        #[automatically_derived]
        impl<'de> #private::serde::Deserialize<'de> for #ident {
            fn deserialize<D: #private::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {
                #[allow(unused_mut)]
                let mut parts = #private::#read::<#spec_ty, #status_ty, D>(deserializer, #api_version, #name #others_names)?;
                ::core::result::Result::Ok(Self {
                    metadata: ::core::mem::take(&mut parts.metadata),
                    #status_read
                    #others_read
                    #spec_read
                })
            }
        }
    }
}

fn custom_resource(kind: &Kind) -> TokenStream {
    let Kind {
        ident,
        krate,
        singular,
        short_names,
        categories,
        ..
    } = kind;
    let description = description(kind);
    let schema = quote!(#krate::crd::Schema);
    let describe = |ty: &syn::Type| {
        let schema = crate::crate_path::respan(&schema, ty.span());
        quote_spanned!(ty.span()=> ::core::option::Option::Some(<#ty as #schema>::describe))
    };
    let none = quote!(::core::option::Option::None);
    let spec = kind
        .spec
        .as_ref()
        .map_or(none.clone(), |spec| describe(&spec.ty));
    let spec_required = kind.spec.as_ref().is_some_and(|spec| !spec.optional);
    let status = kind.status.as_ref().map_or(none.clone(), describe);
    let marks = kind.schema.json();
    let pairs = |pairs: &[Pair]| {
        let pairs = pairs
            .iter()
            .map(|Pair { key, value }| quote!((#key, #value)));
        quote!(&[#(#pairs),*])
    };
    let (labels, annotations) = (pairs(&kind.labels), pairs(&kind.annotations));
    let deprecated = match &kind.deprecated {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => none.clone(),
    };
    let max_description = match kind.max_description {
        Some(max) => quote!(::core::option::Option::Some(#max)),
        None => none,
    };
    quote! {
        #[automatically_derived]
        impl #krate::__private::Defined for #ident {
            const DECLARATION: #krate::__private::Declaration = #krate::__private::Declaration {
                singular: #singular,
                short_names: &[#(#short_names),*],
                categories: &[#(#categories),*],
                labels: #labels,
                annotations: #annotations,
                deprecated: #deprecated,
                description: #description,
                max_description: #max_description,
                spec: #spec,
                spec_required: #spec_required,
                status: #status,
                marks: || #krate::__private::schemars::json_schema!(#marks),
            };
        }
    }
}

/// Checks that need the types of spec and status. The compiler evaluates them.
fn checks(kind: &Kind) -> TokenStream {
    let krate = &kind.krate;
    let private = quote!(#krate::__private);
    let schema = quote!(#krate::crd::Schema);
    let status = kind.status.as_ref().map(|ty| {
        let private = crate::crate_path::respan(&private, ty.span());
        let schema = crate::crate_path::respan(&schema, ty.span());
        quote_spanned! {ty.span()=>
            const _: () = #private::check_status(<#ty as #schema>::STATUS_GAP);
        }
    });
    let spec = kind.spec.as_ref().map(|spec| &spec.ty);
    let forms = spec.into_iter().chain(&kind.status).map(|ty| {
        let private = crate::crate_path::respan(&private, ty.span());
        let schema = crate::crate_path::respan(&schema, ty.span());
        quote_spanned! {ty.span()=>
            const _: () = #private::check_form(<#ty as #schema>::WRONG_FORM);
        }
    });
    let scale = |ty: Option<&syn::Type>| match ty {
        Some(ty) => {
            let schema = crate::crate_path::respan(&schema, ty.span());
            quote_spanned!(ty.span()=> <#ty as #schema>::SCALE)
        }
        None => quote!(0),
    };
    let (spec, of_status) = (scale(spec), scale(kind.status.as_ref()));
    let ident_span = kind.ident.span();
    let private = crate::crate_path::respan(&private, ident_span);
    quote_spanned! {ident_span=>
        #status
        #(#forms)*
        const _: () = #private::check_scale(#spec, #of_status);
    }
}

/// The text of the struct's doc comment.
fn description(kind: &Kind) -> String {
    let lines: Vec<String> = kind
        .docs
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
        .collect();
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    trimmed.join("\n").trim().to_owned()
}
