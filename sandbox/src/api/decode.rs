use serde_json::Value;

use super::options::FieldValidation;
use super::{ApiError, Target, WriteOptions};
use crate::builtin;

/// A body that does not decode.
#[derive(Debug)]
pub(super) struct Undecodable {
    /// What the decoder says.
    pub(super) text: String,
    /// What the decoder of maps says, which strategic merge patches go through.
    pub(super) of_map: String,
}

impl From<String> for Undecodable {
    fn from(text: String) -> Self {
        Self {
            of_map: text.clone(),
            text,
        }
    }
}

/// Makes of JSON an object of the target's kind: values have the types of their fields, and fields that the kind does not have
/// are dropped. Gives the warnings to send.
pub(super) fn decode(
    target: &Target,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<Vec<String>, Undecodable> {
    let kind = &target.kind;
    let schema = kind.structural();
    let wrong = if kind.is_custom() {
        let metadata = object.get("metadata");
        metadata.and_then(builtin::metadata_mistyped)
    } else {
        builtin::mistyped(kind, object)
    };
    if let Some(wrong) = wrong {
        return Err(Undecodable {
            text: wrong.to_string(),
            of_map: wrong.in_maps(),
        });
    }
    let dropped = schema.prune(object);
    if kind.is_custom()
        && let Some(wrong) = schema.undecodable(object)
    {
        return Err(wrong.to_string().into());
    }
    unknown(dropped, options)
}

/// What a request that asked for it gets to know of dropped fields, and of those that it gave twice.
pub(super) fn unknown(
    fields: Vec<String>,
    options: &WriteOptions,
) -> Result<Vec<String>, Undecodable> {
    let duplicates = options.duplicates.iter();
    let mut wrong: Vec<String> = duplicates
        .map(|field| format!("duplicate field {field:?}"))
        .collect();
    let unknown = fields.into_iter();
    wrong.extend(unknown.map(|field| format!("unknown field {field:?}")));
    match options.validation {
        FieldValidation::Strict if !wrong.is_empty() => {
            Err(format!("strict decoding error: {}", wrong.join(", ")).into())
        }
        FieldValidation::Warn => Ok(wrong),
        _ => Ok(Vec::new()),
    }
}

/// The answer to a body that does not decode.
pub(super) fn refuse(target: &Target, wrong: &Undecodable) -> ApiError {
    let kind = &target.kind.kind;
    let version = &target.kind.version;
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {}",
        wrong.text
    ))
}
