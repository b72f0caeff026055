use darling::{Error, FromAttributes, Result};
use proc_macro2::TokenStream;
use quote::quote;

use super::{column::Column, rule::Rule};

/// `#[schema(..)]` on a kind: what concerns the whole object, with its metadata.
#[derive(Debug, FromAttributes)]
#[darling(attributes(schema))]
pub(crate) struct KindAttributes {
    #[darling(multiple, rename = "rule")]
    rules: Vec<Rule>,
    #[darling(multiple, rename = "column")]
    columns: Vec<Column>,
}

impl KindAttributes {
    pub(crate) fn read(attributes: &[syn::Attribute]) -> Result<Self> {
        let read = Self::from_attributes(attributes)?;
        let mut errors = Error::accumulator();
        for Column { name, more } in &read.columns {
            if more.json_path.is_none() {
                errors.push(
                    Error::custom("a column of a kind needs the path of its value: add `json_path = \".status.conditions[?(@.type==\\\"Ready\\\")].status\"`, or set the attribute on the field that it shows")
                        .with_span(name),
                );
            }
        }
        errors.finish_with(read)
    }

    /// The keys that the attributes add to the schema of the whole object.
    pub(crate) fn json(&self) -> TokenStream {
        let rules = self.rules.iter().map(Rule::json);
        let columns = self.columns.iter().map(Column::json);
        quote!({ "x-kubernetes-validations": [#(#rules),*], "x-pilothouse-columns": [#(#columns),*] })
    }
}
