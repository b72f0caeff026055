use super::resource::Request;
use super::{body, options};
use crate::api::{ApiError, Written};
use crate::core::Core;

/// Answers a PATCH of any of the four kinds.
pub(super) fn patch(_core: &Core, request: &Request) -> Result<Written, ApiError> {
    let media = body::media_type(&request.record.content_type);
    let _ = options::write(request)?;
    Err(ApiError::not_implemented(format_args!(
        "patches of type {media} yet"
    )))
}
