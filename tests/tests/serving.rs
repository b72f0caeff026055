//! The metrics of an operator over HTTPS for authorised callers.

use std::{fs, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use crate::probe::Probe;
use pilothouse::{
    k8s::api::rbac::v1::{ClusterRole, ClusterRoleBinding},
    operator::{Operator, Route, Running, Serving},
    server::{Address, Reply},
    testing::Cluster,
};
use pilothouse_sandbox::Sandbox;
use pilothouse_tests::prometheus::Prometheus;
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
    let Some(prometheus) = Prometheus::start(served.folder.path(), &config) else {
        return;
    };
    let scraped = async {
        let query = "certwatcher_read_certificate_total and on (job) up == 1";
        while prometheus.query(query).is_empty() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let scraped = tokio::time::timeout(Duration::from_secs(60), scraped).await;
    assert!(scraped.is_ok(), "nothing was scraped");
    served.running.stop().await;
}
