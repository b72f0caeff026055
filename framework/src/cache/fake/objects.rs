//! Objects for tests.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::sleep;

use crate::resource::{ApiResource, ObjectKey, OwnerReference, Undecodable};

/// An object with this resource version.
pub(crate) fn object(
    namespace: &str,
    name: &str,
    uid: &str,
    version: u64,
    owners: &[&str],
) -> ConfigMap {
    let mut object = ConfigMap::default();
    let owner = |uid: &&str| OwnerReference {
        uid: uid.to_string(),
        ..OwnerReference::default()
    };
    object.metadata.namespace = Some(namespace.into());
    object.metadata.name = Some(name.into());
    object.metadata.uid = Some(uid.into());
    object.metadata.resource_version = Some(version.to_string());
    object.metadata.owner_references = Some(owners.iter().map(owner).collect());
    object
}

/// An object with this resource version that does not decode.
pub(crate) fn undecodable(namespace: &str, name: &str, uid: &str, version: u64) -> Undecodable {
    Undecodable {
        resource: ApiResource::of::<ConfigMap>(),
        key: ObjectKey::namespaced(namespace, name),
        uid: Some(uid.into()),
        resource_version: Some(version.to_string()),
        labels: BTreeMap::new(),
        owner_references: Vec::new(),
        is_deleting: false,
        reason: "data.x: expected a string".into(),
    }
}

/// Lets all tasks run that wait for no time.
pub(crate) async fn run_ready_tasks() {
    sleep(Duration::from_millis(1)).await;
}
