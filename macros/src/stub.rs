//! Impls beside an error.
//!
//! The compiler stops at the error. Without the impls it would also report each use of the type, so that the error would be
//! one of many.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Field, GenericParam, Generics, Type};

use crate::{crate_path, shape::optional};

/// The impls of a kind or of a view.
pub(crate) fn resource(input: &DeriveInput) -> TokenStream {
    let krate = crate_path::lenient(&input.attrs, "resource");
    let private = quote!(#krate::__private);
    let generics = without_defaults(&input.generics);
    let (parameters, arguments, conditions) = generics.split_for_impl();
    let ident = &input.ident;
    // The traits demand this of a kind. Without parameters the compiler checks it, with parameters it needs the promise.
    let conditions = match generics.params.is_empty() {
        true => quote!(#conditions),
        false => {
            let own = conditions
                .map(|clause| &clause.predicates)
                .into_iter()
                .flatten();
            quote! {
                where
                    #(#own,)*
                    #ident #arguments: ::core::clone::Clone + ::core::fmt::Debug
                        + ::core::marker::Send + ::core::marker::Sync + 'static
            }
        }
    };
    let is_view = crate_path::lenient_value(&input.attrs, "resource", "view_of").is_some();
    let own = (!is_view).then(|| {
        let mut with_lifetime = generics.clone();
        with_lifetime.params.insert(0, syn::parse_quote!('de));
        let (with_lifetime, _, _) = with_lifetime.split_for_impl();
        quote! {
            #[automatically_derived]
            impl #parameters #private::serde::Serialize for #ident #arguments #conditions {
                fn serialize<__S: #private::serde::Serializer>(&self, _: __S) -> ::core::result::Result<__S::Ok, __S::Error> {
                    ::core::unimplemented!()
                }
            }
            #[automatically_derived]
            impl #with_lifetime #private::serde::Deserialize<'de> for #ident #arguments #conditions {
                fn deserialize<__D: #private::serde::Deserializer<'de>>(_: __D) -> ::core::result::Result<Self, __D::Error> {
                    ::core::unimplemented!()
                }
            }
            #[automatically_derived]
            impl #parameters #private::Defined for #ident #arguments #conditions {
                const DECLARATION: #private::Declaration = #private::Declaration {
                    singular: "",
                    short_names: &[],
                    categories: &[],
                    labels: &[],
                    annotations: &[],
                    deprecated: ::core::option::Option::None,
                    description: "",
                    marks: || ::core::unimplemented!(),
                    max_description: ::core::option::Option::None,
                    spec: ::core::option::Option::None,
                    spec_required: false,
                    status: ::core::option::Option::None,
                };
            }
        }
    });
    let status = status_of(&input.data).map(|status| {
        quote! {
            #[automatically_derived]
            impl #parameters #krate::resource::HasStatus for #ident #arguments #conditions {
                type Status = #status;
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #parameters #krate::resource::Object for #ident #arguments #conditions {
            fn metadata(&self) -> &#krate::resource::ObjectMeta { ::core::unimplemented!() }
            fn metadata_mut(&mut self) -> &mut #krate::resource::ObjectMeta { ::core::unimplemented!() }
        }
        #[automatically_derived]
        impl #parameters #krate::resource::Resource for #ident #arguments #conditions {
            type Scope = #krate::resource::Namespaced;
            const GROUP: &'static str = "";
            const VERSION: &'static str = "";
            const KIND: &'static str = "";
            const PLURAL: &'static str = "";
        }
        #status
        #own
    }
}

/// The type of the field `status`, without its `Option`.
fn status_of(data: &Data) -> Option<&Type> {
    let Data::Struct(data) = data else {
        return None;
    };
    let mut fields = data.fields.iter();
    let is_status = |field: &&Field| field.ident.as_ref().is_some_and(|name| name == "status");
    let status = &fields.find(is_status)?.ty;
    Some(optional(status).unwrap_or(status))
}

/// The impls of a type with a schema.
pub(crate) fn schema(input: &DeriveInput) -> TokenStream {
    let krate = crate_path::lenient(&input.attrs, "schema");
    let schemars = quote!(#krate::__private::schemars);
    let generics = without_defaults(&input.generics);
    let (parameters, arguments, conditions) = generics.split_for_impl();
    let ident = &input.ident;
    quote! {
        #[automatically_derived]
        impl #parameters #schemars::JsonSchema for #ident #arguments #conditions {
            fn schema_name() -> ::std::borrow::Cow<'static, str> { ::core::unimplemented!() }
            fn json_schema(_: &mut #schemars::SchemaGenerator) -> #schemars::Schema { ::core::unimplemented!() }
        }
        #[automatically_derived]
        impl #parameters #krate::crd::Schema for #ident #arguments #conditions {
            type Json = Self;
            const SCALE: u8 = #krate::__private::UNKNOWN_SCALE;
        }
    }
}

fn without_defaults(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for parameter in &mut generics.params {
        match parameter {
            GenericParam::Type(parameter) => parameter.default = None,
            GenericParam::Const(parameter) => parameter.default = None,
            GenericParam::Lifetime(_) => {}
        }
    }
    generics
}
