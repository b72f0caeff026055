use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderName, HeaderValue, Response, StatusCode, request};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::error::ApiError;
use crate::server::respond::{self, Body};

/// How long the client may take to close the WebSocket.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

const SPDY: &str = "SPDY/3.1";
const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");

fn switching(to: &'static str) -> Response<Body> {
    let mut response = respond::bytes(101, "", Bytes::new());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.clear();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(to));
    response
}

pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Closes a WebSocket, and reads the client's remaining messages: if a connection is closed while bytes are unread, it
/// is reset, and the last message to the client is lost.
pub(super) async fn close(
    mut sink: SplitSink<Socket, Message>,
    mut stream: SplitStream<Socket>,
) -> Result<(), Error> {
    // kubectl takes a close frame without a code for an error.
    let normal = CloseFrame {
        code: CloseCode::Normal,
        reason: "".into(),
    };
    sink.send(Message::Close(Some(normal))).await?;
    let rest = async { while let Some(Ok(_)) = stream.next().await {} };
    // A client that does not reply in time has disconnected.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, rest).await;
    Ok(())
}

/// The parts of a request that asks to upgrade the connection.
pub(in crate::server) struct Upgrade {
    on: Option<OnUpgrade>,
    to: String,
    key: String,
    version: String,
    /// Those of a WebSocket.
    protocols: Vec<String>,
    /// Those of SPDY.
    stream_protocols: Vec<String>,
}

impl Upgrade {
    pub(in crate::server) fn of(parts: &mut request::Parts) -> Option<Self> {
        let value = |name: HeaderName| {
            let values = parts.headers.get_all(name);
            let values = values.iter().filter_map(|value| value.to_str().ok());
            values.collect::<Vec<_>>().join(",")
        };
        let to = value(UPGRADE);
        let (key, version) = (value(SEC_WEBSOCKET_KEY), value(SEC_WEBSOCKET_VERSION));
        let list = |name| {
            let value = value(name);
            let items = value.split(',').map(str::trim);
            let items = items.filter(|item| !item.is_empty());
            items.map(String::from).collect()
        };
        (!to.is_empty()).then(|| Self {
            protocols: list(SEC_WEBSOCKET_PROTOCOL),
            stream_protocols: list(STREAM_PROTOCOL),
            on: parts.extensions.remove(),
            to,
            key,
            version,
        })
    }

    /// Whether the client asks for SPDY.
    pub(super) fn is_spdy(&self) -> bool {
        self.to.eq_ignore_ascii_case(SPDY)
    }

    /// The response that upgrades the connection to SPDY, and the connection that follows it.
    ///
    /// # Errors
    /// 501 if the client does not know `protocol`, 400 if the connection cannot be upgraded.
    pub(super) fn accept_spdy(
        self,
        protocol: &'static str,
    ) -> Result<
        (
            Response<Body>,
            impl Future<Output = Option<TokioIo<Upgraded>>> + Send,
        ),
        ApiError,
    > {
        if !self.stream_protocols.iter().any(|known| known == protocol) {
            return Err(ApiError::not_implemented(format_args!(
                "the protocols [{}] over SPDY, only {protocol}",
                self.stream_protocols.join(", ")
            )));
        }
        let on = self
            .on
            .ok_or_else(|| ApiError::bad_request("bad SPDY handshake"))?;
        let mut response = switching(SPDY);
        response
            .headers_mut()
            .insert(STREAM_PROTOCOL, HeaderValue::from_static(protocol));
        Ok((response, async move { on.await.ok().map(TokioIo::new) }))
    }

    /// The first requested protocol that is in `known`.
    ///
    /// # Errors
    /// 400 if the request is not a WebSocket handshake, 501 if it offers other protocols.
    pub(super) fn agree(&self, known: &[&'static str]) -> Result<&'static str, ApiError> {
        let is_websocket = self.to.eq_ignore_ascii_case("websocket");
        if !is_websocket || self.version != "13" || self.key.is_empty() || self.on.is_none() {
            return Err(ApiError::bad_request("bad WebSocket handshake"));
        }
        let mut request = self.protocols.iter();
        let agreed = request.find_map(|request| known.iter().find(|known| *known == request));
        agreed.copied().ok_or_else(|| {
            ApiError::not_implemented(format_args!(
                "the WebSocket protocols [{}], only {}",
                self.protocols.join(", "),
                known.join(", ")
            ))
        })
    }

    /// The response that upgrades the connection, and the WebSocket that follows it.
    pub(super) fn accept(
        self,
        protocol: &'static str,
    ) -> (Response<Body>, impl Future<Output = Option<Socket>> + Send) {
        let mut response = switching("websocket");
        let text = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", self.key);
        let proof = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()));
        let headers = response.headers_mut();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        // Base64 is always a valid header value.
        if let Ok(proof) = HeaderValue::from_str(&proof) {
            headers.insert(SEC_WEBSOCKET_ACCEPT, proof);
        }
        let socket = async move {
            let io = self.on?.await.ok()?;
            Some(WebSocketStream::from_raw_socket(TokioIo::new(io), Role::Server, None).await)
        };
        (response, socket)
    }
}
