use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::args::Kind;
use crate::crate_path::respan;

/// The list of the other versions, as an item of the impl of `Resource`.
pub(super) fn list(kind: &Kind) -> Option<TokenStream> {
    if kind.served.is_empty() {
        return None;
    }
    let krate = &kind.krate;
    let versions = kind.served.iter().map(|version| {
        let private = respan(&quote!(#krate::__private), version.span());
        match kind.is_converted {
            true => {
                quote_spanned!(version.span()=> #private::converted_version::<#version, Self>())
            }
            false => quote_spanned!(version.span()=> #private::renamed_version::<#version>()),
        }
    });
    Some(quote! {
        const OTHER_VERSIONS: &'static [#krate::__private::OtherVersion] = &[#(#versions),*];
    })
}

/// Checks that need the types of the versions. The compiler evaluates them.
pub(super) fn checks(kind: &Kind) -> TokenStream {
    let (krate, ident) = (&kind.krate, &kind.ident);
    let checks = kind.served.iter().enumerate().map(|(number, version)| {
        let private = respan(&quote!(#krate::__private), version.span());
        let distinct = kind.served[..number].iter().map(|before| {
            quote_spanned!(version.span()=> const _: () = #private::check_distinct::<#version, #before>();)
        });
        quote_spanned! {version.span()=>
            const _: () = #private::check_version::<#version, #ident>();
            #(#distinct)*
        }
    });
    quote!(#(#checks)*)
}
