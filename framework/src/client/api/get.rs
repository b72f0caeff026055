use serde::{Serialize, de::DeserializeOwned};

use super::api::Api;
use crate::{
    client::{Error, GetParams, request::url::Query},
    resource::{ByName, Object},
};

/// Read one object.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Returns the object named `name` in its newest state.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// let settings = maps.get("settings").await?;
    /// println!("{:?}", settings.data);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if it does not exist.
    pub async fn get(&self, name: &str) -> Result<K, Error>
    where
        R: ByName,
    {
        self.get_with(name, &GetParams::default()).await
    }

    /// Returns the object named `name`, as new as `params` demands.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, GetParams}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// let perhaps_old = maps.get_with("settings", &GetParams::default().any_version()).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if it does not exist.
    pub async fn get_with(&self, name: &str, params: &GetParams) -> Result<K, Error>
    where
        R: ByName,
    {
        let call = self.call("get", Some(name), None);
        let mut query = Query::new(call.path()?);
        params.write(&mut query);
        let answer = self.client().fetch(&call, query.finish(), None).await?;
        let object = self.decode_object(&call, &answer)?;
        Ok(self.told_of(object))
    }

    /// Returns the object named `name`, or `None` if it does not exist. If the server does not serve its kind, this is
    /// an error, because the answer says nothing about the object.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// let there = maps.get_opt("settings").await?.is_some();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_served`] if the server does not serve the kind. Otherwise the request fails; see [`ErrorKind`](crate::client::ErrorKind).
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error>
    where
        R: ByName,
    {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() && !error.is_not_served() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
