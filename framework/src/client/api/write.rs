use serde::{Serialize, de::DeserializeOwned};

use super::api::Api;
use crate::{
    client::{Error, Patch, PatchParams, PostParams},
    resource::{ByName, Object},
};

/// Write objects.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Creates `object`. Returns it as the server stored it.
    ///
    /// With `metadata.generateName` and no name, the server makes up a name. It tries eight times to find a free one
    /// (KEP-4420), so another attempt by the caller is of no use.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::ConfigMap, resource::Object};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// let settings = ConfigMap { immutable: Some(true), ..ConfigMap::named("settings") };
    /// let stored = maps.create(&PostParams::default(), &settings).await?;
    /// println!("{:?}", stored.metadata.uid);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_already_exists`] if there is an object of that name.
    pub async fn create(&self, params: &PostParams, object: &K) -> Result<K, Error>
    where
        R: ByName,
    {
        let name = Some(object.name()).filter(|name| !name.is_empty());
        let call = self.call("create", name, None);
        let (created, _) = self.post_with_answer(call, params, object).await?;
        Ok(self.told_of(created))
    }

    /// Returns the object with the name of `object`, or creates it if the server does not have it. This does not change an existing
    /// object. To set a certain state, apply it with [`patch`](Self::patch).
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, GetOrCreate, PostParams}, k8s::api::core::v1::ConfigMap, resource::Object};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// match maps.get_or_create(&PostParams::default(), &ConfigMap::named("settings")).await? {
    ///     GetOrCreate::Found(map) => println!("was there since {:?}", map.metadata.creation_timestamp),
    ///     GetOrCreate::Created(_) => println!("is new"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`get`](Self::get) and [`create`](Self::create). If another program creates the object first, this is
    /// not an error.
    pub async fn get_or_create(
        &self,
        params: &PostParams,
        object: &K,
    ) -> Result<GetOrCreate<K>, Error>
    where
        R: ByName,
    {
        if let Some(found) = self.get_opt(object.name()).await? {
            return Ok(GetOrCreate::Found(found));
        }
        match self.create(params, object).await {
            Ok(created) => Ok(GetOrCreate::Created(created)),
            Err(error) if error.is_already_exists() => {
                self.get(object.name()).await.map(GetOrCreate::Found)
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces the object named `name` with `object`. Returns it as the server stored it.
    ///
    /// If `object` has no resource version, the last write wins, for kinds that allow this at all.
    /// [`modify`](Self::modify) reads, changes and replaces until no other write comes between.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(maps: Api<ConfigMap>) -> Result<(), Error> {
    /// let mut settings = maps.get("settings").await?;
    /// settings.data.get_or_insert_default().insert("colour".into(), "blue".into());
    /// maps.replace("settings", &PostParams::default(), &settings).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_conflict`] if `object` has a resource version that is no longer the newest.
    pub async fn replace(&self, name: &str, params: &PostParams, object: &K) -> Result<K, Error>
    where
        R: ByName,
    {
        let call = self.call("update", Some(name), None);
        let (replaced, _) = self.post_with_answer(call, params, object).await?;
        Ok(self.told_of(replaced))
    }

    /// Changes the object named `name`. Returns it as the server stored it.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, Patch, PatchParams}, k8s::api::apps::v1::Deployment};
    /// # async fn example(deployments: Api<Deployment>) -> Result<(), Error> {
    /// use serde_json::json;
    ///
    /// // Server-side apply: what this manager wants, and nothing else.
    /// let wanted = Patch::Apply(json!({
    ///     "apiVersion": "apps/v1", "kind": "Deployment",
    ///     "metadata": {"name": "web"}, "spec": {"replicas": 3},
    /// }));
    /// deployments.patch("web", &PatchParams::apply("example").force(), &wanted).await?;
    ///
    /// let plain = PatchParams::default();
    /// let merge = Patch::Merge(json!({"metadata": {"labels": {"tier": null}}}));
    /// deployments.patch("web", &plain, &merge).await?;
    /// let strategic = Patch::Strategic(json!({"spec": {"template": {"spec": {
    ///     "containers": [{"name": "web", "image": "web:2"}],
    /// }}}}));
    /// deployments.patch("web", &plain, &strategic).await?;
    /// let steps = vec![json!({"op": "replace", "path": "/spec/replicas", "value": 5})];
    /// deployments.patch("web", &plain.dry_run(), &Patch::Json(steps)).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_conflict`] if an apply without `force` changes fields of another field manager.
    pub async fn patch(&self, name: &str, params: &PatchParams, patch: &Patch) -> Result<K, Error>
    where
        R: ByName,
    {
        let call = self.call("patch", Some(name), None);
        let (patched, _) = self.patch_with_answer(call, params, patch).await?;
        Ok(self.told_of(patched))
    }
}

/// The result of [`Api::get_or_create`].
#[derive(Clone, Debug, PartialEq)]
pub enum GetOrCreate<K> {
    /// The object existed already.
    Found(K),
    /// This call created the object.
    Created(K),
}

impl<K> GetOrCreate<K> {
    /// Returns the object in both cases.
    pub fn into_object(self) -> K {
        match self {
            Self::Found(object) | Self::Created(object) => object,
        }
    }
}
