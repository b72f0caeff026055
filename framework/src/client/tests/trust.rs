use std::{path::Path, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    log_recorder::LogRecorder,
    server::{Authority, OBJECT, Server, Site, json},
};
use crate::{
    client::{Api, Client, Config, PostParams},
    metrics::Metrics,
    resource::Object,
};

fn maps(config: Config) -> Api<ConfigMap> {
    Api::namespaced(&Client::new(config).unwrap(), "default")
}

async fn get(config: Config) -> Result<ConfigMap, String> {
    let client = Client::new(config).map_err(|error| error.to_string())?;
    let maps = Api::namespaced(&client, "default");
    maps.get("a").await.map_err(|error| error.to_string())
}

fn site() -> Site {
    Site::new(|_| json(200, OBJECT))
}

#[tokio::test]
async fn a_named_authority_is_the_only_trusted_one() {
    let server = Server::start(&site()).await;
    let config = server.config();
    let error = get(config
        .clone()
        .with_certificate_authority(Authority::new().pem))
    .await;
    assert_eq!(
        error.unwrap_err(),
        format!(
            "get ConfigMap default/a: cannot connect to https://{}: the server's certificate is not signed by a trusted authority: the client trusts the certificate authority (given by the program); set the cluster's `certificate-authority` to the authority that signed the certificate",
            server.address
        )
    );
    get(config).await.unwrap();
}

#[tokio::test]
async fn the_certificate_must_be_valid_for_the_servers_name() {
    let server = Server::with(&site(), "api.example", None).await;
    let error = get(server.config()).await.unwrap_err();
    assert!(
        error.ends_with("the server's certificate is not valid for `127.0.0.1`: check `server`, or set `tls-server-name`"),
        "{error}"
    );
    get(server.config().with_server_name("api.example"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_client_certificate_is_presented_to_the_server() {
    let clients = Authority::new();
    let server = Server::with(&site(), "127.0.0.1", Some(&clients)).await;
    let (certificate, key) = clients.issue("me");
    get(server
        .config()
        .with_client_certificate(certificate.clone(), key))
    .await
    .unwrap();
    let error = get(server.config()).await.unwrap_err();
    assert!(
        error
            .ends_with("the server wants a client certificate: give one that its authority signed"),
        "{error}"
    );
    let (_, other) = clients.issue("me");
    let error = get(server.config().with_client_certificate(certificate, other)).await;
    let error = error.unwrap_err();
    assert!(error.starts_with("the client certificate (given by the program) and its key (given by the program) cannot be used together: "), "{error}");
}

#[tokio::test]
async fn without_verification_any_certificate_is_accepted() {
    let server = Server::with(&site(), "api.example", None).await;
    let mut config = server.config();
    config.tls.roots = None;
    let (log, _listening) = LogRecorder::listen();
    let maps = maps(config.with_insecure_skip_tls_verify());
    maps.get("a").await.unwrap();
    maps.get("a").await.unwrap();
    let said = log.said();
    let warned = said.matches("insecure-skip-tls-verify").count();
    assert_eq!(warned, 1, "{said}");
    let both = get(server.config().with_insecure_skip_tls_verify()).await;
    assert_eq!(
        both.unwrap_err(),
        "insecure-skip-tls-verify is set and a certificate authority is given (given by the program): remove one of them"
    );
}

/// Set to the server's address in the process that this test starts of itself.
const ELSEWHERE: &str = "PILOTHOUSE_TEST_SYSTEM_TRUST";

#[tokio::test]
async fn the_systems_authorities_are_trusted_only_if_none_is_named() {
    if let Ok(address) = std::env::var(ELSEWHERE) {
        let config = Config::new(address.parse().unwrap());
        get(config.clone()).await.unwrap();
        let named = config.with_certificate_authority(Authority::new().pem);
        let error = get(named).await.unwrap_err();
        assert!(
            error.contains("not signed by a trusted authority"),
            "{error}"
        );
        return;
    }
    let site = site();
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let system = folder.path().join("system.pem");
    std::fs::write(&system, &server.authority.pem).unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let name = format!("{module}::the_systems_authorities_are_trusted_only_if_none_is_named");
    // The system's store is read from the environment, which only a new process can have.
    let run = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name])
        .env(ELSEWHERE, format!("https://{}", server.address))
        .env("SSL_CERT_FILE", &system)
        .env_remove("SSL_CERT_DIR")
        .output();
    let run = run.await.unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains(" 1 passed"), "{said}");
    assert_eq!(site.seen().len(), 1);
}

/// A configuration for the server with the authorities in the file at `path`.
async fn trusting(server: &Server, path: &Path) -> Config {
    let url = format!("https://{}", server.address).parse().unwrap();
    let config = Config::new(url).with_certificate_authority_file(path);
    config.await.unwrap()
}

/// Advances the clock until a file is read again. The network does not notice.
async fn later() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_new_authority_is_trusted_as_soon_as_the_file_has_it() {
    let server = Server::start(&site()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, Authority::new().pem).unwrap();
    let maps = maps(trusting(&server, &file).await);
    let error = maps.get("a").await.unwrap_err().to_string();
    assert!(
        error.contains("not signed by a trusted authority"),
        "{error}"
    );
    std::fs::write(&file, &server.authority.pem).unwrap();
    maps.get("a").await.unwrap();
}

#[tokio::test]
async fn after_a_change_of_authorities_earlier_connections_get_no_request() {
    for http2 in [true, false] {
        let mut site = site();
        site.http2 = http2;
        let server = Server::start(&site).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.crt");
        let (own, other) = (server.authority.pem.clone(), Authority::new().pem);
        std::fs::write(&file, &own).unwrap();
        let maps = maps(trusting(&server, &file).await);
        maps.get("a").await.unwrap();
        std::fs::write(&file, format!("{own}{other}")).unwrap();
        maps.get("a").await.unwrap();
        assert_eq!(site.connections(), 1, "it is not read for every request");
        later().await;
        maps.get("a").await.unwrap();
        assert_eq!(site.connections(), 2);
        // A session of before cannot be resumed.
        std::fs::write(&file, &other).unwrap();
        later().await;
        let error = maps.get("a").await.unwrap_err().to_string();
        assert!(
            error.contains("not signed by a trusted authority"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_invalid_file_of_authorities_is_logged_once_and_the_old_ones_stay() {
    let (log, _listening) = LogRecorder::listen();
    let mut site = site();
    // Every request uses a new connection.
    (site.http2, site.one_answer_each) = (false, true);
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, &server.authority.pem).unwrap();
    let metrics = Metrics::new();
    let client = Client::builder(trusting(&server, &file).await).metrics(metrics.clone());
    let maps = Api::<ConfigMap>::namespaced(&client.build().unwrap(), "default");
    let broken: [(Option<&str>, &str); 3] = [
        (Some(""), "holds no readable certificate"),
        (
            Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            "holds a certificate that cannot be used",
        ),
        (None, "cannot be read: entity not found"),
    ];
    for (text, expected) in broken {
        match text {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        for _ in 0..3 {
            later().await;
            maps.get("a").await.unwrap();
        }
        let said = log.said();
        let warning = format!("the certificate authority ({}) {expected}", file.display());
        assert_eq!(said.matches(&warning).count(), 1, "{warning}: {said}");
    }
    assert_eq!(site.connections(), 9);
    let counted = metrics.encode();
    for reason in ["empty", "ca_parse_error", "read_error"] {
        let line = format!(
            "rest_client_transport_ca_reload_total{{reason=\"{reason}\",result=\"failure\"}} 3\n"
        );
        assert!(counted.contains(&line), "{line}{counted}");
    }
}

#[tokio::test]
async fn the_error_of_an_absent_server_names_its_address() {
    // The port is bound, so that no other test gets it, and nobody listens.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    let mut config = Server::start(&site()).await.config();
    config.url = format!("https://{address}").parse().unwrap();
    assert_eq!(
        get(config).await.unwrap_err(),
        format!(
            "get ConfigMap default/a: cannot connect to https://{address}: connection refused: check that the API server runs and that the cluster's `server` is right"
        )
    );
}

#[tokio::test]
async fn a_server_without_tls_is_reported() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let plain = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut site = site();
        site.http2 = false;
        site.serve(stream).await;
    };
    let config = Config::new(format!("https://{address}").parse().unwrap())
        .with_certificate_authority(Authority::new().pem);
    let (error, ()) = tokio::join!(get(config), plain);
    let error = error.unwrap_err();
    assert!(
        error.ends_with(
            "it does not speak TLS: check the address, and whether it has to begin with http://"
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_expects_tls_is_reported() {
    let advice = "begin the cluster's `server` with https://";
    let pages: [&[u8]; 3] = [
        // The answer of Go's server.
        b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n\
          <html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>",
        // An alert of TLS 1.2: fatal, unexpected message.
        &[21, 3, 3, 0, 2, 2, 10],
    ];
    for page in pages {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap();
            stream.write_all(page).await.unwrap();
            // Reads the rest of the request, so that a reset does not discard the answer.
            stream.shutdown().await.unwrap();
            while stream.read_u8().await.is_ok() {}
        };
        let config = Config::new(format!("http://{address}").parse().unwrap());
        let create = async {
            let client = Client::new(config).unwrap();
            let maps = Api::<ConfigMap>::namespaced(&client, "default");
            let map = ConfigMap::named("a");
            // A write is not repeated, so one answer is enough.
            let error = maps.create(&PostParams::default(), &map).await;
            error.unwrap_err().to_string()
        };
        let (error, ()) = tokio::join!(create, answer);
        assert!(error.ends_with(advice), "{error}");
    }
}
