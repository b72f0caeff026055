//! Upgrades over TLS to a server that also speaks HTTP/2.

use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;

use super::server::{OBJECT, Server, Site, json};
use crate::client::{Api, Body, Client, Impersonation};

#[tokio::test]
async fn an_upgrade_has_its_own_http1_connection_and_passes_all_layers() {
    let forbidden =
        r#"{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"}"#;
    let site = Site::new(move |seen| match seen.uri.contains("/exec") {
        true => json(403, forbidden),
        false => json(200, OBJECT),
    });
    let server = Server::start(&site).await;
    let config = server
        .config()
        .with_token("secret")
        .with_impersonation(Impersonation::new("jane"));
    let client = Client::builder(config)
        .user_agent("demo/1")
        .build()
        .unwrap();
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    maps.get("a").await.unwrap();
    let request = Request::get("/api/v1/namespaces/default/pods/a/exec?command=id")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .body(Body::empty())
        .unwrap();
    let error = client.upgrade(request).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "upgrade GET /api/v1/namespaces/default/pods/a/exec: forbidden: no"
    );
    maps.get("a").await.unwrap();

    let seen = site.seen();
    let [first, upgrade, second] = &seen[..] else {
        panic!("{} requests", seen.len());
    };
    assert_eq!(first.connection, second.connection);
    assert_ne!(first.connection, upgrade.connection);
    // HTTP/2 names the server in each request, HTTP/1.1 in a header.
    assert!(first.uri.starts_with("https://"), "{}", first.uri);
    assert!(upgrade.uri.starts_with("/api/"), "{}", upgrade.uri);
    assert_eq!(upgrade.header("host"), server.address.to_string());
    assert_eq!(upgrade.header("upgrade"), "websocket");
    for name in ["authorization", "impersonate-user", "user-agent"] {
        assert!(!upgrade.header(name).is_empty(), "{name}");
        assert_eq!(upgrade.header(name), first.header(name));
    }
}
