//! How others verify the tokens of service accounts: by OpenID Connect.

use http::{HeaderValue, Response};
use serde_json::json;

use super::respond::{self, Body};
use crate::authentication::ISSUER;
use crate::core::Core;
use crate::error::ApiError;

/// The document that names the issuer and the place of its keys.
pub(super) fn configuration(core: &Core) -> Response<Body> {
    let host = match *core.listener.borrow() {
        Some(address) => address.to_string(),
        None => ISSUER.trim_start_matches("https://").to_owned(),
    };
    // The order is that of a real server.
    let text = format!(
        r#"{{"issuer":{},"jwks_uri":{},"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}}"#,
        json!(ISSUER),
        json!(format!("https://{host}/openid/v1/jwks")),
    );
    cached("application/json", text)
}

/// The keys that verify tokens.
///
/// # Errors
/// 406 if the client does not accept the type of a key set, as a client that accepts only JSON.
pub(super) fn keys(core: &Core, accept: &str) -> Result<Response<Body>, ApiError> {
    let mut media = accept.split(',').map(|media| {
        let name = media.split(';').next();
        name.unwrap_or_default().trim()
    });
    if !media.any(|media| ["", "*/*", "application/*", KEY_SET].contains(&media)) {
        return Err(ApiError::no_representation(KEY_SET));
    }
    let keys = core.authority.key_set();
    Ok(cached(KEY_SET, keys.to_string()))
}

const KEY_SET: &str = "application/jwk-set+json";

/// Clients may keep these documents for an hour.
fn cached(media: &'static str, text: String) -> Response<Body> {
    let mut response = respond::bytes(200, media, text);
    let hour = HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert("cache-control", hour);
    response
}
