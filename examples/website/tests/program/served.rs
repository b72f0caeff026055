//! Metrics, health and the debug page, with the flags for serving.

use std::io::{Read, Write};

use crate::dev::Dev;
use crate::run::{World, get};

#[tokio::test(flavor = "multi_thread")]
async fn metrics_over_https_are_shown_only_to_authorized_clients() {
    let world = World::new().await;
    let flags = [
        "--leader-elect=false",
        "--metrics-secure",
        "--metrics-auth",
        "--debug-page",
    ];
    let website = world.run(&flags);
    assert!(website.url.starts_with("https://"), "{}", website.url);
    website.ready("readyz check passed").await;
    let metrics = get(&website.url, "/metrics", "prom").await;
    assert_eq!(metrics.0, 200);
    assert!(metrics.1.contains("controller_runtime_active_workers"));
    let denied = |user: &str| (403, format!("Authorization denied for user {user}\n"));
    assert_eq!(get(&website.url, "/metrics", "ann").await, denied("ann"));
    assert_eq!(
        get(&website.url, "/debug", "prom").await,
        denied("prometheus")
    );
    for (path, token) in [("/metrics", ""), ("/metrics", "nobody"), ("/debug", "")] {
        assert_eq!(get(&website.url, path, token).await.0, 401, "{path}");
    }
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(get(&website.url, path, "").await, (200, "ok".into()));
    }
    // The listener does not respond over plain HTTP.
    let mut plain = std::net::TcpStream::connect(website.address()).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // The connection may be reset.
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_serves_over_https_at_the_address_that_it_prints() {
    let dev = Dev::start_with(&["--metrics-secure", "--debug-page"], &[]);
    let url = format!("https://{}", dev.metrics);
    assert!(
        dev.banner.contains(&format!("{url}/metrics\n")),
        "{}",
        dev.banner
    );
    for path in ["/metrics", "/readyz", "/debug"] {
        assert_eq!(get(&url, path, "").await.0, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_links_to_the_debug_page_of_its_operator() {
    for flags in [&[][..], &["--metrics-secure"]] {
        let dev = Dev::start_with(flags, &[]);
        let link = dev.banner_entry("debug");
        let (url, path) = link.rsplit_once('/').unwrap();
        let page = get(url, &format!("/{path}"), "").await;
        assert_eq!(page.0, 200, "{link}");
        assert!(page.1.contains("<ol id=\"timeline\""), "{link}");
        // What the page loads, beside itself.
        let (code, state) = get(url, &format!("/{path}/state.json"), "").await;
        let state: serde_json::Value = serde_json::from_str(&state).unwrap();
        assert_eq!((code, &state["operator"]), (200, &"website".into()));
        assert_eq!(state["controllers"][0]["name"], "website");
    }
}
