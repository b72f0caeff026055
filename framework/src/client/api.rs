use std::{fmt, marker::PhantomData, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Client, Error, Kept, Patch, PatchParams, PostParams,
    call::Call,
    codec::{Encoded, Encoding},
    decode::decode_object,
    url::Query,
};
use crate::resource::{ApiResource, HasNamespace, Located, Object, PartialObject, Resource, Scope};

/// The objects of one kind, in one namespace or in the whole cluster.
///
/// Cheap to clone. `metadata.managedFields` is left out of everything that is read, unless
/// [`with_managed_fields`](Self::with_managed_fields) asks for it; so a `replace` of what was read
/// leaves the server's managed fields as they are.
///
/// The second parameter says how far it reaches, and is left out nearly everywhere: what
/// [`all`](Self::all) gives for a namespaced kind can list and watch, and nothing that takes a name
/// compiles with it.
///
/// ```no_run
/// use pilothouse::client::{Api, Client, Config, ListParams};
/// use pilothouse::k8s::api::apps::v1::Deployment;
///
/// # async fn example() -> Result<(), pilothouse::client::Error> {
/// let client = Client::new(Config::infer().await?)?;
/// let deployments = Api::<Deployment>::namespaced(&client, "default");
/// for deployment in &deployments.list(&ListParams::default().labels("app=web")).await? {
///     println!("{:?}", deployment.metadata.name);
/// }
/// # Ok(()) }
/// ```
pub struct Api<K, R = Located> {
    client: Client,
    resource: Arc<ApiResource>,
    namespace: Option<Arc<str>>,
    managed_fields: bool,
    kind: PhantomData<fn() -> (K, R)>,
}

impl<K, R> Clone for Api<K, R> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            managed_fields: self.managed_fields,
            kind: PhantomData,
        }
    }
}

/// `Api(deployments.apps/v1 in default)`.
impl<K, R> fmt::Debug for Api<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Api({}", self.resource)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace})"),
            None => f.write_str(")"),
        }
    }
}

impl<K: Resource> Api<K> {
    /// The objects in `namespace`.
    pub fn namespaced(client: &Client, namespace: &str) -> Self
    where
        K::Scope: HasNamespace,
    {
        Self::of(client, ApiResource::of::<K>(), Some(namespace))
    }

    /// The objects in the namespace that the configuration names.
    pub fn default_namespaced(client: &Client) -> Self
    where
        K::Scope: HasNamespace,
    {
        Self::namespaced(client, client.default_namespace())
    }

    /// The objects of a cluster-scoped kind, or those of all namespaces.
    ///
    /// Of a namespaced kind it can list and watch; a single object is reached by
    /// [`namespaced`](Self::namespaced), and asking for it here does not compile:
    ///
    /// ```compile_fail
    /// # use pilothouse::{client::{Api, Client}, k8s::api::apps::v1::Deployment};
    /// # async fn example(client: Client) {
    /// Api::<Deployment>::all(&client).get("web").await;
    /// # }
    /// ```
    pub fn all(client: &Client) -> Api<K, <K::Scope as Scope>::All> {
        Api::new(client, ApiResource::of::<K>(), None)
    }
}

impl<K> Api<K> {
    /// The objects of a kind given as a value, usually with
    /// [`DynamicObject`](crate::resource::DynamicObject).
    ///
    /// A namespaced kind without a namespace can list and watch; what takes a name is refused then
    /// before anything is sent. Kinds that are discovered come from a
    /// [`RestMapper`](super::RestMapper), ready made by its [`api`](super::RestMapper::api).
    ///
    /// ```no_run
    /// use pilothouse::{client::{Api, Client, Error}, resource::DynamicObject};
    ///
    /// # async fn example(client: Client) -> Result<(), Error> {
    /// use pilothouse::resource::ApiResource;
    ///
    /// let widgets = ApiResource {
    ///     group: "demo.example.com".into(), version: "v1".into(),
    ///     kind: "Widget".into(), plural: "widgets".into(), namespaced: true,
    /// };
    /// let widget = Api::<DynamicObject>::of(&client, widgets, Some("default")).get("a").await?;
    /// println!("{}", widget.data["spec"]);
    /// # Ok(()) }
    /// ```
    pub fn of(client: &Client, resource: ApiResource, namespace: Option<&str>) -> Self {
        Self::new(client, resource, namespace)
    }
}

impl<K, R> Api<K, R> {
    fn new(client: &Client, resource: ApiResource, namespace: Option<&str>) -> Self {
        Self {
            client: client.clone(),
            resource: Arc::new(resource),
            namespace: namespace.map(Arc::from),
            managed_fields: false,
            kind: PhantomData,
        }
    }

    /// The same objects, of which only the metadata is asked for and read.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Client, Error, ListParams}, k8s::api::core::v1::Secret};
    /// # async fn example(client: Client) -> Result<(), Error> {
    /// let secrets = Api::<Secret>::namespaced(&client, "default").metadata();
    /// for secret in &secrets.list(&ListParams::default()).await? {
    ///     println!("{:?} {:?}", secret.metadata.name, secret.metadata.labels);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn metadata(&self) -> Api<PartialObject<K>, R> {
        Api {
            client: self.client.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            managed_fields: self.managed_fields,
            kind: PhantomData,
        }
    }

    /// Keep `metadata.managedFields` of what is read.
    #[must_use]
    pub fn with_managed_fields(mut self) -> Self {
        self.managed_fields = true;
        self
    }

    /// The kind.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// The namespace; `None` for the whole cluster.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The client behind it.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn keeps_managed_fields(&self) -> bool {
        self.managed_fields
    }
}

impl<K: Object, R> Api<K, R> {
    pub(super) fn call<'a>(
        &'a self,
        verb: &'static str,
        name: Option<&'a str>,
        subresource: Option<&'a str>,
    ) -> Call<'a> {
        Call {
            verb,
            resource: &self.resource,
            namespace: self.namespace.as_deref(),
            name,
            subresource,
            // What a subresource answers is not what the type says.
            metadata_only: K::METADATA_ONLY && subresource.is_none(),
        }
    }

    pub(super) async fn read<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Error> {
        let answer = self.client.fetch(&call, call.path()?, None).await?;
        self.decode(&call, &answer)
    }

    pub(super) async fn post<B: Serialize, T: DeserializeOwned>(
        &self,
        call: Call<'_>,
        params: &PostParams,
        object: &B,
    ) -> Result<T, Error> {
        if K::PARTIAL && call.subresource.is_none() {
            return Err(call.invalid(
                "the type holds only a part of the object, as `PartialObject` does, and the rest would be lost: use `patch`, or the kind's own type",
            ));
        }
        let mut query = Query::new(call.path()?);
        params
            .write(&mut query)
            .map_err(|wrong| call.invalid(wrong))?;
        let write = |encoding: Encoding| {
            let body = encoding.write(object).map_err(|_| unwritable(&call))?;
            Ok((encoding.media_type(), body))
        };
        let answer = self.client.submit(&call, query.finish(), write).await?;
        self.decode(&call, &answer)
    }

    pub(super) async fn send_patch<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<T, Error> {
        let answer = self.submit_patch(&call, params, patch).await?;
        self.decode(&call, &answer)
    }

    /// As [`patch`](Self::patch), with the answer as it came, too.
    pub(crate) async fn patch_and_keep(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<(K, Kept), Error>
    where
        K: DeserializeOwned,
    {
        let call = self.call("patch", Some(name), None);
        let answer = self.submit_patch(&call, params, patch).await?;
        let object = self.decode(&call, &answer)?;
        Ok((object, Kept::of(&answer)))
    }

    async fn submit_patch(
        &self,
        call: &Call<'_>,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<Encoded, Error> {
        let mut query = Query::new(call.path()?);
        let written = params.write(&mut query, patch);
        written.map_err(|wrong| call.invalid(wrong))?;
        let write = |encoding| patch.body(encoding).map_err(|_| unwritable(call));
        self.client.submit(call, query.finish(), write).await
    }

    pub(super) fn decode<T: DeserializeOwned>(
        &self,
        call: &Call<'_>,
        answer: &Encoded,
    ) -> Result<T, Error> {
        decode_object(answer, self.managed_fields).map_err(|reason| call.undecodable(reason))
    }
}

/// Serialisation fails only by the type's own doing.
pub(super) fn unwritable(call: &Call<'_>) -> Error {
    call.invalid("the object cannot be written: check its map keys and its own `Serialize`")
}
