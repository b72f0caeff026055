use std::io;
use std::net::IpAddr;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{
    AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::Original;
use super::place::{Place, unavailable};
use super::redirection::{clean, through_proxy};
use crate::core::Core;
use crate::error::ApiError;
use crate::server::respond::{self, Body};

/// The buffer of a connection to a program, in bytes, in each direction.
const BUFFER: usize = 64 * 1024;

/// The headers that are of one connection only.
const OF_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The body of a request that is passed on.
pub(super) type Sent = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What a request asks a program.
pub(super) struct Asked {
    pub(super) method: http::Method,
    /// The path and query at the program.
    pub(super) uri: String,
    /// The part of the client's path that leads to the program.
    pub(super) before: String,
    pub(super) body: Sent,
}

/// Passes a request on to the program at a place, and its answer back.
///
/// # Errors
/// 503 if nobody listens there, or the program does not answer.
pub(super) async fn forward(
    core: &Core,
    place: &Place,
    original: Original,
    asked: Asked,
) -> Result<Response<Body>, ApiError> {
    let failed = |why: &str| unavailable(&format!("error trying to reach service: {why}"));
    let server = server(core, place).map_err(|why| failed(&why))?;
    let Asked {
        method,
        uri,
        before,
        body,
    } = asked;
    let host = host(&original.uri, &original.headers);
    let mut headers = original.headers;
    set_request_headers(&mut headers, (&before, &uri), &host, original.client);
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.headers_mut() = headers;
    *request.uri_mut() = uri.parse().unwrap_or_default();
    let (near, far) = tokio::io::duplex(BUFFER);
    core.spawn(server(far));
    let answered = async {
        let (mut sender, connection) = http1::handshake(TokioIo::new(near)).await?;
        core.spawn(connection.map(drop));
        sender.send_request(request).await
    };
    let answer: Result<_, hyper::Error> = answered.await;
    let answer = answer.map_err(|error| failed(&broken(&error)))?;
    let (mut head, body) = answer.into_parts();
    strip(&mut head.headers);
    if let Some(location) = head.headers.get(LOCATION) {
        let known = format!("{}:{}", place.address, place.port);
        let location = String::from_utf8_lossy(location.as_bytes());
        let changed = through_proxy(&location, &before, [&known, &host]);
        if let Ok(changed) = HeaderValue::from_str(&changed) {
            head.headers.insert(LOCATION, changed);
        }
    }
    let mut response = respond::bytes(200, "", Bytes::new());
    response.headers_mut().remove(http::header::CONTENT_TYPE);
    *response.status_mut() = head.status;
    for (name, value) in &head.headers {
        response.headers_mut().append(name, value.clone());
    }
    let body = body.map_err(io::Error::other);
    *response.body_mut() = body.boxed_unsync();
    Ok(response)
}

/// The function of a test that serves a connection.
type Server =
    Box<dyn FnOnce(tokio::io::DuplexStream) -> futures_util::future::BoxFuture<'static, ()> + Send>;

/// What listens at an address.
///
/// # Errors
/// The text of Go's dialer if nobody does.
fn server(core: &Core, place: &Place) -> Result<Server, String> {
    let Place {
        pod, address, port, ..
    } = place;
    let shown = match address.contains(':') {
        true => format!("[{address}]"),
        false => address.clone(),
    };
    let number = match port.as_str() {
        "" => 80,
        port if port.bytes().all(|byte| byte.is_ascii_digit()) => port
            .parse::<u16>()
            .map_err(|_| format!("dial tcp: address {port}: invalid port"))?,
        port => return Err(format!("dial tcp: lookup {shown}:{port}: no such host")),
    };
    let runs = pod["status"]["phase"] == "Running";
    let listener = core.containers.port(number).filter(|_| runs);
    match listener {
        Some(server) => Ok(Box::new(move |stream| server(stream))),
        None => Err(format!(
            "dial tcp {shown}:{number}: connect: connection refused"
        )),
    }
}

/// Why a program did not answer, in the words of Go's HTTP client.
fn broken(error: &hyper::Error) -> String {
    match error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        true => "EOF".to_owned(),
        false => format!("net/http: HTTP/1.x transport connection broken: {error}"),
    }
}

/// The name under which the client knows the server.
fn host(uri: &http::Uri, headers: &HeaderMap) -> String {
    let given = headers.get(HOST).and_then(|host| host.to_str().ok());
    let given = given.or_else(|| Some(uri.authority()?.as_str()));
    given.unwrap_or_default().to_owned()
}

fn set_request_headers(
    headers: &mut HeaderMap,
    (before, uri): (&str, &str),
    host: &str,
    client: Option<IpAddr>,
) {
    let takes_trailers = headers.get_all(TE).iter().any(|value| value == "trailers");
    strip(headers);
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    // What the server has read itself.
    headers.remove(AUTHORIZATION);
    let impersonates = |name: &&HeaderName| name.as_str().starts_with("impersonate-");
    let of_user: Vec<HeaderName> = headers.keys().filter(impersonates).cloned().collect();
    for name in of_user {
        headers.remove(name);
    }
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("host", host);
    let path = uri.split('?').next().unwrap_or_default();
    let mut whole = clean(&format!("{before}{path}"));
    if path.ends_with('/') {
        whole.push('/');
    }
    set("x-forwarded-uri", &whole);
    const FOR: &str = "x-forwarded-for";
    if let Some(client) = client {
        let before = headers.get_all(FOR).iter();
        let before = before.filter_map(|value| value.to_str().ok());
        let mut chain: Vec<String> = before.map(str::to_owned).collect();
        chain.push(client.to_string());
        if let Ok(chain) = HeaderValue::from_str(&chain.join(", ")) {
            headers.insert(HeaderName::from_static(FOR), chain);
        }
    }
}

/// Removes the headers that are of one connection only.
fn strip(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter();
    let named = named.filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> = named
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.into_iter().chain(OF_CONNECTION) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_neither_the_token_nor_the_user_of_the_client() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer secret"),
            ("impersonate-user", "ann"),
            ("impersonate-extra-a", "b"),
            ("connection", "keep-alive, x-hop"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-mine", "1"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let client = Some(IpAddr::from([127, 0, 0, 1]));
        set_request_headers(&mut headers, ("/proxy", "/a/?b=c"), "host:1", client);
        let mut left: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        left.sort_unstable();
        let expected = [
            ("host", "host:1"),
            ("te", "trailers"),
            ("x-forwarded-for", "192.0.2.1, 127.0.0.1"),
            ("x-forwarded-uri", "/proxy/a/"),
            ("x-mine", "1"),
        ];
        assert_eq!(left, expected);
    }
}
