use darling::{Error, FromAttributes, FromMeta, Result, ast::NestedMeta};
use proc_macro2::Span;
use syn::{Attribute, parse_quote, spanned::Spanned};

use super::attributes::{Field, error};

/// What is said about each item of a list, or about each value of a map: `items(min_length = 1, pattern = "^[a-z]+$")`.
#[derive(Debug)]
pub(crate) struct Values(pub(crate) Box<Field>);

impl FromMeta for Values {
    fn from_list(items: &[NestedMeta]) -> Result<Self> {
        if items.is_empty() {
            return Err(Error::custom(
                "say what holds for each value, as `items(min_length = 1)`",
            ));
        }
        // The same names and values as on a field.
        let attribute: Attribute = parse_quote!(#[schema(#(#items),*)]);
        Field::from_attributes(&[attribute]).map(|field| Self(Box::new(field)))
    }
}

impl Values {
    /// Refuses what only a field has.
    pub(crate) fn check(&self) -> Result<()> {
        let Field {
            column,
            scale,
            selectable,
            immutable,
            nullable,
            with,
            ..
        } = &*self.0;
        let of_flag = |flag: &darling::util::Flag| flag.is_present().then(|| flag.span());
        let one_value = "needs one value, and a list or a map has many: remove it here";
        let rows: [(&str, Option<Span>, &str); 6] = [
            ("column", column.as_ref().map(|one| one.span()), one_value),
            ("scale", scale.as_ref().map(|one| one.span()), one_value),
            ("selectable", of_flag(selectable), one_value),
            (
                "immutable",
                of_flag(immutable),
                "compares a field with its old value: write it on a field of the values' type, or make the whole field immutable",
            ),
            (
                "nullable",
                of_flag(nullable),
                "is not needed here: make the type of the values an `Option`",
            ),
            (
                "with",
                with.as_ref().map(Spanned::span),
                "describes a whole field: write it beside this, and not in it",
            ),
        ];
        let mut errors = Error::accumulator();
        for (name, span, text) in rows {
            if let Some(span) = span {
                errors.push(error(format!("`{name}` {text}"), span));
            }
        }
        errors.finish()
    }
}
