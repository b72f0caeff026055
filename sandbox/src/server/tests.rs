use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use super::service;
use crate::authentication::{Tokens, Trust};
use crate::authority::Authority;
use crate::authorization::Mode;
use crate::builtin;
use crate::clock::Clock;
use crate::core::{Core, Features};
use crate::disk::tests::on_disk_that_gets_full;
use crate::record::RequestLog;
use crate::registry::Registry;
use crate::store::Store;

fn core(store: Arc<Store>) -> Arc<Core> {
    Core::new(
        Clock::new(None, 1),
        store,
        (
            Tokens::new(BTreeMap::new(), false, BTreeMap::new()),
            Authority::new().unwrap(),
            Mode::AlwaysAllow,
        ),
        RequestLog::new(10, None),
        Features {
            cbor: false,
            controls: false,
            service_accounts: false,
        },
        Registry::new(builtin::kinds()),
    )
}

async fn send(core: &Arc<Core>, method: &str, path: &str, body: &Value) -> u16 {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let answer = service::handle(core.clone(), Trust::Admin, request).await;
    answer.unwrap().status().as_u16()
}

/// A request that waits for a full disk fails.
#[tokio::test]
async fn a_dry_run_does_not_wait_for_the_disk() {
    let (store, full) = on_disk_that_gets_full();
    let core = core(store);
    let (all, node) = ("/api/v1/nodes", json!({"metadata": {"name": "a"}}));
    assert_eq!(send(&core, "POST", all, &node).await, 201);
    full.store(true, Ordering::Relaxed);
    let labels = json!({"metadata": {"name": "a", "labels": {"a": "b"}}});
    assert_eq!(send(&core, "PUT", "/api/v1/nodes/a", &labels).await, 500);

    let dry = "/api/v1/nodes/a?dryRun=All";
    assert_eq!(send(&core, "PUT", dry, &node).await, 200);
    assert_eq!(send(&core, "DELETE", dry, &json!({})).await, 200);
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]});
    assert_eq!(
        send(&core, "DELETE", "/api/v1/nodes/a", &options).await,
        200
    );
    // A dry run of another object still tells what is wrong with it.
    let wrong = json!({"metadata": {"name": "A"}});
    assert_eq!(
        send(&core, "POST", "/api/v1/nodes?dryRun=All", &wrong).await,
        422
    );
}
