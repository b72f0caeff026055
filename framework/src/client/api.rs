use std::{fmt, marker::PhantomData, sync::Arc};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Client, DeleteParams, Deleted, Error, ListParams, ObjectList, Patch, PatchParams, PostParams,
    WatchParams, WatchStream,
    call::Call,
    codec::{Encoded, Encoding},
    decode::{decode_deleted, decode_list, decode_object},
    url::Query,
};
use crate::resource::{ApiResource, Namespaced, Object, Resource};

/// The objects of one kind, in one namespace or in the whole cluster.
///
/// Cheap to clone. `metadata.managedFields` is left out of everything that is read, unless
/// [`with_managed_fields`](Self::with_managed_fields) asks for it; so a `replace` of what was read
/// leaves the server's managed fields as they are.
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
pub struct Api<K> {
    client: Client,
    resource: Arc<ApiResource>,
    namespace: Option<Arc<str>>,
    managed_fields: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Api<K> {
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
impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Api({}", self.resource)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace})"),
            None => f.write_str(")"),
        }
    }
}

impl<K: Resource<Scope = Namespaced>> Api<K> {
    /// The objects in `namespace`.
    pub fn namespaced(client: &Client, namespace: &str) -> Self {
        Self::of(client, ApiResource::of::<K>(), Some(namespace))
    }

    /// The objects in the namespace that the configuration names.
    pub fn default_namespaced(client: &Client) -> Self {
        Self::namespaced(client, client.default_namespace())
    }
}

impl<K: Resource> Api<K> {
    /// The objects of a cluster-scoped kind, or those of all namespaces.
    ///
    /// Of a namespaced kind it can list, watch and delete collections; a single object has to be
    /// reached by [`namespaced`](Self::namespaced), and is refused here before anything is sent.
    pub fn all(client: &Client) -> Self {
        Self::of(client, ApiResource::of::<K>(), None)
    }
}

impl<K> Api<K> {
    /// The objects of a kind given as a value, usually with
    /// [`DynamicObject`](crate::resource::DynamicObject).
    pub fn of(client: &Client, resource: ApiResource, namespace: Option<&str>) -> Self {
        Self {
            client: client.clone(),
            resource: Arc::new(resource),
            namespace: namespace.map(Arc::from),
            managed_fields: false,
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
        }
    }
}

impl<K: Object + Serialize + DeserializeOwned> Api<K> {
    /// The object named `name`.
    ///
    /// # Errors
    /// [`Error::is_not_found`] when it does not exist.
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        self.read(self.call("get", Some(name), None)).await
    }

    /// The object named `name`, or `None` when it does not exist.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error> {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The objects that `params` asks for: one page, or everything when no limit is set.
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<K>, Error> {
        let call = self.call("list", None, None);
        let mut query = Query::new(call.path()?);
        params.write(&mut query);
        let answer = self.client.fetch(&call, query.finish(), None).await?;
        decode_list(&answer, &self.resource, self.managed_fields)
            .map_err(|reason| call.undecodable(reason))
    }

    /// Everything that `params` asks for, fetched in pages of its limit, 500 when it sets none.
    ///
    /// The list carries the version of its first page. When the server has forgotten that version
    /// before the last page came (410), the whole is fetched once more in one piece, as
    /// client-go's pager does.
    pub async fn list_all(&self, params: &ListParams) -> Result<ObjectList<K>, Error> {
        let mut page = params.clone();
        page.limit = params.limit.or(Some(500));
        let mut list = self.list(&page).await?;
        // Only the first request may name a version; the token holds it from then on.
        page.resource_version = None;
        page.resource_version_match = None;
        while let Some(token) = list.continue_token() {
            page.continue_token = Some(token.to_owned());
            match self.list(&page).await {
                Ok(next) => {
                    list.metadata.continue_ = next.metadata.continue_;
                    list.items.extend(next.items);
                    list.undecodable.extend(next.undecodable);
                }
                Err(error) if error.is_expired() => {
                    let whole = ListParams {
                        limit: None,
                        continue_token: None,
                        ..params.clone()
                    };
                    return self.list(&whole).await;
                }
                Err(error) => return Err(error),
            }
        }
        list.metadata.remaining_item_count = None;
        Ok(list)
    }

    /// The changes that `params` asks for, as they happen.
    pub async fn watch(&self, params: &WatchParams) -> Result<WatchStream<K>, Error> {
        let call = self.call("watch", None, None);
        let mut query = Query::new(call.path()?);
        params.write(&mut query);
        let body = self.client.watch(&call, query.finish()).await?;
        Ok(WatchStream::of_body(&call, body, self.managed_fields))
    }

    /// Creates `object`, and gives it back as the server stored it.
    ///
    /// # Errors
    /// [`Error::is_already_exists`] when there is one of that name.
    pub async fn create(&self, params: &PostParams, object: &K) -> Result<K, Error> {
        self.post(self.call("create", None, None), params, object)
            .await
    }

    /// Replaces the object named `name` by `object`, and gives it back as the server stored it.
    ///
    /// # Errors
    /// [`Error::is_conflict`] when `object` carries a resource version that is no longer the newest.
    pub async fn replace(&self, name: &str, params: &PostParams, object: &K) -> Result<K, Error> {
        self.post(self.call("update", Some(name), None), params, object)
            .await
    }

    /// Changes the object named `name`, and gives it back as the server stored it.
    ///
    /// # Errors
    /// [`Error::is_conflict`] when an apply that is not forced meets fields of another manager.
    pub async fn patch(&self, name: &str, params: &PatchParams, patch: &Patch) -> Result<K, Error> {
        self.send_patch(self.call("patch", Some(name), None), params, patch)
            .await
    }

    /// Deletes the object named `name`.
    pub async fn delete(&self, name: &str, params: &DeleteParams) -> Result<Deleted<K>, Error> {
        let call = self.call("delete", Some(name), None);
        let body = delete_body(&call, params)?;
        let answer = self.client.fetch(&call, call.path()?, body).await?;
        decode_deleted(&answer, self.managed_fields).map_err(|reason| call.undecodable(reason))
    }

    /// Deletes all objects that `list` selects.
    pub async fn delete_collection(
        &self,
        params: &DeleteParams,
        list: &ListParams,
    ) -> Result<(), Error> {
        let call = self.call("deletecollection", None, None);
        let mut query = Query::new(call.path()?);
        list.write(&mut query);
        let body = delete_body(&call, params)?;
        self.client.fetch(&call, query.finish(), body).await?;
        Ok(())
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
        let mut query = Query::new(call.path()?);
        params.write(&mut query);
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
        match (patch.is_apply(), &params.field_manager) {
            (true, None) => {
                return Err(call.invalid(
                    "a server-side apply needs a field manager: use `PatchParams::apply`",
                ));
            }
            (false, _) if params.force => {
                return Err(call.invalid("only a server-side apply can be forced"));
            }
            _ => {}
        }
        let mut query = Query::new(call.path()?);
        params.write(&mut query);
        let write = |encoding| patch.body(encoding).map_err(|_| unwritable(&call));
        let answer = self.client.submit(&call, query.finish(), write).await?;
        self.decode(&call, &answer)
    }

    fn decode<T: DeserializeOwned>(&self, call: &Call<'_>, answer: &Encoded) -> Result<T, Error> {
        decode_object(answer, self.managed_fields).map_err(|reason| call.undecodable(reason))
    }
}

fn delete_body(
    call: &Call<'_>,
    params: &DeleteParams,
) -> Result<Option<(&'static str, Bytes)>, Error> {
    let Some(options) = params.body() else {
        return Ok(None);
    };
    let body = Encoding::Json
        .write(&options)
        .map_err(|_| unwritable(call))?;
    Ok(Some((Encoding::Json.media_type(), body)))
}

/// Serialisation fails only by the type's own doing.
fn unwritable(call: &Call<'_>) -> Error {
    call.invalid("the object cannot be written: check its map keys and its own `Serialize`")
}
