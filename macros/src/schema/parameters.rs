use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{DeriveInput, GenericParam, Generics, Ident, Path, Type};

/// The type parameters of a type and of its copy.
///
/// The copy has the parameters of the type, and one for each field: the type that describes the field. The types of the
/// fields are therefore written only once, in the arguments of the copy, and the compiler reports a type without a schema
/// there, at the user's code.
pub(super) struct Parameters {
    generics: Generics,
    /// The names of the user's parameters.
    names: Vec<Ident>,
    /// The types that describe the fields.
    fields: Vec<TokenStream>,
    /// The types of fields that must have a schema.
    described: Vec<Type>,
    /// The types of fields that have a default, and whether it is that of the type.
    defaults: Vec<(Type, bool)>,
    /// The type itself, if its `Default` is used.
    whole: Option<TokenStream>,
}

/// The generics of the copy.
pub(super) struct Copied {
    /// With their bounds: `<T, F0: JsonSchema>`.
    pub(super) generics: TokenStream,
    /// The names alone: `<T, F0>`.
    pub(super) names: TokenStream,
    /// The arguments that describe the fields: `<T, <String as Schema>::Json>`.
    pub(super) arguments: TokenStream,
    /// The where clause.
    pub(super) conditions: TokenStream,
}

impl Parameters {
    pub(super) fn new(generics: &Generics) -> Self {
        let mut generics = generics.clone();
        for parameter in &mut generics.params {
            match parameter {
                GenericParam::Type(parameter) => parameter.default = None,
                GenericParam::Const(parameter) => parameter.default = None,
                GenericParam::Lifetime(_) => {}
            }
        }
        let names = generics
            .params
            .iter()
            .filter_map(|parameter| match parameter {
                GenericParam::Type(parameter) => Some(parameter.ident.clone()),
                GenericParam::Const(parameter) => Some(parameter.ident.clone()),
                GenericParam::Lifetime(_) => None,
            })
            .collect();
        Self {
            generics,
            names,
            fields: Vec::new(),
            described: Vec::new(),
            defaults: Vec::new(),
            whole: None,
        }
    }

    /// Whether the user's type has no parameters.
    pub(super) fn is_empty(&self) -> bool {
        self.generics.params.is_empty()
    }

    /// Whether `ty` depends on a parameter.
    pub(super) fn mentioned_in(&self, ty: &Type) -> bool {
        !self.names.is_empty() && names_any(ty.to_token_stream(), &self.names)
    }

    /// Adds a parameter for a field that `described` describes.
    pub(super) fn add(&mut self, described: TokenStream) -> Ident {
        let name = format_ident!("__F{}", self.fields.len());
        self.fields.push(described);
        name
    }

    /// A field of this type has the schema of the type.
    pub(super) fn described(&mut self, ty: &Type) {
        if self.mentioned_in(ty) {
            self.described.push(ty.clone());
        }
    }

    /// A field of this type has a default, which the schema shows.
    pub(super) fn default_of(&mut self, ty: &Type, own: bool) {
        if self.mentioned_in(ty) {
            self.defaults.push((ty.clone(), own));
        }
    }

    /// serde takes missing fields from the `Default` of the type.
    pub(super) fn whole_has_default(&mut self, input: &DeriveInput) {
        if !self.is_empty() {
            let (ident, (_, arguments, _)) = (&input.ident, input.generics.split_for_impl());
            self.whole = Some(quote!(#ident #arguments));
        }
    }

    /// What the defaults need, to be written into the schema.
    fn for_defaults(&self, krate: &Path) -> TokenStream {
        let serialized = self.defaults.iter().map(|(ty, _)| ty);
        let own = self.defaults.iter().filter(|(_, own)| *own);
        let default = own
            .map(|(ty, _)| ty.to_token_stream())
            .chain(self.whole.clone());
        quote! {
            #(#serialized: #krate::__private::serde::Serialize,)*
            #(#default: ::core::default::Default,)*
        }
    }

    fn conditions(&self, more: &TokenStream) -> TokenStream {
        let own = self
            .generics
            .where_clause
            .iter()
            .flat_map(|clause| &clause.predicates);
        let own = quote!(#(#own,)*);
        match own.is_empty() && more.is_empty() {
            true => TokenStream::new(),
            false => quote!(where #own #more),
        }
    }

    /// Generics, arguments and where clause of the impls for the user's type.
    pub(super) fn whole(&self, krate: &Path) -> (TokenStream, TokenStream, TokenStream) {
        let (generics, arguments, _) = self.generics.split_for_impl();
        let described = &self.described;
        let defaults = self.for_defaults(krate);
        let conditions = self.conditions(&quote!(#(#described: #krate::crd::Schema,)* #defaults));
        (quote!(#generics), quote!(#arguments), conditions)
    }

    /// The generics of the copy.
    pub(super) fn copy(&self, krate: &Path) -> Copied {
        let own = self.generics.params.iter();
        let names = &self.names;
        let fields: Vec<Ident> = (0..self.fields.len())
            .map(|index| format_ident!("__F{}", index))
            .collect();
        let described = &self.fields;
        Copied {
            generics: quote!(<#(#own,)* #(#fields: #krate::__private::schemars::JsonSchema),*>),
            names: quote!(<#(#names,)* #(#fields),*>),
            arguments: quote!(<#(#names,)* #(#described),*>),
            conditions: self.conditions(&self.for_defaults(krate)),
        }
    }
}

fn names_any(tokens: TokenStream, names: &[Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.contains(&ident),
        TokenTree::Group(group) => names_any(group.stream(), names),
        _ => false,
    })
}
