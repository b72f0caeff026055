use std::{fmt, marker::PhantomData, sync::Arc};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    client::{
        Client, Encoding, Error, Patch, PatchParams, PostParams, codec::Encoded,
        decode::decode_object, request::url::Query, rest::Call,
    },
    resource::{ApiResource, HasNamespace, Located, Object, PartialObject, Resource, Scope},
};

/// The objects of one kind, in one namespace or in the whole cluster.
///
/// Cheap to clone. Reads leave out `metadata.managedFields` unless [`with_managed_fields`](Self::with_managed_fields)
/// asks for them. A `replace` of an object that was read so does not change the server's managed fields.
///
/// Most code leaves out the second parameter. It says which requests compile: an `Api` that [`all`](Self::all) returns
/// for a namespaced kind can list and watch, but has no method that takes a name.
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

    /// The objects in the namespace of the client's configuration.
    pub fn default_namespaced(client: &Client) -> Self
    where
        K::Scope: HasNamespace,
    {
        Self::namespaced(client, client.default_namespace())
    }

    /// All objects of a cluster-scoped kind, or the objects of a namespaced kind in all namespaces.
    ///
    /// For a namespaced kind, this `Api` can list and watch only. Use [`namespaced`](Self::namespaced) for a single
    /// object. A request for one object here does not compile:
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
    /// The objects of a kind that is known only at run time, usually with
    /// [`DynamicObject`](crate::resource::DynamicObject).
    ///
    /// If the kind is namespaced and `namespace` is `None`, this `Api` can list and watch. It refuses each request that
    /// takes a name before it sends anything. For a kind that discovery found, call
    /// [`RestMapper::api`](crate::client::RestMapper::api).
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

    /// The same objects, but requests ask for their metadata only.
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

    /// Keeps `metadata.managedFields` in the objects that are read.
    #[must_use]
    pub fn with_managed_fields(mut self) -> Self {
        self.managed_fields = true;
        self
    }

    /// The kind of the objects.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// The namespace of the objects; `None` for the whole cluster.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The client that sends the requests.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn keeps_managed_fields(&self) -> bool {
        self.managed_fields
    }
}

impl<K: Object, R> Api<K, R> {
    pub(crate) fn call<'a>(
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
            // The answer of a subresource may be of another type.
            metadata_only: K::METADATA_ONLY && subresource.is_none(),
            all_fields: K::HAS_ALL_FIELDS,
        }
    }

    /// The object of an answer, which the client is told of.
    pub(super) fn told_of(&self, object: K) -> K {
        if let Some(function) = &self.client.on_objects {
            function(&self.resource, &[object.metadata()]);
        }
        object
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Error> {
        let answer = self.client.fetch(&call, call.path()?, None).await?;
        self.decode(&call, &answer)
    }

    pub(crate) async fn post<B: Serialize, T: DeserializeOwned>(
        &self,
        call: Call<'_>,
        params: &PostParams,
        object: &B,
    ) -> Result<T, Error> {
        let answer = self.send_post(&call, params, object).await?;
        self.decode(&call, &answer)
    }

    /// Sends an object, and returns the object of the answer, also as the server sent it.
    pub(crate) async fn post_with_answer<B: Serialize>(
        &self,
        call: Call<'_>,
        params: &PostParams,
        object: &B,
    ) -> Result<(K, EncodedObject), Error>
    where
        K: DeserializeOwned,
    {
        let answer = self.send_post(&call, params, object).await?;
        let object = self.decode_object(&call, &answer)?;
        Ok((object, EncodedObject(answer)))
    }

    async fn send_post<B: Serialize>(
        &self,
        call: &Call<'_>,
        params: &PostParams,
        object: &B,
    ) -> Result<Encoded, Error> {
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
            let body = encoding.write(object).map_err(|_| unwritable(call))?;
            Ok((encoding.media_type(), body))
        };
        self.client.submit(call, query.finish(), write).await
    }

    pub(crate) async fn patch_as<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<T, Error> {
        let answer = self.send_patch(&call, params, patch).await?;
        self.decode(&call, &answer)
    }

    /// Sends a patch, and returns the object of the answer, also as the server sent it.
    pub(crate) async fn patch_with_answer(
        &self,
        call: Call<'_>,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<(K, EncodedObject), Error>
    where
        K: DeserializeOwned,
    {
        let answer = self.send_patch(&call, params, patch).await?;
        let object = self.decode_object(&call, &answer)?;
        Ok((object, EncodedObject(answer)))
    }

    async fn send_patch(
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

    /// Decodes an answer of any type.
    pub(crate) fn decode<T: DeserializeOwned>(
        &self,
        call: &Call<'_>,
        answer: &Encoded,
    ) -> Result<T, Error> {
        let object = decode_object(answer, self.managed_fields);
        let object = object.map_err(|reason| call.undecodable(reason))?;
        call.check_object(answer)?;
        Ok(object)
    }

    /// Decodes an answer that is an object of the kind.
    pub(super) fn decode_object(&self, call: &Call<'_>, answer: &Encoded) -> Result<K, Error>
    where
        K: DeserializeOwned,
    {
        let object = decode_object(answer, self.managed_fields);
        let object = object.map_err(|reason| call.undecodable(reason))?;
        call.check_decoded(answer, &object)?;
        Ok(object)
    }
}

/// Serialisation fails only because of the object's own `Serialize`.
pub(crate) fn unwritable(call: &Call<'_>) -> Error {
    call.invalid("the object cannot be written: check its map keys and its own `Serialize`")
}

/// An object as the bytes that the server sent, to be decoded again. Much smaller than the decoded object.
#[derive(Clone)]
pub(crate) struct EncodedObject(pub(super) Encoded);

impl EncodedObject {
    /// The same object, for somebody who keeps it: the bytes of an answer are a part of the connection's read buffer, so this
    /// copies them.
    pub(crate) fn to_keep(&self) -> Self {
        Self(Encoded {
            encoding: self.0.encoding,
            bytes: Bytes::copy_from_slice(&self.0.bytes),
        })
    }

    #[cfg(test)]
    pub(crate) fn of_json(bytes: Bytes) -> Self {
        let encoding = Encoding::Json;
        Self(Encoded { encoding, bytes })
    }

    /// Decodes the object. Returns `None` if it does not decode as `K`.
    pub(crate) fn read<K: DeserializeOwned>(&self) -> Option<K> {
        decode_object(&self.0, false).ok()
    }
}

/// Shows only the length, because the object may be a Secret.
impl fmt::Debug for EncodedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncodedObject({} bytes)", self.0.bytes.len())
    }
}
