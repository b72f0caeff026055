use serde_json::Value;

use super::options::FieldValidation;
use super::{Target, WriteOptions};
use crate::builtin;
use crate::error::ApiError;
use crate::go;
use crate::json;

/// The reason why a body cannot be decoded.
#[derive(Debug)]
pub(super) struct Undecodable {
    /// The text of the JSON decoder.
    pub(super) text: String,
    /// The text of the decoder of maps, through which strategic merge patches go.
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

/// Decodes JSON as an object of the target's kind: checks that the values have the types of their fields, and drops
/// fields that the kind does not have. Returns the warnings to send.
pub(super) fn decode(
    target: &Target,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<Vec<String>, Undecodable> {
    let kind = &target.kind;
    let schema = kind.structural();
    let wrong = if kind.is_custom() {
        let metadata = object.get("metadata");
        metadata.and_then(go::metadata_mistyped)
    } else {
        builtin::mistyped(kind, object)
    };
    if let Some(wrong) = wrong {
        return Err(Undecodable {
            text: wrong.to_string(),
            of_map: wrong.in_maps(),
        });
    }
    let mut dropped = schema.prune(object);
    if !kind.is_custom() {
        // Go's decoder reports no more, of both sorts together. Custom resources are pruned by another one.
        dropped.truncate(json::MOST.saturating_sub(options.duplicates.len()));
    }
    if kind.is_custom()
        && let Some(wrong) = schema.undecodable(object)
    {
        return Err(wrong.to_string().into());
    }
    unknown(dropped, options)
}

/// The warnings or the error about dropped fields and fields that occur twice, as the request's `fieldValidation` asks
/// for.
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

/// The response to a body that cannot be decoded.
pub(super) fn refuse(target: &Target, wrong: &Undecodable) -> ApiError {
    let kind = &target.kind.kind;
    let version = &target.kind.version;
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {}",
        wrong.text
    ))
}
