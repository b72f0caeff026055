use http::{HeaderValue, Response};

use super::query::Query;
use super::respond::{self, Body};
use crate::core::Core;

/// What `/healthz`, `/livez` and `/readyz` check. The names are those of a real server, which has many more.
const CHECKS: [&str; 3] = ["ping", "log", "etcd"];

const TEXT: &str = "text/plain; charset=utf-8";

/// Answers a health check, all checks of `endpoint` or one of them. `?verbose` lists them, `?exclude=NAME` leaves one out. The check `etcd` fails once the
/// data folder cannot be written.
///
/// Source: apiserver's package `healthz`.
pub(super) async fn handle(
    core: &Core,
    endpoint: &str,
    check: &[&str],
    query: &Query,
) -> Response<Body> {
    match check {
        [] => all(core, endpoint, query).await,
        [one] if CHECKS.contains(one) => match is_ok(core, one).await {
            true => respond::bytes(200, TEXT, "ok"),
            false => respond::bytes(500, TEXT, format!("internal server error: {one} failed\n")),
        },
        _ => respond::no_such_path(),
    }
}

/// The paths of all checks.
pub(super) fn paths() -> Vec<String> {
    let endpoints = ["/healthz", "/livez", "/readyz"].into_iter();
    endpoints
        .flat_map(|endpoint| {
            let checks = CHECKS
                .iter()
                .map(move |check| format!("{endpoint}/{check}"));
            std::iter::once(endpoint.to_owned()).chain(checks)
        })
        .collect()
}

async fn all(core: &Core, endpoint: &str, query: &Query) -> Response<Body> {
    let mut excluded: Vec<&str> = query.all("exclude").collect();
    excluded.sort_unstable();
    excluded.dedup();
    let (mut lines, mut is_healthy) = (String::new(), true);
    for check in CHECKS {
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
    check != "etcd" || core.store.flushed().await.is_ok()
}

fn plain(code: u16, text: String) -> Response<Body> {
    let mut response = respond::bytes(code, TEXT, text);
    let nosniff = HeaderValue::from_static("nosniff");
    response
        .headers_mut()
        .insert("x-content-type-options", nosniff);
    response
}
