use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, Path, Type};

/// Writes the impl of `HasStatus` for a struct with a field `status`, whose type is `status`.
pub(super) fn has_status(ident: &Ident, krate: &Path, status: Option<&Type>) -> TokenStream {
    let Some(status) = status else {
        return TokenStream::new();
    };
    quote! {
        #[automatically_derived]
        impl #krate::resource::HasStatus for #ident {
            type Status = #status;
        }
    }
}
