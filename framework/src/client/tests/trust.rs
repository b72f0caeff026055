use k8s_openapi::api::core::v1::ConfigMap;

use super::server::{Authority, OBJECT, Server, Site, json};
use crate::client::{Api, Client, Config};

async fn get(config: Config) -> Result<ConfigMap, String> {
    let client = Client::new(config).map_err(|error| error.to_string())?;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    maps.get("a").await.map_err(|error| error.to_string())
}

fn site() -> Site {
    Site::new(|_| json(200, OBJECT))
}

#[tokio::test]
async fn the_named_authority_is_the_only_one_that_counts() {
    let server = Server::start(&site()).await;
    let config = server.config();
    let error = get(config
        .clone()
        .with_certificate_authority(Authority::new().pem))
    .await;
    assert_eq!(
        error.unwrap_err(),
        format!(
            "get ConfigMap default/a: cannot connect to https://{}: the server's certificate is not signed by a trusted authority: compare it with the certificate authority (given by the program)",
            server.address
        )
    );
    get(config).await.unwrap();
}

#[tokio::test]
async fn the_certificate_has_to_be_for_the_servers_name() {
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
async fn a_client_certificate_is_shown_to_the_server() {
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
async fn without_verification_any_certificate_will_do() {
    let server = Server::with(&site(), "api.example", None).await;
    let mut config = server.config();
    config.tls.roots = None;
    get(config.with_insecure_skip_tls_verify()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_its_address() {
    let server = Server::start(&site()).await;
    let config = server.config();
    let address = server.address;
    drop(server);
    // The listener is gone once its task is.
    tokio::task::yield_now().await;
    assert_eq!(
        get(config).await.unwrap_err(),
        format!(
            "get ConfigMap default/a: cannot connect to https://{address}: connection refused: check that the API server runs and that the cluster's `server` is right"
        )
    );
}

#[tokio::test]
async fn a_server_without_tls_is_told() {
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
