use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pilothouse_sandbox::{HttpsServer, Sandbox};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const LOOPBACK: &str = "127.0.0.1:0";

/// A connection that trusts this authority and offers these protocols.
async fn connect(
    server: &HttpsServer,
    ca: &str,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(server.addr()).await?;
    let name = "127.0.0.1".try_into().unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

pub(super) fn get(path: &str, token: Option<&str>) -> Request<Full<Bytes>> {
    let request = Request::get(format!("https://127.0.0.1{path}")).header("host", "127.0.0.1");
    let request = match token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    request.body(Full::default()).unwrap()
}

/// Status code and body of one request over HTTP/1.1 or HTTP/2, as negotiated.
pub(super) async fn ask(
    stream: TlsStream<TcpStream>,
    request: Request<Full<Bytes>>,
) -> (StatusCode, Version, Value) {
    let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let io = TokioIo::new(stream);
    let response = if two {
        let (mut sender, driver) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
            .await
            .unwrap();
        tokio::spawn(driver);
        sender.send_request(request).await.unwrap()
    } else {
        let (mut sender, driver) = hyper::client::conn::http1::handshake(io).await.unwrap();
        tokio::spawn(driver);
        sender.send_request(request).await.unwrap()
    };
    let (status, version) = (response.status(), response.version());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (
        status,
        version,
        serde_json::from_slice(&body).unwrap_or_default(),
    )
}

#[tokio::test]
async fn a_listener_is_published_as_the_service_kubernetes() {
    let sandbox = Sandbox::builder().build().unwrap();
    let first = sandbox
        .serve_https(LOOPBACK.parse().unwrap())
        .await
        .unwrap();
    // A second listener finds the Service of the first, which stays.
    let second = sandbox
        .serve_https(LOOPBACK.parse().unwrap())
        .await
        .unwrap();
    let kubeconfig = sandbox.kubeconfig(&second);
    let token = kubeconfig
        .lines()
        .find_map(|line| line.trim().strip_prefix("token: "));
    let stream = connect(&second, second.ca_pem(), &["h2"]).await.unwrap();
    let path = "/api/v1/namespaces/default/services/kubernetes";
    let (status, _, service) = ask(stream, get(path, token)).await;
    assert_eq!(status, StatusCode::OK, "{service}");
    assert_eq!(service["spec"]["clusterIP"], "10.96.0.1");
    assert_eq!(service["spec"]["ports"][0]["port"], 443);
    assert_eq!(
        service["spec"]["ports"][0]["targetPort"],
        first.addr().port()
    );
}

#[tokio::test]
async fn the_protocol_is_negotiated_and_a_token_is_needed() {
    let none: [&str; 0] = [];
    let sandbox = Sandbox::builder()
        .seed(1)
        .token("ann", "secret", none)
        .build()
        .unwrap();
    let server = sandbox
        .serve_https(LOOPBACK.parse().unwrap())
        .await
        .unwrap();
    let path = "/api/v1/namespaces/default";
    for (alpn, version) in [
        (&["h2", "http/1.1"][..], Version::HTTP_2),
        (&["http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        for (token, code) in [(Some("secret"), 200), (Some("wrong"), 401), (None, 401)] {
            let stream = connect(&server, server.ca_pem(), alpn).await.unwrap();
            let (status, spoken, body) = ask(stream, get(path, token)).await;
            assert_eq!(
                (status.as_u16(), spoken),
                (code, version),
                "{alpn:?} {token:?}"
            );
            if code == 401 {
                assert_eq!(
                    (&body["reason"], &body["message"]),
                    (&"Unauthorized".into(), &"Unauthorized".into())
                );
            }
        }
    }
    let users: Vec<String> = sandbox
        .requests()
        .into_iter()
        .map(|request| request.user)
        .collect();
    assert_eq!(users[..3], ["ann", "", ""]);
    sandbox.shutdown().await;
}

#[tokio::test]
async fn a_client_that_trusts_another_authority_refuses_the_server() {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    let one = sandbox
        .serve_https(LOOPBACK.parse().unwrap())
        .await
        .unwrap();
    let another = Sandbox::builder().seed(1).build().unwrap();
    let other = another
        .serve_https(LOOPBACK.parse().unwrap())
        .await
        .unwrap();
    assert!(connect(&one, other.ca_pem(), &["h2"]).await.is_err());
    let addr = other.addr();
    drop(other);
    while TcpStream::connect(addr).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(connect(&one, one.ca_pem(), &["h2"]).await.is_ok());
    sandbox.shutdown().await;
}
