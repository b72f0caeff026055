use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc, time::Duration};

use http::{Request, header::HOST};
use http_body_util::{BodyExt, Empty};
use hyper::{body::Bytes, client::conn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, crypto::ring, version};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{bytes, connected};
use crate::{
    metrics::Metrics,
    server::{Routes, Tls, TlsError},
};

/// A folder like a mounted Secret in Kubernetes: the files are links through a link that is replaced.
struct Mount {
    folder: TempDir,
    versions: usize,
}

impl Mount {
    fn new(certificate: &str, key: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(name), folder.path().join(name)).unwrap();
        }
        let mut mount = Self {
            folder,
            versions: 0,
        };
        mount.replace(certificate, key);
        mount
    }

    fn replace(&mut self, certificate: &str, key: &str) {
        self.versions += 1;
        let version = format!("..{}", self.versions);
        let inside = self.folder.path().join(&version);
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("tls.crt"), certificate).unwrap();
        fs::write(inside.join("tls.key"), key).unwrap();
        let (next, data) = ("..data_tmp", "..data");
        symlink(&version, self.folder.path().join(next)).unwrap();
        fs::rename(self.folder.path().join(next), self.folder.path().join(data)).unwrap();
    }

    async fn tls(&self, metrics: &Metrics) -> Result<Tls, TlsError> {
        let file = |name| self.folder.path().join(name);
        Tls::from_files(file("tls.crt"), file("tls.key"), metrics).await
    }
}

/// A certificate for `web.test` and its key, as PEM.
fn made() -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["web.test".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// The TLS settings of a server, and its certificate.
pub(super) async fn served() -> (String, Tls) {
    let (certificate, key) = made();
    let mount = Mount::new(&certificate, &key);
    let tls = mount.tls(&Metrics::new()).await.unwrap();
    (certificate, tls)
}

/// A client connection that trusts only this certificate.
pub(super) async fn trusted<S>(stream: S, certificate: &str) -> std::io::Result<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    handshake(stream, certificate, rustls::ALL_VERSIONS, &[]).await
}

fn routes() -> Routes {
    Routes::new().get("/", |_| bytes(2))
}

/// Connects, and fails unless the server's certificate is `trusted`.
async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    trusted: &str,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&str],
) -> std::io::Result<TlsStream<S>> {
    let trusted = CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap();
    trusting(stream, trusted, versions, protocols).await
}

async fn trusting<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    trusted: CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&str],
) -> std::io::Result<TlsStream<S>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let mut config = builder
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| (*name).into()).collect();
    let name = ServerName::try_from("web.test").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

/// Whether the server uses that certificate.
async fn shows(tls: &tokio_rustls::TlsAcceptor, certificate: &str) -> bool {
    let (client, served) = connected(routes(), Some(tls.clone()), 4096);
    let current = handshake(client, certificate, rustls::ALL_VERSIONS, &[]).await;
    let is_shown = current.is_ok();
    drop(current);
    served.await.unwrap();
    is_shown
}

fn reads(metrics: &Metrics) -> (u64, u64) {
    let metrics = metrics.certificate();
    (metrics.reads.get(), metrics.errors.get())
}

#[tokio::test(start_paused = true)]
async fn https_works_with_both_versions_of_tls_and_http() {
    let (certificate, key) = made();
    let tls = Mount::new(&certificate, &key)
        .tls(&Metrics::new())
        .await
        .unwrap();
    for version in [&version::TLS12, &version::TLS13] {
        let (client, served) = connected(routes(), Some(tls.acceptor()), 4096);
        let stream = handshake(client, &certificate, &[version], &["http/1.1"])
            .await
            .unwrap();
        let (mut sender, connection) = conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::get("/").header(HOST, "web.test");
        let answer = sender
            .send_request(request.body(Empty::<Bytes>::new()).unwrap())
            .await
            .unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "xx");
        drop(sender);
        connection.await.unwrap().unwrap();
        served.await.unwrap();

        let (client, served) = connected(routes(), Some(tls.acceptor()), 4096);
        let stream = handshake(client, &certificate, &[version], &["h2", "http/1.1"])
            .await
            .unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (mut sender, connection) =
            conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::get("https://web.test/")
            .body(Empty::<Bytes>::new())
            .unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "xx");
        drop(sender);
        connection.await.unwrap().unwrap();
        served.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_replaced_certificate_is_used_within_ten_seconds() {
    let (first, key) = made();
    let (second, second_key) = made();
    let mut mount = Mount::new(&first, &key);
    let metrics = Metrics::new();
    let tls = mount.tls(&metrics).await.unwrap();
    let acceptor = tls.acceptor();
    let stop = CancellationToken::new();
    let follows = tokio::spawn(tls.keep_current(stop.clone()));
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(shows(&acceptor, &first).await);
    assert_eq!(reads(&metrics), (2, 0));

    mount.replace(&second, &second_key);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(shows(&acceptor, &second).await && !shows(&acceptor, &first).await);
    stop.cancel();
    follows.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_renewed_intermediate_alone_is_noticed() {
    let (leaf, key) = made();
    let (intermediate, _) = made();
    let mut mount = Mount::new(&leaf, &key);
    let tls = mount.tls(&Metrics::new()).await.unwrap();
    let acceptor = tls.acceptor();
    let stop = CancellationToken::new();
    let follows = tokio::spawn(tls.keep_current(stop.clone()));
    mount.replace(&format!("{leaf}{intermediate}"), &key);
    tokio::time::sleep(Duration::from_secs(11)).await;
    let (client, _served) = connected(routes(), Some(acceptor), 4096);
    let stream = handshake(client, &leaf, rustls::ALL_VERSIONS, &[])
        .await
        .unwrap();
    assert_eq!(
        stream.get_ref().1.peer_certificates().map(<[_]>::len),
        Some(2)
    );
    stop.cancel();
    follows.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_broken_pair_is_counted_and_the_old_one_stays_in_use() {
    let (first, key) = made();
    let (second, second_key) = made();
    let mut mount = Mount::new(&first, &key);
    let metrics = Metrics::new();
    let tls = mount.tls(&metrics).await.unwrap();
    let acceptor = tls.acceptor();
    let stop = CancellationToken::new();
    let follows = tokio::spawn(tls.keep_current(stop.clone()));
    let mut errors = 0;
    // From here on the server's checks fall between the steps of this test.
    tokio::time::sleep(Duration::from_secs(1)).await;
    for (certificate, key) in [
        (&*second, &*key),
        ("", &*second_key),
        (
            &*second,
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ),
        (&*second, &*second),
    ] {
        mount.replace(certificate, key);
        tokio::time::sleep(Duration::from_secs(10)).await;
        errors += 1;
        assert!(shows(&acceptor, &first).await);
        assert_eq!(reads(&metrics).1, errors);
    }
    fs::remove_file(mount.folder.path().join("..data")).unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(shows(&acceptor, &first).await);
    assert_eq!(reads(&metrics).1, errors + 1);

    mount.replace(&second, &second_key);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(shows(&acceptor, &second).await);
    assert_eq!(reads(&metrics), (7, errors + 1));
    stop.cancel();
    follows.await.unwrap();
}

#[tokio::test]
async fn an_unusable_file_at_the_start_is_named_without_its_content() {
    let (certificate, key) = made();
    let (_, other) = made();
    for (certificate, key, expected) in [
        (
            "nothing",
            &*key,
            "tls.crt holds no certificate: write it as PEM, starting with -----BEGIN CERTIFICATE-----",
        ),
        (
            &*certificate,
            "s3cret",
            "tls.key holds no private key: write it as PEM, starting with -----BEGIN PRIVATE KEY-----",
        ),
        (
            &*certificate,
            &*other,
            "tls.key failed: keys may not be consistent: KeyMismatch",
        ),
    ] {
        let metrics = Metrics::new();
        let error = Mount::new(certificate, key)
            .tls(&metrics)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.ends_with(expected), "{error}");
        assert_eq!(reads(&metrics), (1, 1));
    }
    let metrics = Metrics::new();
    let absent = Tls::from_files("/none/tls.crt", "/none/tls.key", &metrics).await;
    let error = absent.unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read /none/tls.crt: No such file"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_handshake_is_ended_after_ten_seconds() {
    let (certificate, key) = made();
    let tls = Mount::new(&certificate, &key)
        .tls(&Metrics::new())
        .await
        .unwrap();
    for beginning in [&b""[..], &[0x16, 3, 1, 2, 0, 1]] {
        let (mut client, served) = connected(routes(), Some(tls.acceptor()), 4096);
        client.write_all(beginning).await.unwrap();
        assert_eq!(served.await.unwrap().as_secs(), 10);
    }
    // A plain HTTP request gets no response either.
    let (mut client, served) = connected(routes(), Some(tls.acceptor()), 4096);
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    served.await.unwrap();
}

#[cfg(feature = "self-signed")]
#[tokio::test(start_paused = true)]
async fn a_self_signed_certificate_has_the_requested_names() {
    let tls = Tls::self_signed(["web.test", "127.0.0.1"]).unwrap();
    let (client, served) = connected(routes(), Some(tls.acceptor()), 4096);
    // The certificate must be read before a client can trust it.
    let current = tls.current().cert[0].clone();
    let stream = trusting(client, current, rustls::ALL_VERSIONS, &[]).await;
    drop(stream.unwrap());
    served.await.unwrap();
    let error = Tls::self_signed(["ü\u{0}"]).unwrap_err().to_string();
    assert!(
        error.starts_with("creating a self-signed certificate for ü"),
        "{error}"
    );
}
