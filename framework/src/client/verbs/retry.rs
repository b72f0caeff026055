use std::future::Future;

use super::Backoff;
use crate::client::Error;

/// Calls `attempt` until it comes to anything but a conflict, as often as `backoff` says, and gives
/// its last outcome (client-go's `RetryOnConflict`).
///
/// `attempt` has to read the object anew each time, or it meets the same conflict again.
/// [`Api::modify`](crate::client::Api::modify) is the usual case ready made.
///
/// ```no_run
/// # use pilothouse::{client::{Api, Backoff, Error, PostParams, retry_on_conflict}, k8s::api::core::v1::Node};
/// # async fn example(nodes: Api<Node>) -> Result<(), Error> {
/// retry_on_conflict(&Backoff::contended(), || async {
///     let mut node = nodes.get("node-1").await?;
///     node.metadata.labels.get_or_insert_default().insert("drained".into(), "true".into());
///     nodes.replace("node-1", &PostParams::default(), &node).await
/// })
/// .await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// The last attempt's.
pub async fn retry_on_conflict<T, F>(
    backoff: &Backoff,
    mut attempt: impl FnMut() -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut tried = 0;
    loop {
        let outcome = attempt().await;
        tried += 1;
        match outcome {
            Err(error) if error.is_conflict() && tried < backoff.steps => {
                tokio::time::sleep(backoff.after(tried)).await;
            }
            outcome => return outcome,
        }
    }
}
