use std::{net::SocketAddr, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::net::{TcpListener, TcpSocket};

use super::{
    log_recorder::LogRecorder,
    scripted_proxy::ScriptedProxy,
    server::{Authority, OBJECT, Server, Site, endless, json},
};
use crate::client::{Api, Client, Config, Deadlines, Proxy, WatchParams};

const OPEN: &str = "HTTP/1.1 200 Connection established\r\nVia: 1.1 stand-in\r\n\r\n";

fn proxy(url: &str) -> Proxy {
    url.parse().unwrap()
}

fn maps(config: Config) -> Api<ConfigMap> {
    Api::namespaced(&Client::new(config).unwrap(), "default")
}

/// The error, without the addresses.
async fn wrong(config: Config, proxy: SocketAddr, server: SocketAddr) -> String {
    let error = maps(config).get("a").await.unwrap_err().to_string();
    error
        .replace(&proxy.to_string(), "PROXY")
        .replace(&server.to_string(), "SERVER")
}

fn site() -> Site {
    Site::new(|seen| match seen.uri.contains("watch=true") {
        true => endless(
            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n",
        ),
        false => json(200, OBJECT),
    })
}

#[tokio::test]
async fn requests_and_watches_go_through_a_tunnel_of_an_http_proxy() {
    for http2 in [true, false] {
        let mut site = site();
        site.http2 = http2;
        let server = Server::start(&site).await;
        let stand_in = ScriptedProxy::http(OPEN, server.address, None).await;
        let url = format!("http://me:p%40ss@{}", stand_in.address);
        let maps = maps(server.config().with_proxy(proxy(&url)));
        maps.get("a").await.unwrap();
        let mut watch = maps.watch(&WatchParams::default()).await.unwrap();
        watch.next().await.unwrap().unwrap();
        assert_eq!(site.seen()[0].header("proxy-authorization"), "");
        let address = server.address;
        let expected = format!(
            "CONNECT {address} HTTP/1.1\r\nHost: {address}\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n"
        );
        assert_eq!(stand_in.asked(), [expected.clone(), expected]);
    }
}

#[tokio::test]
async fn the_proxy_gets_the_servers_name_from_the_configuration() {
    let server = Server::with(&site(), "api.example", None).await;
    let http = ScriptedProxy::http(OPEN, server.address, None).await;
    let socks = ScriptedProxy::socks5(0, 0, 0, server.address).await;
    let hosts = [
        (
            "api.example",
            "CONNECT api.example:443 ",
            "[0] api.example:443",
        ),
        (
            "10.0.0.1:6443",
            "CONNECT 10.0.0.1:6443 ",
            "[0] [10, 0, 0, 1]:6443",
        ),
        (
            "[fd00::1]",
            "CONNECT [fd00::1]:443 ",
            "[0] fd000000000000000000000000000001:443",
        ),
    ];
    for (host, connect, socks5) in hosts {
        for stand_in in [&http, &socks] {
            let scheme = if std::ptr::eq(stand_in, &http) {
                "http"
            } else {
                "socks5h"
            };
            let config = Config::new(format!("https://{host}").parse().unwrap())
                .with_certificate_authority(server.authority.pem.clone())
                .with_server_name("api.example")
                .with_proxy(proxy(&format!("{scheme}://{}", stand_in.address)));
            maps(config).get("a").await.unwrap();
        }
        let asked = http.asked();
        assert!(asked.last().unwrap().starts_with(connect), "{asked:?}");
        assert_eq!(socks.asked().last().unwrap(), socks5);
    }
}

#[tokio::test]
async fn a_socks5_proxy_gets_user_and_password_if_it_asks() {
    let server = Server::start(&site()).await;
    let port = server.address.port();
    for (method, expected) in [
        (0, format!("[0, 2] [127, 0, 0, 1]:{port}")),
        (2, format!("[0, 2] me p@ss [127, 0, 0, 1]:{port}")),
    ] {
        let stand_in = ScriptedProxy::socks5(method, 0, 0, server.address).await;
        let url = format!("socks5://me:p%40ss@{}", stand_in.address);
        let config = server.config().with_proxy(proxy(&url));
        maps(config).get("a").await.unwrap();
        assert_eq!(stand_in.asked(), [expected]);
    }
}

#[tokio::test]
async fn a_server_without_tls_is_reached_through_a_tunnel_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let plain = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut site = site();
        site.http2 = false;
        site.serve(stream).await;
    });
    let stand_in = ScriptedProxy::http(OPEN, address, None).await;
    let config = Config::new(format!("http://{address}").parse().unwrap())
        .with_proxy(proxy(&format!("http://{}", stand_in.address)));
    maps(config).get("a").await.unwrap();
    assert!(stand_in.asked()[0].starts_with(&format!("CONNECT {address} ")));
    plain.abort();
}

#[tokio::test]
async fn a_proxy_with_tls_must_present_a_trusted_certificate() {
    let server = Server::start(&site()).await;
    let stand_in = ScriptedProxy::http(OPEN, server.address, Some(&server.authority)).await;
    let url = format!("https://{}", stand_in.address);
    let config = server.config().with_proxy(proxy(&url));
    maps(config).get("a").await.unwrap();
    assert_eq!(stand_in.asked().len(), 1);

    let stranger = ScriptedProxy::http(OPEN, server.address, Some(&Authority::new())).await;
    let url = format!("https://{}", stranger.address);
    let config = server.config().with_proxy(proxy(&url));
    assert_eq!(
        wrong(config, stranger.address, server.address).await,
        "get ConfigMap default/a: cannot connect to https://SERVER through the proxy https://PROXY (the proxy given by the program): the proxy's certificate is not signed by a trusted authority: the client trusts the system's certificate authorities and the certificate authority (given by the program); add the authority that signed the certificate to the system's"
    );
    assert_eq!(stranger.asked().len(), 0, "it learns nothing");
}

#[tokio::test]
async fn behind_a_proxy_the_servers_certificate_is_verified() {
    let server = Server::start(&site()).await;
    let stand_in = ScriptedProxy::http(OPEN, server.address, None).await;
    let config = server
        .config()
        .with_certificate_authority(Authority::new().pem)
        .with_proxy(proxy(&format!("http://{}", stand_in.address)));
    let error = wrong(config, stand_in.address, server.address).await;
    assert!(error.contains("through the proxy http://PROXY (the proxy given by the program): the server's certificate is not signed by a trusted authority"), "{error}");
}

#[tokio::test]
async fn the_error_of_a_refusing_proxy_says_what_to_do() {
    let server = Server::start(&site()).await;
    let target = server.address;
    let table = [
        (
            "HTTP/1.1 407 Authenticate\r\n\r\n",
            "http://PROXY",
            "the proxy wants a user name and a password: put them into its URL, as in http://user:password@proxy:3128",
        ),
        (
            "HTTP/1.1 407 Authenticate\r\n\r\n",
            "http://me:hunter2@PROXY",
            "the proxy refuses the user name or the password: correct them in the proxy's URL",
        ),
        (
            "HTTP/1.1 403 No\r\nContent-Length: 7\r\n\r\nhunter2",
            "http://PROXY",
            "the proxy does not allow connections to this server (403 Forbidden): have it allow them, or name the server in NO_PROXY if it can be reached directly",
        ),
        (
            "HTTP/1.1 502 Bad\r\n\r\n",
            "http://PROXY",
            "the proxy cannot connect to the server (502 Bad Gateway): check the cluster's `server`, and whether it can be reached from the proxy, or name the server in NO_PROXY if it can be reached directly",
        ),
        (
            "HTTP/1.1 405 No\r\n\r\n",
            "http://PROXY",
            "the proxy makes no connection (405 Method Not Allowed): check that it allows tunnels, or name the server in NO_PROXY if it can be reached directly",
        ),
        (
            "",
            "http://PROXY",
            "the proxy ended the connection without a response: check the scheme of its URL, and its log",
        ),
        (
            "HTTP/1.1 2",
            "http://PROXY",
            "the proxy ended the connection without a response: check the scheme of its URL, and its log",
        ),
        (
            "SSH-2.0-OpenSSH_9\r\n",
            "http://PROXY",
            "the proxy does not speak HTTP: check the scheme and the port of its URL",
        ),
    ];
    for (answer, url, expected) in table {
        let stand_in = ScriptedProxy::http(answer, target, None).await;
        let url = url.replace("PROXY", &stand_in.address.to_string());
        let config = server.config().with_proxy(proxy(&url));
        assert_eq!(
            wrong(config, stand_in.address, target).await,
            format!(
                "get ConfigMap default/a: cannot connect to https://SERVER through the proxy http://PROXY (the proxy given by the program): {expected}"
            )
        );
    }
}

#[tokio::test]
async fn the_error_of_a_refusing_socks5_proxy_says_what_to_do() {
    let server = Server::start(&site()).await;
    let target = server.address;
    let table = [
        (
            [0xff, 0, 0],
            "",
            "the proxy wants a user name and a password",
        ),
        (
            [0xff, 0, 0],
            "me:hunter2@",
            "the proxy refuses the user name or the password",
        ),
        (
            [2, 1, 0],
            "me:hunter2@",
            "the proxy refuses the user name or the password",
        ),
        ([2, 1, 0], "", "the proxy does not speak SOCKS5"),
        (
            [0, 0, 2],
            "",
            "the proxy does not allow connections to this server (not allowed by its rules)",
        ),
        (
            [0, 0, 4],
            "",
            "the proxy cannot connect to the server (host unreachable)",
        ),
        (
            [0, 0, 5],
            "",
            "the proxy cannot connect to the server (connection refused)",
        ),
        (
            [0, 0, 7],
            "",
            "the proxy makes no connection (it does not know CONNECT)",
        ),
        ([0, 0, 99], "", "the proxy makes no connection (reply 99)"),
    ];
    for ([method, verdict, reply], user, expected) in table {
        let stand_in = ScriptedProxy::socks5(method, verdict, reply, target).await;
        let url = format!("socks5://{user}{}", stand_in.address);
        let config = server.config().with_proxy(proxy(&url));
        let error = wrong(config, stand_in.address, target).await;
        let start = "get ConfigMap default/a: cannot connect to https://SERVER through the proxy socks5://PROXY (the proxy given by the program): ";
        let rest = error.strip_prefix(start).unwrap_or(&error);
        assert!(rest.starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_a_proxy_is_reported() {
    let server = Server::start(&site()).await;
    let table = [
        (
            "https",
            "SSH-2.0-OpenSSH_9\r\n",
            "the proxy does not speak TLS: check whether its URL has to begin with http://",
        ),
        (
            "socks5",
            "SSH-2.0-OpenSSH_9\r\n",
            "the proxy does not speak SOCKS5: check the scheme and the port of its URL",
        ),
        (
            "socks5",
            "",
            "the proxy ended the connection without a response: check the scheme of its URL, and its log",
        ),
    ];
    for (scheme, says, expected) in table {
        let stand_in = ScriptedProxy::other(says).await;
        let url = format!("{scheme}://{}", stand_in.address);
        let config = server.config().with_proxy(proxy(&url));
        let error = wrong(config, stand_in.address, server.address).await;
        assert!(error.ends_with(expected), "{error}");
    }
    // Bound, so that no other program gets the port, but not listening.
    let gone = TcpSocket::new_v4().unwrap();
    gone.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = gone.local_addr().unwrap();
    let config = server
        .config()
        .with_proxy(proxy(&format!("http://{address}")));
    assert_eq!(
        wrong(config, address, server.address).await,
        "get ConfigMap default/a: cannot connect to https://SERVER through the proxy http://PROXY (the proxy given by the program): nothing listens at the proxy's address: check that the proxy runs and that its URL is right, or name the server in NO_PROXY if it can be reached directly"
    );
}

#[tokio::test]
async fn a_silent_server_or_proxy_ends_the_dial_at_the_connect_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = |server: &str| {
        Config::new(server.parse().unwrap())
            .with_certificate_authority(Authority::new().pem)
            .with_deadlines(Deadlines::default().connect(Duration::from_millis(100)))
    };
    let proxied = |scheme| {
        let proxy = proxy(&format!("{scheme}://{address}"));
        config("https://api.example").with_proxy(proxy)
    };
    // The other side accepts the connection and waits for the TLS handshake, or for the request to the proxy.
    for config in [
        config(&format!("https://{address}")),
        proxied("http"),
        proxied("https"),
        proxied("socks5"),
    ] {
        let error = wrong(config, address, address).await;
        assert!(error.contains("no connection within 0.1 s"), "{error}");
    }
}

#[tokio::test]
async fn the_password_of_a_proxy_is_never_shown() {
    let (log, _guard) = LogRecorder::listen();
    let server = Server::start(&site()).await;
    let http = ScriptedProxy::http(OPEN, server.address, None).await;
    let refusing = ScriptedProxy::http("HTTP/1.1 407 No\r\n\r\n", server.address, None).await;
    let socks = ScriptedProxy::socks5(2, 0, 0, server.address).await;
    let refused = ScriptedProxy::socks5(2, 1, 0, server.address).await;
    let proxies = [
        ("http", &http),
        ("http", &refusing),
        ("socks5", &socks),
        ("socks5", &refused),
    ];
    for (scheme, stand_in) in proxies {
        let url = format!("{scheme}://only-me:hunter2@{}", stand_in.address);
        let config = server.config().with_proxy(proxy(&url));
        log.add(format_args!("{config:?} {:?}", config.proxy()));
        let client = Client::new(config).unwrap();
        log.add(format_args!("{client:?}"));
        let maps = Api::<ConfigMap>::namespaced(&client, "default");
        if let Err(error) = maps.get("a").await {
            log.add(format_args!("{error} {error:?}"));
        }
    }
    let said = log.said();
    assert!(
        said.contains(&http.address.to_string()),
        "nothing was caught"
    );
    // As text, and in base64 with any prefix.
    for secret in ["hunter2", "only-me", "b25seS1tZ", "aHVudGVyM"] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
}
