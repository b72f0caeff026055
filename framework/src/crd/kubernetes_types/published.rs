//! The schemas of the types of Kubernetes, as its OpenAPI document has them, without descriptions.
//!
//! `schemas.txt` has a line for each type: its name and its schema, in which `#/$defs/…` refers to another line. The lines are sorted. A test with
//! the feature `k8s-descriptions` compares the file with k8s-openapi, and writes it with `UPDATE_SCHEMAS=1`.

use std::sync::LazyLock;

use serde_json::Value;

static LINES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let lines = include_str!("schemas.txt").lines();
    lines.filter_map(|line| line.split_once(' ')).collect()
});

/// The schema of a type by its name, such as `io.k8s.api.core.v1.PodSpec`. `None` for a type that the newest Kubernetes does not have.
pub(super) fn schema(name: &str) -> Option<Value> {
    let at = LINES.binary_search_by_key(&name, |(of, _)| of).ok()?;
    serde_json::from_str(LINES[at].1).ok()
}
