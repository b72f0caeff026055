//! The opening handshake of RFC 6455. The frames are tungstenite's.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use ring::{
    digest::{SHA1_FOR_LEGACY_USE_ONLY, digest},
    rand::{SecureRandom, SystemRandom},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::protocol::{Role, WebSocketConfig},
};

use crate::client::{Body, Client, Error, Upgraded, rest::Call};

/// The length limit of a message. Servers send pieces of 32 KiB.
pub(super) const MAX_MESSAGE: usize = 2 * 1024 * 1024;

pub(super) type Socket = WebSocketStream<Upgraded>;

/// Opens a WebSocket at `uri` that speaks one of `protocols`, the best one first. Returns which one.
pub(super) async fn open(
    client: &Client,
    call: &Call<'_>,
    uri: String,
    protocols: &'static [&'static str],
) -> Result<(Socket, &'static str), Error> {
    let key = key().ok_or_else(|| call.invalid("the system gives no random numbers"))?;
    let request = Request::get(uri)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, protocols.join(", "))
        .body(Body::empty())
        .map_err(|error| call.invalid(format!("the request cannot be written: {error}")))?;
    let upgraded = client.switch(call.verb, &call.target(), request).await?;
    let protocol = agreed(upgraded.headers(), &key, protocols);
    let protocol = protocol.map_err(|reason| call.undecodable(reason))?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
    Ok((socket, protocol))
}

fn key() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(BASE64_STANDARD.encode(bytes))
}

/// The protocol that the server chose. Fails if its answer is not valid.
fn agreed(
    headers: &HeaderMap,
    key: &str,
    protocols: &'static [&'static str],
) -> Result<&'static str, String> {
    let value = |name: HeaderName| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let upgrade = value(header::UPGRADE).unwrap_or_default();
    if !upgrade.eq_ignore_ascii_case("websocket")
        || value(header::SEC_WEBSOCKET_ACCEPT) != Some(&accept(key))
    {
        return Err("the server switched to something else than WebSocket".into());
    }
    let chosen = value(header::SEC_WEBSOCKET_PROTOCOL).unwrap_or_default();
    let known = protocols.iter().find(|known| **known == chosen);
    known.copied().ok_or_else(|| {
        format!(
            "the server speaks none of {} over WebSocket",
            protocols.join(", ")
        )
    })
}

/// The value that proves that the server understood the request (RFC 6455 §4.2.2).
pub(super) fn accept(key: &str) -> String {
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    BASE64_STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_accept_key_is_that_of_the_rfcs_example() {
        assert_eq!(
            super::accept("dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }
}
