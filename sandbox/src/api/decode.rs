use serde_json::Value;

use super::options::FieldValidation;
use super::{ApiError, Target};
use crate::builtin;
use crate::schema::mistyped;

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
    validation: FieldValidation,
) -> Result<Vec<String>, Undecodable> {
    let kind = &target.kind;
    let schema = kind.structural();
    let wrong = if kind.is_custom() {
        let metadata = object.get("metadata");
        metadata.and_then(|metadata| mistyped(&builtin::object_meta(), metadata))
    } else {
        mistyped(&schema, object)
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
    unknown(dropped, validation)
}

/// What a request that asked for it gets to know of dropped fields.
pub(super) fn unknown(
    fields: Vec<String>,
    validation: FieldValidation,
) -> Result<Vec<String>, Undecodable> {
    let unknown: Vec<String> = fields
        .into_iter()
        .map(|field| format!("unknown field {field:?}"))
        .collect();
    match validation {
        FieldValidation::Strict if !unknown.is_empty() => {
            Err(format!("strict decoding error: {}", unknown.join(", ")).into())
        }
        FieldValidation::Warn => Ok(unknown),
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
