//! R13: users of the same kind and scope share one informer.

use std::collections::BTreeMap;

use pilothouse::k8s::api::core::v1::ConfigMap;

use super::started;
use crate::probe::Probe;

#[tokio::test(start_paused = true)]
async fn controllers_that_watch_one_kind_share_one_watch() {
    let probes = ["one", "two"].map(|name| Probe::idle().reading::<ConfigMap>(name));
    let (cluster, running) = started(probes).await;
    cluster.settle().await;
    let mut asked: BTreeMap<(String, String), usize> = BTreeMap::new();
    for request in cluster.requests() {
        if ["list", "watch"].contains(&request.verb.as_str()) {
            *asked.entry((request.verb, request.resource)).or_default() += 1;
        }
    }
    // The list is streamed: it is the start of the watch.
    let once = |resource: &str| (("watch".to_owned(), resource.to_owned()), 1);
    assert_eq!(asked, ["widgets", "configmaps"].map(once).into());
    running.stop().await;
}
