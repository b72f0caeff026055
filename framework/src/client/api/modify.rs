use serde::{Serialize, de::DeserializeOwned};

use super::api::Api;
use crate::{
    client::{Backoff, Error, PostParams},
    resource::{ByName, Object},
};

/// Read, change and write an object.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Reads the object named `name`, calls `change` with it, and replaces it. If another write came between, this
    /// starts again, up to five times in all. `change` gets the newest object each time.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// maps.modify("settings", &PostParams::default(), |map| {
    ///     map.data.get_or_insert_default().insert("colour".into(), "blue".into());
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_conflict`] if other writes came between five times.
    /// [`retry_on_conflict`](crate::client::retry_on_conflict) makes more attempts.
    pub async fn modify(
        &self,
        name: &str,
        params: &PostParams,
        change: impl FnMut(&mut K),
    ) -> Result<K, Error>
    where
        R: ByName,
    {
        self.modify_at(name, None, params, change).await
    }

    /// As [`modify`](Self::modify), but replaces only the status of the object.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::Node};
    /// # async fn example(nodes: Api<Node>) -> Result<(), Error> {
    /// nodes.modify_status("node-1", &PostParams::default(), |node| {
    ///     node.status.get_or_insert_default().phase = Some("Running".into());
    /// })
    /// .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    pub async fn modify_status(
        &self,
        name: &str,
        params: &PostParams,
        change: impl FnMut(&mut K),
    ) -> Result<K, Error>
    where
        R: ByName,
    {
        self.modify_at(name, Some("status"), params, change).await
    }

    async fn modify_at(
        &self,
        name: &str,
        subresource: Option<&str>,
        params: &PostParams,
        mut change: impl FnMut(&mut K),
    ) -> Result<K, Error> {
        let backoff = Backoff::default();
        let mut tried = 0;
        loop {
            let mut object: K = self.read(self.call("get", Some(name), subresource)).await?;
            change(&mut object);
            let call = self.call("update", Some(name), subresource);
            let outcome = self.post(call, params, &object).await;
            let outcome = outcome.map(|object| self.told_of(object));
            tried += 1;
            match outcome {
                Err(error) if error.is_conflict() && tried < backoff.steps => {
                    tokio::time::sleep(backoff.after(tried)).await;
                }
                outcome => return outcome,
            }
        }
    }
}
