use http::{HeaderValue, Response};

use super::query::Query;
use super::respond::{self, Body};
use crate::core::Core;

/// What `/healthz`, `/livez` and `/readyz` check, in the order of a real server.
///
/// - `etcd` and `etcd-readiness` fail once the data folder cannot be written, and `shutdown` once the sandbox ends.
/// - `ping`, `log` and `informer-sync` always succeed: who answers has read its state. So does `loopback-serving-certificate`, because the server does not
///   call itself over the network.
/// - The others are what a real server begins while it listens already. The sandbox does not listen before it has its first objects, so its roles,
///   priority classes, range of addresses and namespaces exist. It has no leases of servers, no other servers, no aggregation and
///   no flow control, whose checks always succeed, too.
const CHECKS: &[&str] = &[
    "ping",
    "log",
    "loopback-serving-certificate",
    "etcd",
    "etcd-readiness",
    "informer-sync",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
    "shutdown",
];

/// The checks that only `/readyz` has, and those that it has not.
const ONLY_READY: [&str; 3] = ["etcd-readiness", "informer-sync", "shutdown"];
const NOT_READY: [&str; 1] = ["loopback-serving-certificate"];

fn checks(endpoint: &str) -> impl Iterator<Item = &'static str> {
    let without: &[&str] = match endpoint {
        "readyz" => &NOT_READY,
        _ => &ONLY_READY,
    };
    CHECKS
        .iter()
        .copied()
        .filter(|check| !without.contains(check))
}

const TEXT: &str = "text/plain; charset=utf-8";

/// Answers a health check, all checks of `endpoint` or one of them. `?verbose` lists them, `?exclude=NAME` leaves one out.
///
/// Source: apiserver's package `healthz`.
pub(super) async fn handle(
    core: &Core,
    endpoint: &str,
    check: &[&str],
    query: &Query,
) -> Response<Body> {
    if check.is_empty() {
        return all(core, endpoint, query).await;
    }
    let check = check.join("/");
    match checks(endpoint).find(|one| *one == check) {
        None => respond::no_such_path(),
        Some(one) if is_ok(core, one).await => respond::bytes(200, TEXT, "ok"),
        Some(one) => respond::bytes(500, TEXT, format!("internal server error: {one} failed\n")),
    }
}

/// The paths of all checks.
pub(super) fn paths() -> Vec<String> {
    let endpoints = ["healthz", "livez", "readyz"].into_iter();
    let paths = endpoints.flat_map(|endpoint| {
        let checks = checks(endpoint).map(move |check| format!("/{endpoint}/{check}"));
        std::iter::once(format!("/{endpoint}")).chain(checks)
    });
    paths.collect()
}

async fn all(core: &Core, endpoint: &str, query: &Query) -> Response<Body> {
    let mut excluded: Vec<&str> = query.all("exclude").collect();
    excluded.sort_unstable();
    excluded.dedup();
    let (mut lines, mut is_healthy) = (String::new(), true);
    for check in checks(endpoint) {
        let is_excluded = excluded.contains(&check);
        excluded.retain(|name| *name != check);
        lines += &match () {
            () if is_excluded => format!("[+]{check} excluded: ok\n"),
            () if is_ok(core, check).await => format!("[+]{check} ok\n"),
            () => {
                is_healthy = false;
                format!("[-]{check} failed: reason withheld\n")
            }
        };
    }
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(",");
        lines += &format!("warn: some health checks cannot be excluded: no matches for {names}\n");
    }
    if !is_healthy {
        return plain(500, lines + &format!("{endpoint} check failed\n"));
    }
    match query.find("verbose") {
        Some(_) => plain(200, lines + &format!("{endpoint} check passed\n")),
        None => plain(200, "ok".into()),
    }
}

async fn is_ok(core: &Core, check: &str) -> bool {
    match check {
        "etcd" | "etcd-readiness" => core.store.flushed().await.is_ok(),
        "shutdown" => !core.cancel.is_cancelled(),
        _ => true,
    }
}

fn plain(code: u16, text: String) -> Response<Body> {
    let mut response = respond::bytes(code, TEXT, text);
    let nosniff = HeaderValue::from_static("nosniff");
    response
        .headers_mut()
        .insert("x-content-type-options", nosniff);
    response
}
