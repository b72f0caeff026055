//! What `/readyz?verbose` tells of caches, and who is shown the debug page.

use std::net::SocketAddr;

use pilothouse_sandbox::RequestMatcher;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::sleep,
};

use super::world::*;
use crate::server::Address;

/// For how long the line says that something fails.
fn age(line: &str) -> u64 {
    let (_, age) = line.rsplit_once("failing for ").unwrap_or_default();
    let age = age.strip_suffix(" s)").and_then(|age| age.parse().ok());
    age.unwrap_or_else(|| panic!("no age in {line:?}"))
}

#[tokio::test(start_paused = true)]
async fn a_failing_watch_is_told_with_its_age_from_the_first_second() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let running = a.start(a.unelected(&Scribe::quick())).await;
    let line = || ready(&running, "informer-configmaps");
    assert_eq!(line(), "[+]informer-configmaps ok");

    a.sky.outage(true);
    sandbox.faults().drop_watches(&RequestMatcher::any());
    sleep(seconds(2)).await;
    let begin = "[+]informer-configmaps ok: cannot watch configmaps in all namespaces: ";
    assert!(line().starts_with(begin), "{}", line());
    assert!((1..=2).contains(&age(&line())), "{}", line());
    assert!(is_ready(&running), "the cache may still be used");

    // Nothing that failed in between begins the time anew.
    sleep(seconds(150)).await;
    assert!(
        line().starts_with("[-]informer-configmaps failed: "),
        "{}",
        line()
    );
    assert!(age(&line()) >= 151, "{}", line());

    a.sky.outage(false);
    sleep(seconds(60)).await;
    assert_eq!(line(), "[+]informer-configmaps ok");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn controllers_are_not_ready_before_their_caches_have_synced() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.sky.outage(true);
    let operator = a.unelected(&Scribe::quick());
    let running = operator.start(a.client.clone()).await.unwrap();
    let line = || ready(&running, "controllers");
    assert!(
        line().starts_with("[-]controllers failed: configmap "),
        "{}",
        line()
    );

    sleep(seconds(3)).await;
    let begin = "[-]controllers failed: configmap waiting for its caches: cannot list configmaps in all namespaces: ";
    assert!(line().starts_with(begin), "{}", line());
    assert!((2..=3).contains(&age(&line())), "{}", line());

    a.sky.outage(false);
    running.synced().await;
    assert_eq!(line(), "[+]controllers ok");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_metrics_tell_what_the_operator_is_and_was_built_with() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let operator = a.unelected(&Scribe::quick()).version("1.2.3");
    let running = a.start(operator).await;
    let text = running.metrics().encode();
    let info = text
        .lines()
        .find(|line| line.starts_with("pilothouse_build_info{"));
    let info = info.unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for label in [
        "kubernetes=\"1.",
        "operator=\"scribe\"",
        "operator_version=\"1.2.3\"",
        "rustc=\"1.",
        &format!("version=\"{version}\"}} 1"),
    ] {
        assert!(info.contains(label), "{label} is missing in {info}");
    }
    running.stop().await;
}

/// Status and text of an answer to a request for that host.
async fn get(address: SocketAddr, path: &str, host: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

#[tokio::test]
async fn the_debug_page_is_shown_for_hosts_of_its_own_only() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let operator = a
        .unelected(&Scribe::quick())
        .metrics_address(Address::loopback(0))
        .debug_page()
        .debug_hosts(["debug.example.com"]);
    let running = a.start(operator).await;
    let address = running.http_address().unwrap();
    let port = address.port();
    for path in ["/debug", "/debug/state.json"] {
        for host in [
            "localhost",
            &format!("127.0.0.1:{port}"),
            "debug.example.com",
        ] {
            assert_eq!(get(address, path, host).await.0, 200, "{path} {host}");
        }
        let (status, text) = get(address, path, &format!("evil.example:{port}")).await;
        assert_eq!(status, 421, "{path}");
        let expected = format!("the host \"evil.example:{port}\" is not one of this page's: ");
        assert!(text.starts_with(&expected), "{text}");
    }
    // A kubelet and a Prometheus name whatever host they are told to.
    for path in ["/metrics", "/livez", "/readyz"] {
        assert_eq!(get(address, path, "pods.example").await.0, 200, "{path}");
    }
    running.stop().await;
}
