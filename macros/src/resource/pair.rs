use darling::{Error, FromMeta, Result, ast::NestedMeta};
use syn::LitStr;

use super::names;
use crate::strings::string;

/// A key and a value in an attribute: `label("key", "value")`.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) key: LitStr,
    pub(crate) value: LitStr,
}

impl FromMeta for Pair {
    fn from_list(items: &[NestedMeta]) -> Result<Self> {
        match items {
            [key, value] => Ok(Self {
                key: string(key)?,
                value: string(value)?,
            }),
            _ => Err(Error::custom(
                "expected a key and a value: `(\"example.com/team\", \"web\")`",
            )),
        }
    }
}

impl Pair {
    /// Checks the key of a label or an annotation.
    pub(super) fn check_key(&self) -> Result<()> {
        names::check_qualified(&self.key.value())
            .map_err(|text| Error::custom(text).with_span(&self.key))
    }

    /// Checks a label.
    pub(super) fn check_label(&self) -> Result<()> {
        self.check_key()?;
        let value = self.value.value();
        if value.is_empty() || names::is_qualified_part(&value) {
            return Ok(());
        }
        Err(Error::custom(
            "the value of a label has at most 63 letters, digits, `-`, `_` and `.`, and begins and ends with a letter or a digit: shorten it, or make it an annotation",
        )
        .with_span(&self.value))
    }
}
