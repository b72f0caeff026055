//! The program `pilothouse-sandbox`, and the programs for envtest that it links.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream as StdStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ClientConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::https::{ask, get};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_pilothouse-sandbox");

/// A running program. Dropping it kills the program.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub(crate) fn start(program: &Path, arguments: &[impl AsRef<OsStr>]) -> Self {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// The address in the first line that has one.
    pub(crate) fn addr(&mut self) -> SocketAddr {
        address(BufReader::new(self.0.stdout.take().unwrap()))
    }

    /// As [`addr`](Self::addr), from standard error.
    fn addr_in_errors(&mut self) -> SocketAddr {
        address(BufReader::new(self.0.stderr.take().unwrap()))
    }

    /// Sends SIGTERM, and returns whether the program ended with code 0.
    pub(crate) fn stop(mut self) -> bool {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        self.0.wait().unwrap().success()
    }
}

fn address(output: impl BufRead) -> SocketAddr {
    let words = output.lines().flat_map(|line| {
        let line = line.unwrap();
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    let mut found = words.filter_map(|word| {
        let addr = word
            .strip_prefix("https://")
            .or(word.strip_prefix("http://"));
        addr?.parse().ok()
    });
    found.next().expect("a line with an address")
}

/// The status code and the body of the answer to one request.
async fn answer(
    addr: SocketAddr,
    config: &Arc<ClientConfig>,
    request: Request<Full<Bytes>>,
) -> (u16, Value) {
    let stream = TcpStream::connect(addr).await.unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    let stream = TlsConnector::from(config.clone())
        .connect(name, stream)
        .await
        .unwrap();
    let (status, _, body) = ask(stream, request).await;
    (status.as_u16(), body)
}

/// A client that trusts `ca`, with a certificate and its key if there is one. All are PEM.
fn client(ca: &[u8], certificate: Option<(&str, &str)>) -> Arc<ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    Arc::new(match certificate {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    })
}

#[tokio::test]
async fn the_program_serves_until_it_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let (kubeconfig, audit) = (folder.path().join("config"), folder.path().join("audit"));
    let arguments = [
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
        "--audit",
        audit.to_str().unwrap(),
        "--simulate",
    ];
    let mut running = Running::start(Path::new(PROGRAM), &arguments);
    let addr = running.addr();
    let mode = fs::metadata(&kubeconfig).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (client, token) = administrator(&kubeconfig);
    let path = "/api/v1/namespaces/default?pretty=false";
    let request = get(path, Some(&token));
    let (status, namespace) = answer(addr, &client, request).await;
    assert_eq!(
        (status, &namespace["metadata"]["name"]),
        (200, &"default".into())
    );

    let request = get("/api/v1/namespaces/none", Some(&token));
    assert_eq!(answer(addr, &client, request).await.0, 404);

    assert!(running.stop());
    let lines = fs::read_to_string(&audit).unwrap();
    let mut events = lines
        .lines()
        .rev()
        .map(|line| serde_json::from_str(line).unwrap());
    let failed: Value = events.next().unwrap();
    assert_eq!(failed["responseStatus"]["reason"], "NotFound");
    assert_eq!(failed["responseStatus"]["details"]["name"], "none");
    let event: Value = events.next().unwrap();
    assert_eq!(
        event["annotations"]["authorization.k8s.io/decision"],
        "allow"
    );
    assert_eq!(event["requestURI"], path);
    assert_eq!(event["objectRef"]["resource"], "namespaces");
    assert_eq!(event["user"]["groups"][0], "system:masters");
    assert_eq!(event["responseStatus"]["code"], 200);
}

#[test]
fn a_file_that_cannot_be_written_ends_the_program_with_its_path() {
    let output = Command::new(PROGRAM)
        .args(["--kubeconfig", "/does/not/exist/config"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.starts_with("error: write /does/not/exist/config: "),
        "{text}"
    );
}

/// The authority of a test, and what it signs.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for these names, or for a user in a group; and its key.
    fn sign(&self, names: &[&str], user: &str, group: &str) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, user);
        params
            .distinguished_name
            .push(DnType::OrganizationName, group);
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        (signed.pem(), key.serialize_pem())
    }
}

#[tokio::test]
async fn envtest_finds_an_api_server_with_its_certificates_and_users() {
    let folder = tempfile::tempdir().unwrap();
    let assets = Command::new(PROGRAM)
        .arg("assets")
        .arg(folder.path().join("bin"))
        .output()
        .unwrap();
    let assets = String::from_utf8(assets.stdout).unwrap();
    let assets = Path::new(assets.trim());

    let authority = Authority::new();
    let (certificate, key) = authority.sign(&["127.0.0.1"], "apiserver", "none");
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    write("apiserver.crt", &certificate);
    write("apiserver.key", &key);
    let clients = write("clients.crt", &authority.pem);
    let arguments = [
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        &format!("--cert-dir={}", folder.path().display()),
        &format!("--client-ca-file={clients}"),
    ];
    let mut running = Running::start(&assets.join("kube-apiserver"), &arguments);
    let addr = running.addr_in_errors();
    let as_user = |user: &str, group: &str| {
        let (certificate, key) = authority.sign(&[], user, group);
        client(authority.pem.as_bytes(), Some((&certificate, &key)))
    };
    let nobody = client(authority.pem.as_bytes(), None);
    let list = || get("/api/v1/namespaces", None);

    let (status, _) = answer(addr, &nobody, get("/healthz", None)).await;
    assert_eq!(status, 200, "envtest waits for it without a certificate");
    let (status, refused) = answer(addr, &nobody, list()).await;
    let text = refused["message"].as_str().unwrap();
    assert!(
        status == 403 && text.contains("\"system:anonymous\""),
        "{text}"
    );
    let (status, refused) = answer(addr, &as_user("ann", "authors"), list()).await;
    let text = refused["message"].as_str().unwrap();
    assert!(status == 403 && text.contains("User \"ann\""), "{text}");
    let (status, _) = answer(addr, &as_user("admin", "system:masters"), list()).await;
    assert_eq!(status, 200);
    let stranger = Authority::new();
    let (certificate, key) = stranger.sign(&[], "admin", "system:masters");
    let stranger = client(authority.pem.as_bytes(), Some((&certificate, &key)));
    assert!(
        refuses(addr, &stranger).await,
        "another authority signed it"
    );
    assert!(running.stop());

    let url = "--listen-client-urls=http://127.0.0.1:0";
    let mut etcd = Running::start(&assets.join("etcd"), &[url, "--data-dir=x"]);
    let addr = etcd.addr_in_errors();
    let mut stream = StdStream::connect(addr).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /health HTTP/1.0\r\n\r\n").unwrap();
    let mut health = String::new();
    stream.read_to_string(&mut health).unwrap();
    assert!(
        health.starts_with("HTTP/1.0 200") && health.contains("true"),
        "{health}"
    );
    assert!(etcd.stop());
}

/// Whether the server refuses the connection of a client. With TLS 1.3 the client learns of it only when it reads.
async fn refuses(addr: SocketAddr, config: &Arc<ClientConfig>) -> bool {
    let stream = TcpStream::connect(addr).await.unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    let connected = TlsConnector::from(config.clone())
        .connect(name, stream)
        .await;
    let Ok(mut stream) = connected else {
        return true;
    };
    let mut byte = [0];
    tokio::io::AsyncReadExt::read(&mut stream, &mut byte)
        .await
        .is_err()
}

/// The value of a key of a kubeconfig.
pub(crate) fn value(kubeconfig: &Path, key: &str) -> String {
    let config = fs::read_to_string(kubeconfig).unwrap();
    let (_, rest) = config.split_once(&format!("{key}: ")).unwrap();
    rest.lines().next().unwrap().to_owned()
}

#[tokio::test]
async fn what_a_client_was_told_survives_that_the_program_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    let arguments = keeping(folder.path());
    let maps = "/api/v1/namespaces/default/configmaps";
    let mut told = BTreeSet::new();
    for round in 0..4 {
        let mut running = Running::start(Path::new(PROGRAM), &arguments);
        let addr = running.addr();
        let (client, token) = administrator(&kubeconfig);
        let (status, list) = answer(addr, &client, get(maps, Some(&token))).await;
        assert_eq!(status, 200);
        let found: BTreeSet<String> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|map| map["metadata"]["name"].as_str().unwrap().to_owned())
            .collect();
        assert!(told.is_subset(&found), "{told:?} {found:?}");
        // Four clients write until the program is gone, which is killed after some answers.
        let answers = Arc::new(AtomicUsize::new(0));
        let writers: JoinSet<Vec<String>> = (0..4)
            .map(|writer| {
                let (client, token) = (client.clone(), token.clone());
                let answers = answers.clone();
                async move {
                    let mut told = Vec::new();
                    for number in 0.. {
                        let name = format!("m-{round}-{writer}-{number}");
                        let body = format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
                        let request = Request::post(maps)
                            .header("authorization", format!("Bearer {token}"))
                            .header("content-type", "application/json")
                            .body(Full::from(body))
                            .unwrap();
                        match write(addr, client.clone(), request).await {
                            Some(201) => told.push(name),
                            _ => break,
                        }
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                    told
                }
            })
            .collect();
        let some = async {
            while answers.load(Ordering::Relaxed) < 40 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let some = tokio::time::timeout(Duration::from_secs(60), some).await;
        some.expect("it answers");
        // Dropping kills it with SIGKILL.
        drop(running);
        let written: Vec<String> = writers.join_all().await.concat();
        assert!(!written.is_empty());
        told.extend(written);
    }
}

#[tokio::test]
async fn a_full_disk_is_told_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    let arguments = keeping(folder.path());
    // No file of the program may become larger than some megabytes.
    let limited = "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\"";
    let in_shell = ["-c", limited, PROGRAM].map(String::from);
    let in_shell = [&in_shell[..], &arguments[..]].concat();
    let mut running = Running::start(Path::new("/bin/sh"), &in_shell);
    let addr = running.addr();
    let maps = "/api/v1/namespaces/default/configmaps";
    let mut told = 0;
    let (client, token) = administrator(&kubeconfig);
    let (code, failure) = loop {
        let text = "x".repeat(100_000);
        let body = format!(r#"{{"metadata": {{"name": "m-{told}"}}, "data": {{"a": "{text}"}}}}"#);
        let request = Request::post(maps)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Full::from(body))
            .unwrap();
        match answer(addr, &client, request).await {
            (201, _) if told < 1000 => told += 1,
            other => break other,
        }
    };
    let message = failure["message"].as_str().unwrap();
    assert_eq!(code, 500, "{failure}");
    assert!(
        message.contains("its data folder cannot be written"),
        "{message}"
    );
    let health = write(addr, client.clone(), get("/readyz", Some(&token))).await;
    assert_eq!(health, Some(500));
    // Nothing is changed any more, also not in memory.
    let name = format!("{maps}/m-0");
    let delete = Request::delete(name.as_str())
        .header("authorization", format!("Bearer {token}"))
        .body(Full::default())
        .unwrap();
    assert_eq!(write(addr, client.clone(), delete).await, Some(500));
    let kept = write(addr, client, get(&name, Some(&token))).await;
    assert_eq!(kept, Some(200));
    drop(running);

    let mut running = Running::start(Path::new(PROGRAM), &arguments);
    let addr = running.addr();
    let (client, token) = administrator(&kubeconfig);
    let health = write(addr, client.clone(), get("/readyz", Some(&token))).await;
    assert_eq!(health, Some(200));
    let (_, list) = answer(addr, &client, get(maps, Some(&token))).await;
    assert!(list["items"].as_array().unwrap().len() >= told);
    assert!(told > 0);
}

/// The arguments of a program that keeps its objects and its kubeconfig in `folder`.
fn keeping(folder: &Path) -> [String; 4] {
    let path = |name: &str| folder.join(name).display().to_string();
    [
        "--kubeconfig".into(),
        path("config"),
        "--data".into(),
        path("data"),
    ]
}

/// A client and the token of the administrator.
pub(crate) fn administrator(kubeconfig: &Path) -> (Arc<ClientConfig>, String) {
    let ca = STANDARD
        .decode(value(kubeconfig, "certificate-authority-data"))
        .unwrap();
    (client(&ca, None), value(kubeconfig, "token"))
}

/// The status code of the answer, or `None` if the connection breaks.
async fn write(
    addr: SocketAddr,
    config: Arc<ClientConfig>,
    request: Request<Full<Bytes>>,
) -> Option<u16> {
    let stream = TcpStream::connect(addr).await.ok()?;
    let name = "127.0.0.1".try_into().unwrap();
    let stream = TlsConnector::from(config)
        .connect(name, stream)
        .await
        .ok()?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    tokio::spawn(connection);
    let response = sender.send_request(request).await.ok()?;
    let status = response.status().as_u16();
    response.into_body().collect().await.ok()?;
    Some(status)
}
