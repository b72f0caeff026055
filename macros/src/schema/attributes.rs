use darling::{
    Error, FromAttributes, FromMeta, Result,
    util::{Flag, SpannedValue},
};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{LitStr, Path, Type};

use super::{
    column::Column,
    number::{Count, Number},
    rule::Rule,
    values::Values,
};
use crate::strings::Strings;

/// `#[schema(..)]` on a field.
#[derive(Debug, FromAttributes)]
#[darling(attributes(schema))]
pub(crate) struct Field {
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) exclusive_minimum: Option<Number>,
    pub(crate) exclusive_maximum: Option<Number>,
    pub(crate) multiple_of: Option<Number>,
    pub(crate) min_length: Option<Count>,
    pub(crate) max_length: Option<Count>,
    pub(crate) pattern: Option<LitStr>,
    pub(crate) format: Option<LitStr>,
    pub(crate) values: Option<SpannedValue<Strings>>,
    pub(crate) min_items: Option<Count>,
    pub(crate) max_items: Option<Count>,
    pub(crate) unique_items: Flag,
    pub(crate) list_type: Option<SpannedValue<ListType>>,
    pub(crate) list_map_keys: Option<SpannedValue<Strings>>,
    pub(crate) items: Option<SpannedValue<Values>>,
    pub(crate) min_properties: Option<Count>,
    pub(crate) max_properties: Option<Count>,
    pub(crate) map_type: Option<SpannedValue<MapType>>,
    pub(crate) additional_properties: Option<SpannedValue<Values>>,
    #[darling(multiple, rename = "rule")]
    pub(crate) rules: Vec<Rule>,
    pub(crate) column: Option<SpannedValue<Column>>,
    pub(crate) scale: Option<SpannedValue<Scale>>,
    pub(crate) selectable: Flag,
    pub(crate) immutable: Flag,
    pub(crate) preserve_unknown_fields: Flag,
    pub(crate) embedded_resource: Flag,
    pub(crate) int_or_string: Flag,
    pub(crate) nullable: Flag,
    #[darling(default, with = darling::util::parse_expr::preserve_str_literal, map = Some)]
    pub(crate) example: Option<syn::Expr>,
    pub(crate) with: Option<Type>,
}

/// `#[schema(..)]` on a type.
#[derive(Debug, FromAttributes)]
#[darling(attributes(schema))]
pub(crate) struct Container {
    #[darling(multiple, rename = "rule")]
    pub(crate) rules: Vec<Rule>,
    pub(crate) immutable: Flag,
    #[darling(rename = "crate")]
    pub(crate) krate: Option<Path>,
}

/// How appliers share a list.
#[derive(Clone, Copy, Debug, PartialEq, FromMeta)]
pub(crate) enum ListType {
    Map,
    Set,
    Atomic,
}

/// How appliers share a map or an object.
#[derive(Clone, Copy, Debug, PartialEq, FromMeta)]
pub(crate) enum MapType {
    Granular,
    Atomic,
}

/// The part of the scale subresource that a field is.
#[derive(Clone, Copy, Debug, PartialEq, FromMeta)]
pub(crate) enum Scale {
    Spec,
    Status,
    Selector,
}

impl Scale {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Status => "status",
            Self::Selector => "selector",
        }
    }

    /// The bit of this part in `Schema::SCALE`.
    pub(crate) fn bit(self) -> u8 {
        match self {
            Self::Spec => 1,
            Self::Status => 2,
            Self::Selector => 4,
        }
    }
}

impl Field {
    pub(crate) fn read(field: &syn::Field) -> Result<Self> {
        Self::from_attributes(&field.attrs).map_err(|error| {
            // Without a span, darling's errors about a whole attribute would point at the derive.
            error.with_span(field)
        })
    }

    /// The keys that the field adds to the schema that schemars writes for its type.
    pub(crate) fn extensions(&self, index: Option<usize>) -> Vec<TokenStream> {
        let keys = self.keys(index).into_iter();
        keys.map(|(key, value)| quote!(#key = #value)).collect()
    }

    /// The same keys as an object of JSON.
    fn json(&self) -> TokenStream {
        let keys = self.keys(None).into_iter();
        let keys = keys.map(|(key, value)| quote!(#key: #value));
        quote!({ #(#keys),* })
    }

    fn keys(&self, index: Option<usize>) -> Vec<(&'static str, TokenStream)> {
        let mut list = Vec::new();
        let mut add = |key, value: Option<TokenStream>| {
            list.extend(value.map(|value| (key, value)));
        };
        for (key, number) in [
            ("minimum", &self.minimum),
            ("maximum", &self.maximum),
            ("exclusiveMinimum", &self.exclusive_minimum),
            ("exclusiveMaximum", &self.exclusive_maximum),
            ("multipleOf", &self.multiple_of),
        ] {
            add(key, number.as_ref().map(Number::tokens));
        }
        for (key, count) in [
            ("minLength", &self.min_length),
            ("maxLength", &self.max_length),
            ("minItems", &self.min_items),
            ("maxItems", &self.max_items),
            ("minProperties", &self.min_properties),
            ("maxProperties", &self.max_properties),
        ] {
            add(
                key,
                count.as_ref().map(|count| {
                    let count = count.value;
                    quote!(#count)
                }),
            );
        }
        for (key, text) in [("pattern", &self.pattern), ("format", &self.format)] {
            add(key, text.as_ref().map(|text| quote!(#text)));
        }
        add(
            "enum",
            self.values.as_ref().map(|values| {
                let values = &values.0;
                quote!([#(#values),*])
            }),
        );
        let list_type = self.list_type.as_ref().map(|list_type| match **list_type {
            ListType::Map => "map",
            ListType::Set => "set",
            ListType::Atomic => "atomic",
        });
        let list_type = list_type.or(self.unique_items.is_present().then_some("set"));
        add(
            "x-kubernetes-list-type",
            list_type.map(|name| quote!(#name)),
        );
        add(
            "x-kubernetes-list-map-keys",
            self.list_map_keys.as_ref().map(|keys| {
                let keys = &keys.0;
                quote!([#(#keys),*])
            }),
        );
        let map_type = self.map_type.as_ref().map(|map_type| match **map_type {
            MapType::Granular => "granular",
            MapType::Atomic => "atomic",
        });
        add("x-kubernetes-map-type", map_type.map(|name| quote!(#name)));
        for (key, values) in [
            ("x-pilothouse-items", &self.items),
            (
                "x-pilothouse-additional-properties",
                &self.additional_properties,
            ),
        ] {
            add(key, values.as_ref().map(|values| values.0.json()));
        }
        for (key, flag) in [
            (
                "x-kubernetes-preserve-unknown-fields",
                &self.preserve_unknown_fields,
            ),
            ("x-kubernetes-embedded-resource", &self.embedded_resource),
            ("x-kubernetes-int-or-string", &self.int_or_string),
            ("nullable", &self.nullable),
        ] {
            add(key, flag.is_present().then(|| quote!(true)));
        }
        let rules: Vec<TokenStream> = self.rules.iter().map(Rule::json).collect();
        add(
            "x-pilothouse-rules",
            (!rules.is_empty()).then(|| quote!([#(#rules),*])),
        );
        add(
            "example",
            self.example.as_ref().map(|example| quote!((#example))),
        );
        add(
            "x-pilothouse-column",
            self.column.as_ref().map(|column| column.json()),
        );
        add(
            "x-pilothouse-scale",
            self.scale.as_ref().map(|scale| {
                let name = scale.name();
                quote!(#name)
            }),
        );
        for (key, flag) in [
            ("x-pilothouse-selectable", &self.selectable),
            ("x-pilothouse-immutable", &self.immutable),
        ] {
            add(key, flag.is_present().then(|| quote!(true)));
        }
        add("x-pilothouse-index", index.map(|index| quote!(#index)));
        list
    }

    /// Whether the field has no attribute but `with`.
    pub(crate) fn is_plain(&self) -> bool {
        self.extensions(None).is_empty()
    }
}

/// An error at `span`.
pub(crate) fn error(text: impl std::fmt::Display, span: proc_macro2::Span) -> Error {
    Error::custom(text).with_span(&span)
}
