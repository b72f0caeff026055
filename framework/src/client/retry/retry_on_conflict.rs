use std::future::Future;

use super::backoff::Backoff;
use crate::client::Error;

/// Calls `attempt` until it returns anything but a conflict, or `backoff` allows no more attempts. Returns the last
/// result (client-go's `RetryOnConflict`).
///
/// `attempt` must read the object again each time; otherwise it meets the same conflict again.
/// [`Api::modify`](crate::client::Api::modify) does so for the usual case.
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
/// The error of the last attempt.
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
