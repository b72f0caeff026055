//! What `/readyz?verbose` shows of the caches, and for which hosts the debug page is served.

use std::net::SocketAddr;

use k8s_openapi::api::core::v1::ConfigMap;
use pilothouse_sandbox::{Answer, RequestMatcher};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::sleep,
};

use super::world::*;
use crate::{cache::InformerScope, resource::ApiResource, server::Address};

/// The time in the line since when something fails.
fn age(line: &str) -> u64 {
    let (_, age) = line.rsplit_once("failing for ").unwrap_or_default();
    let age = age.strip_suffix(" s)").and_then(|age| age.parse().ok());
    age.unwrap_or_else(|| panic!("no age in {line:?}"))
}

#[tokio::test(start_paused = true)]
async fn readiness_shows_a_failing_watch_and_its_age_from_the_first_second() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let running = a.start(a.unelected(&Scribe::quick())).await;
    let line = || ready(&running, "informer-configmaps");
    assert_eq!(line(), "[+]informer-configmaps ok");

    a.network.outage(true);
    sandbox.faults().drop_watches(&RequestMatcher::any());
    sleep(seconds(2)).await;
    let begin = "[+]informer-configmaps ok: cannot watch configmaps in all namespaces: ";
    assert!(line().starts_with(begin), "{}", line());
    assert!((1..=2).contains(&age(&line())), "{}", line());
    assert!(is_ready(&running), "the cache may still be used");

    // Other failures in between do not restart the age.
    sleep(seconds(150)).await;
    assert!(
        line().starts_with("[-]informer-configmaps failed: "),
        "{}",
        line()
    );
    assert!(age(&line()) >= 151, "{}", line());

    a.network.outage(false);
    sleep(seconds(60)).await;
    assert_eq!(line(), "[+]informer-configmaps ok");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn readiness_shows_a_failing_cache_behind_a_healthy_one_of_the_same_kind() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let running = a.start(a.unelected(&Scribe::quick())).await;
    let team = RequestMatcher::any().namespace("team");
    let forbidden = Answer::status(403, "Forbidden");
    sandbox.faults().answer(team, forbidden, usize::MAX);
    let scope = InformerScope::all().namespace("team");
    running.informers.informer::<ConfigMap>(scope);
    sleep(seconds(5)).await;
    let line = ready(&running, "informer-configmaps");
    assert!(
        line.starts_with("[-]informer-configmaps failed: "),
        "{line}"
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_may_wait_for_conversions_does_not_keep_the_operator_from_being_ready() {
    let kind = ApiResource::of::<ConfigMap>();
    let answered = |code, reason| Some(Answer::status(code, reason));
    for (answer, ready_at_first, ready_later) in [
        (answered(500, "InternalError"), true, true),
        // The API server perhaps waits for a replica.
        (None, false, true),
        (answered(403, "Forbidden"), false, false),
        (answered(404, "NotFound"), false, false),
    ] {
        let sandbox = sandbox();
        let a = Process::of(&sandbox, "a");
        let reads = RequestMatcher::any().resource("configmaps");
        match answer {
            Some(answer) => sandbox.faults().answer(reads, answer, usize::MAX),
            None => sandbox
                .faults()
                .delay_requests(reads, seconds(20), usize::MAX),
        }
        let operator = a.unelected(&Scribe::quick());
        let running = operator.start(a.client.clone()).await.unwrap();
        let other = running.readiness.clone();
        let mut readiness = other.clone();
        readiness
            .own_kinds
            .converted
            .insert(kind.qualified_plural());
        sleep(seconds(3)).await;
        assert_eq!(readiness.check(&kind).is_ok(), ready_at_first);
        sleep(seconds(4)).await;
        let shown = readiness.check(&kind);
        assert_eq!(shown.is_ok(), ready_later, "{shown:?}");
        assert!(
            shown.is_err() || shown.unwrap().is_some(),
            "the problem is shown"
        );
        assert_eq!(readiness.check_controllers(), Ok(()));
        assert!(other.check(&kind).is_err() && other.check_controllers().is_err());
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_names_every_kind_and_namespace_that_is_forbidden_from_the_start() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    for resource in ["configmaps", "secrets"] {
        let reads = RequestMatcher::any().resource(resource);
        let forbidden = Answer::status(403, "Forbidden");
        sandbox.faults().answer(reads, forbidden, usize::MAX);
    }
    let operator = a
        .unelected(&Scribe::quick())
        .namespaces(["v7", "v8", "nope"]);
    let running = operator.start(a.client.clone()).await.unwrap();
    sleep(seconds(1)).await;
    for kind in ["configmaps", "secrets"] {
        let line = ready(&running, &format!("informer-{kind}"));
        for namespace in ["v7", "v8", "nope"] {
            let rule = format!(
                "bind this identity to a Role in {namespace} with apiGroups: [\"\"], resources: [\"{kind}\"]"
            );
            assert!(line.contains(&rule), "{namespace} is missing in {line}");
        }
    }
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_watch_makes_the_operator_unready_at_once() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let running = a.start(a.unelected(&Scribe::quick())).await;
    let watch = RequestMatcher::any().resource("configmaps").verb("watch");
    let forbidden = Answer::status(403, "Forbidden");
    sandbox.faults().answer(watch, forbidden, usize::MAX);
    sandbox.faults().drop_watches(&RequestMatcher::any());
    sleep(seconds(1)).await;
    let line = ready(&running, "informer-configmaps");
    assert!(
        line.starts_with("[-]informer-configmaps failed: cannot watch"),
        "{line}"
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn controllers_are_not_ready_before_their_caches_have_synced() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.network.outage(true);
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

    a.network.outage(false);
    running.synced().await;
    assert_eq!(line(), "[+]controllers ok");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_may_not_list_is_not_ready_although_its_caches_have_synced() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    // The watch brings the first list; a plain list is forbidden.
    let list = RequestMatcher::any().resource("configmaps").verb("list");
    let forbidden = Answer::status(403, "Forbidden");
    sandbox.faults().answer(list, forbidden, usize::MAX);
    let operator = a.operator(&Scribe::quick());
    let running = operator.start(a.client.clone()).await.unwrap();
    sleep(seconds(30)).await;
    assert_eq!(
        ready(&running, "informer-configmaps"),
        "[+]informer-configmaps ok"
    );
    let line = ready(&running, "controllers");
    assert!(
        line.starts_with("[-]controllers failed: configmap no reconcile starts"),
        "{line}"
    );
    assert!(
        line.contains("list configmaps in all namespaces: "),
        "{line}"
    );
    assert!(line.contains("a ClusterRole with "), "{line}");

    sandbox.faults().clear();
    sleep(seconds(5)).await;
    assert_eq!(ready(&running, "controllers"), "[+]controllers ok");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_metrics_contain_the_operators_versions() {
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

/// Status and text of the response to a request for that host.
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
async fn the_debug_page_is_served_only_for_its_own_hosts() {
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
    for path in ["/debug", "/debug/state.json", "/debug/search.json"] {
        for host in [
            "localhost",
            &format!("127.0.0.1:{port}"),
            "debug.example.com",
        ] {
            assert_eq!(get(address, path, host).await.0, 200, "{path} {host}");
        }
        let (status, text) = get(address, path, &format!("evil.example:{port}")).await;
        assert_eq!(status, 421, "{path}");
        let expected = format!("the host \"evil.example:{port}\" is not allowed for this page: ");
        assert!(text.starts_with(&expected), "{text}");
    }
    // A kubelet or a Prometheus may use any host name.
    for path in ["/metrics", "/livez", "/readyz"] {
        assert_eq!(get(address, path, "pods.example").await.0, 200, "{path}");
    }
    running.stop().await;
}
