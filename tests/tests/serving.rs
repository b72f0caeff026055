//! The metrics of an operator over HTTPS for authorised callers.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, BufRead, BufReader, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use crate::probe::Probe;
use pilothouse::{
    k8s::api::rbac::v1::{ClusterRole, ClusterRoleBinding},
    operator::{Operator, Route, Running, Serving},
    server::{Address, Reply},
    testing::Cluster,
};
use pilothouse_sandbox::Sandbox;
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

/// An operator whose metrics only the user `prometheus` may read, with the token `prom`.
struct Served {
    running: Running,
    cluster: Cluster,
    folder: TempDir,
}

impl Served {
    async fn new() -> Self {
        Self::with(|operator| operator).await
    }

    /// As [`new`](Self::new), with a changed operator.
    async fn with(change: impl FnOnce(Operator) -> Operator) -> Self {
        let none = [""; 0];
        let sandbox = Sandbox::builder().seed(1).rbac(true);
        let sandbox = sandbox
            .token("prometheus", "prom", none)
            .token("ann", "ann", none);
        let cluster = Cluster::with(sandbox).unwrap();
        let role = json!({"metadata": {"name": "metrics"},
            "rules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]});
        let role: ClusterRole = serde_json::from_value(role).unwrap();
        cluster.create(&role).await.unwrap();
        let group = "rbac.authorization.k8s.io";
        let binding = json!({"metadata": {"name": "metrics"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "metrics"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "prometheus"}]});
        let binding: ClusterRoleBinding = serde_json::from_value(binding).unwrap();
        cluster.create(&binding).await.unwrap();

        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let names = ["127.0.0.1".to_owned()];
        let certificate = rcgen::CertificateParams::new(names).unwrap();
        let certificate = certificate.self_signed(&key).unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("tls.crt"), certificate.pem()).unwrap();
        fs::write(file("tls.key"), key.serialize_pem()).unwrap();
        let serving = Serving::https(file("tls.crt"), file("tls.key")).authorized();
        let operator = Operator::new("served")
            .controller(Probe::idle())
            .metrics_address(Address::loopback(0))
            .serving(serving);
        let running = cluster.run(change(operator)).await.unwrap();
        Self {
            running,
            cluster,
            folder,
        }
    }

    fn address(&self) -> SocketAddr {
        self.running.http_address().unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Sends a GET over HTTPS, trusting only the certificate of the file.
    async fn get(&self, path: &str, token: &str) -> (u16, String) {
        let authority = fs::read(self.file("tls.crt")).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(&authority).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(self.address()).await.unwrap();
        let name = ServerName::from(self.address().ip());
        let stream = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .unwrap();
        ask(stream, path, token).await
    }
}

async fn ask(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    path: &str,
    token: &str,
) -> (u16, String) {
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), body.to_owned())
}

#[tokio::test]
async fn metrics_require_authorization_and_health_does_not() {
    let served = Served::new().await;
    let (status, metrics) = served.get("/metrics", "prom").await;
    assert_eq!(status, 200);
    for line in [
        "certwatcher_read_certificate_total 1\n",
        "certwatcher_read_certificate_errors_total 0\n",
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
    let denied = "Authorization denied for user ann\n".to_owned();
    assert_eq!(served.get("/metrics", "ann").await, (403, denied));
    assert_eq!(served.get("/metrics", "").await.0, 401);
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(served.get(path, "").await, (200, "ok".into()), "{path}");
    }
    let plain = TcpStream::connect(served.address()).await.unwrap();
    assert_eq!(ask(plain, "/metrics", "prom").await.0, 0);
    let access = served.running.access();
    for resource in ["tokenreviews", "subjectaccessreviews"] {
        assert!(
            access
                .iter()
                .any(|one| one.resource == resource && one.verb == "create"),
            "{access}"
        );
    }
    served.running.stop().await;
}

#[tokio::test]
async fn a_route_of_the_program_requires_authorization_unless_it_is_open() {
    let hello = || Route::new(|_, _| async { Ok(Reply::new("hello".into())) });
    let served = Served::with(|operator| {
        operator
            .route("/closed", hello())
            .route("/open/", hello().open())
            .route("/open/closed", hello())
    })
    .await;
    let hello = (200, "hello".to_owned());
    for path in ["/closed", "/open/closed"] {
        // The user may read only `/metrics`.
        assert_eq!(served.get(path, "prom").await.0, 403, "{path}");
        assert_eq!(served.get(path, "").await.0, 401, "{path}");
    }
    for path in ["/open", "/open/more"] {
        assert_eq!(served.get(path, "").await, hello, "{path}");
    }
    let role = json!({"metadata": {"name": "closed"},
        "rules": [{"verbs": ["get"], "nonResourceURLs": ["/closed"]}]});
    let role: ClusterRole = serde_json::from_value(role).unwrap();
    served.cluster.create(&role).await.unwrap();
    // Ann was not refused yet, so no refusal is remembered.
    let binding = json!({"metadata": {"name": "ann"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "closed"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]});
    let binding: ClusterRoleBinding = serde_json::from_value(binding).unwrap();
    served.cluster.create(&binding).await.unwrap();
    assert_eq!(served.get("/closed", "ann").await, hello);
    served.running.stop().await;
}

#[tokio::test]
async fn without_a_certificate_the_operator_does_not_start_and_says_why() {
    let cluster = Cluster::start().unwrap();
    let operator = Operator::new("served")
        .controller(Probe::idle())
        .metrics_address(Address::loopback(0))
        .serving(Serving::https("/none/tls.crt", "/none/tls.key"));
    let error = cluster.run(operator).await.err().unwrap().to_string();
    assert_eq!(
        error,
        "cannot serve metrics and health over HTTPS: cannot read /none/tls.crt: No such file or directory (os error 2)"
    );
}

/// The process is killed when this is dropped.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a Prometheus and returns its address, or `None` if the program is not installed.
fn prometheus(home: &Path, config: &str) -> Option<(Prometheus, SocketAddr)> {
    let program = env::var_os("PILOTHOUSE_PROMETHEUS");
    let program = program.unwrap_or_else(|| OsString::from("prometheus"));
    let file = home.join("prometheus.yml");
    fs::write(&file, config).unwrap();
    let started = Command::new(&program)
        .arg(format!("--config.file={}", file.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            home.join("data").display()
        ))
        .arg("--web.listen-address=127.0.0.1:0")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut prometheus = match started {
        Ok(child) => Prometheus(child),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{}: {error}", program.display()),
    };
    let mut lines = BufReader::new(prometheus.0.stderr.take().unwrap()).lines();
    let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, address) = line.split_once("\"Listening on\" address=")?;
        address.trim().parse().ok()
    });
    // Read its output on, so that the pipe does not fill.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    Some((prometheus, address.expect("it says where it listens")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prometheus_with_a_token_scrapes_over_https() {
    let served = Served::new().await;
    let (token, authority) = (served.file("token"), served.file("tls.crt"));
    fs::write(&token, "prom").unwrap();
    let config = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
         scrape_configs:\n\
         - job_name: served\n  scheme: https\n  authorization: {{credentials_file: '{}'}}\n  \
           tls_config: {{ca_file: '{}'}}\n  static_configs:\n  - {{targets: ['{}']}}\n",
        token.display(),
        authority.display(),
        served.address()
    );
    let Some((_prometheus, address)) = prometheus(served.folder.path(), &config) else {
        // Not `eprintln!`, because the harness hides the output of a passing test.
        let line = b"skipped: Prometheus: none found\n";
        return io::stderr().write_all(line).unwrap();
    };
    let scraped = async {
        loop {
            let stream = TcpStream::connect(address).await.unwrap();
            let query = "/api/v1/query?query=certwatcher_read_certificate_total%20and%20on(job)%20up%3D%3D1";
            let (status, body) = ask(stream, query, "").await;
            if status == 200 && body.contains("\"job\":\"served\"") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let scraped = tokio::time::timeout(Duration::from_secs(60), scraped).await;
    assert!(scraped.is_ok(), "nothing was scraped");
    served.running.stop().await;
}
