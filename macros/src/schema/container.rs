use darling::FromAttributes;
use syn::Path;

use super::rule::Rule;

/// `#[schema(..)]` on a type.
#[derive(Debug, FromAttributes)]
#[darling(attributes(schema))]
pub(crate) struct Container {
    #[darling(multiple, rename = "rule")]
    pub(crate) rules: Vec<Rule>,
    #[darling(rename = "crate")]
    pub(crate) krate: Option<Path>,
}
