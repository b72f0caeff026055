use serde::{Serialize, de::DeserializeOwned};

use crate::{
    client::{Api, Error, GetParams, url::Query},
    resource::{ByName, Object},
};

/// Reading one object.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// The object named `name`, in its newest state.
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
    /// [`Error::is_not_found`] when it does not exist.
    pub async fn get(&self, name: &str) -> Result<K, Error>
    where
        R: ByName,
    {
        self.get_with(name, &GetParams::default()).await
    }

    /// The object named `name`, as new as `params` asks for.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, GetParams}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// let perhaps_old = maps.get_with("settings", &GetParams::default().any_version()).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] when it does not exist.
    pub async fn get_with(&self, name: &str, params: &GetParams) -> Result<K, Error>
    where
        R: ByName,
    {
        let call = self.call("get", Some(name), None);
        let mut query = Query::new(call.path()?);
        params.write(&mut query);
        let answer = self.client().fetch(&call, query.finish(), None).await?;
        self.decode(&call, &answer)
    }

    /// The object named `name`, or `None` when it does not exist. That its kind is not served is an
    /// error, as nothing is known about the object then.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// let there = maps.get_opt("settings").await?.is_some();
    /// # Ok(()) }
    /// ```
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
