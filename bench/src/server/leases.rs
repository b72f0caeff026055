//! Updates of Leases. The server accepts each as it arrives and sends no watch event.

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::Value;

use super::{
    Served,
    answer::{Answer, Parts, failure, json},
};

/// Answers with the sent object and a resource version.
pub(super) fn answer(served: &Served, path: &str, body: &Bytes) -> Answer {
    if !is_lease(path) {
        return failure(
            StatusCode::NOT_FOUND,
            &format!("PUT {path}: this server updates only Leases"),
        );
    }
    let mut lease: Value = match serde_json::from_slice(body) {
        Ok(lease @ Value::Object(_)) => lease,
        _ => {
            return failure(
                StatusCode::BAD_REQUEST,
                &format!("PUT {path}: the body is not a JSON object"),
            );
        }
    };
    let version = served.last_version() + served.counts.renewal();
    lease["metadata"]["resourceVersion"] = version.to_string().into();
    json(StatusCode::OK, Parts::new([lease.to_string().into()]))
}

fn is_lease(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(
        parts[..],
        ["", "apis", "coordination.k8s.io", "v1", "namespaces", _, "leases", name] if !name.is_empty()
    )
}
