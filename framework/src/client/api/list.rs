use std::{ops::Range, sync::Arc};

use futures_core::Stream;
use futures_util::StreamExt;
use serde::{Serialize, de::DeserializeOwned};

use super::{api::Api, list_progress::ListProgress};
use crate::{
    client::{
        Error, ErrorKind, ListParams, ObjectList,
        codec::Encoded,
        decode::{DecodedArc, Received, Types, decode_list, receive_list},
        request::url::Query,
        rest::Call,
    },
    resource::{ApiResource, Object, ObjectMeta, Reach, TypeMeta},
};

/// The size of a page if the caller sets no limit, as in client-go's pager.
const PAGE: u32 = 500;

/// A list of this many bytes is decoded [on another thread](crate::client::Decoder). Smaller lists take no time. Larger
/// ones would delay the pages of others.
const OFFLOADED: Range<usize> = 32 * 1024..16 * 1024 * 1024;

/// Read many objects.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Returns the objects that `params` selects: one page, or all of them if `params` sets no limit.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, ListParams}, k8s::api::core::v1::Pod, resource::Selector};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// let web = ListParams::default().labels(Selector::default().eq("app", "web"));
    /// for pod in &pods.list(&web).await? {
    ///     println!("{:?}", pod.metadata.name);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_expired`] if the server no longer has the requested version or page. [`ErrorKind::Invalid`] if the
    /// options are not valid. Otherwise the request fails; see [`ErrorKind`].
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<K>, Error> {
        let mut list: ObjectList<K> = self.list_of(params, K::metadata).await?;
        for object in &mut list.items {
            self.check_item(object)?;
            object.fill_types(self.resource());
        }
        if let Some(function) = &self.client().on_objects {
            let objects: Vec<_> = list.items.iter().map(K::metadata).collect();
            function(self.resource(), &objects);
        }
        Ok(list)
    }

    /// As [`list`](Self::list), but each object is in an `Arc` from the start.
    pub(crate) async fn list_shared(
        &self,
        params: &ListParams,
    ) -> Result<ObjectList<Arc<K>>, Error> {
        let list: ObjectList<DecodedArc<K>> = self
            .list_of(params, |DecodedArc(object): &DecodedArc<K>| {
                object.metadata()
            })
            .await?;
        for DecodedArc(object) in &list.items {
            self.check_item(&**object)?;
        }
        let filled = list.items.into_iter().map(|DecodedArc(mut object)| {
            // No other code has this `Arc` yet.
            if let Some(object) = Arc::get_mut(&mut object) {
                object.fill_types(self.resource());
            }
            object
        });
        Ok(ObjectList {
            metadata: list.metadata,
            items: filled.collect(),
            undecodable: list.undecodable,
        })
    }

    /// Whether the object has the kind of the list. Most types compare it themselves when they are decoded.
    fn check_item(&self, object: &K) -> Result<(), Error> {
        let Some(TypeMeta { api_version, kind }) = object.types() else {
            return Ok(());
        };
        let checked = Types { api_version, kind }.check_object(self.resource(), false);
        checked.map_err(|reason| {
            let call = self.call("list", None, None);
            call.undecodable(format!("items: {reason}"))
        })
    }

    /// As [`list`](Self::list), for a cache: nothing is decoded but small objects, if `decodes_small`.
    pub(crate) async fn list_for_cache(
        &self,
        params: &ListParams,
        decodes_small: impl Fn() -> bool + Send + 'static,
    ) -> Result<ObjectList<Received<K>>, Error> {
        let read = move |answer: &Encoded, resource: &ApiResource, managed_fields| {
            receive_list(answer, resource, managed_fields, decodes_small())
        };
        self.list_by(params, read, Received::namespace).await
    }

    async fn list_of<T>(
        &self,
        params: &ListParams,
        metadata: fn(&T) -> &ObjectMeta,
    ) -> Result<ObjectList<T>, Error>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let is_named = move |item: &T| {
            metadata(item)
                .name
                .as_deref()
                .is_some_and(|name| !name.is_empty())
        };
        let decode = move |answer: &Encoded, resource: &ApiResource, managed_fields| {
            decode_list(answer, resource, managed_fields, &is_named)
        };
        self.list_by(params, decode, |item| metadata(item).namespace.as_deref())
            .await
    }

    /// Lists, and reads the answer with `decode`. `namespace` returns that of an item.
    async fn list_by<T: Send + 'static>(
        &self,
        params: &ListParams,
        decode: impl FnOnce(&Encoded, &ApiResource, bool) -> Result<ObjectList<T>, String>
        + Send
        + 'static,
        namespace: impl Fn(&T) -> Option<&str> + Send,
    ) -> Result<ObjectList<T>, Error> {
        let call = self.call("list", None, None);
        let mut query = Query::new(call.path()?);
        params
            .write(&mut query)
            .map_err(|wrong| call.invalid(wrong))?;
        let answer = self.client().fetch(&call, query.finish(), None).await?;
        let (resource, managed_fields) = (self.resource().clone(), self.keeps_managed_fields());
        let size = answer.bytes.len();
        let decode = move || decode(&answer, &resource, managed_fields);
        let list = match OFFLOADED.contains(&size) {
            true => self.client().decoder.offload(decode).await,
            false => decode(),
        };
        let list = list.map_err(|reason| call.undecodable(reason))?;
        let items = list.items.iter().map(namespace);
        let undecodable = list.undecodable.iter().map(|one| one.key.namespace());
        items
            .chain(undecodable)
            .try_for_each(|namespace| call.check_namespace(namespace))?;
        Ok(list)
    }

    /// Returns all objects that `params` selects. Fetches them in pages of the limit in `params`, or of 500.
    ///
    /// The list has the resource version of its first page. If the server forgets that version before the last page
    /// (410), this fetches the whole list once more in one piece, as client-go's pager does.
    ///
    /// # Errors
    /// [`ErrorKind::NoProgress`] if the server sends the same continue token twice, or a hundred pages in a row without
    /// a new object.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Client, Error, ListParams}, k8s::api::core::v1::Pod};
    /// # async fn example(client: Client) -> Result<(), Error> {
    /// let everywhere = Api::<Pod>::all(&client).list_all(&ListParams::default()).await?;
    /// println!("{} pods at {:?}", everywhere.items.len(), everywhere.resource_version());
    /// # Ok(()) }
    /// ```
    pub async fn list_all(&self, params: &ListParams) -> Result<ObjectList<K>, Error> {
        let call = self.call("list", None, None);
        let mut page = first_page(params);
        let mut list = self.list(&page).await?;
        let mut progress = ListProgress::default();
        check(&call, &mut progress, &list)?;
        while next_page(&mut page, &list) {
            match self.list(&page).await {
                Ok(next) => {
                    check(&call, &mut progress, &next)?;
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

    /// Returns the pages of the objects that `params` selects, as a stream. Each page is fetched when the stream is
    /// polled for it. A page has the limit in `params`, or 500 objects.
    ///
    /// The stream ends after the last page, or after an error. If the reader takes longer than the server keeps a
    /// version (five minutes by default), the error is [`Error::is_expired`]. The stream cannot fetch the whole list
    /// instead, because the caller has some of its pages already. The caller may continue with
    /// [`Status::inconsistent_continue_token`](crate::resource::Status::inconsistent_continue_token). A list that does
    /// not end is [`ErrorKind::NoProgress`], as in [`list_all`](Self::list_all).
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, ListParams}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut pages = pods.pages(&ListParams::default().limit(100));
    /// while let Some(page) = pages.try_next().await? {
    ///     println!("{} pods, {:?} to come", page.items.len(), page.remaining());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn pages(
        &self,
        params: &ListParams,
    ) -> impl Stream<Item = Result<ObjectList<K>, Error>> + Send + Unpin + use<K, R>
    where
        R: Reach,
    {
        let begin = (
            self.clone(),
            Some(first_page(params)),
            ListProgress::default(),
        );
        Box::pin(futures_util::stream::unfold(
            begin,
            |(api, page, mut progress)| async move {
                let mut page = page?;
                let answer = api.list(&page).await.and_then(|list| {
                    check(&api.call("list", None, None), &mut progress, &list)?;
                    Ok(list)
                });
                let more = answer.as_ref().is_ok_and(|list| next_page(&mut page, list));
                Some((answer, (api, more.then_some(page), progress)))
            },
        ))
    }

    /// Returns the objects that `params` selects, one by one. Fetches them in pages of the limit in `params`, or of
    /// 500.
    ///
    /// An object that does not fit the type is an [`ErrorKind::Undecodable`], and the stream continues after it. Any
    /// other error is the last item, as in [`pages`](Self::pages).
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, ListParams}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut all = pods.items(&ListParams::default());
    /// while let Some(pod) = all.try_next().await? {
    ///     println!("{:?}", pod.metadata.name);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn items(
        &self,
        params: &ListParams,
    ) -> impl Stream<Item = Result<K, Error>> + Send + Unpin + use<K, R>
    where
        R: Reach,
    {
        self.pages(params).flat_map(|page| {
            let (items, rest) = match page {
                Ok(page) => (page.items, page.undecodable),
                Err(error) => return one(error),
            };
            let rest = rest
                .into_iter()
                .map(|object| Err(Error::undecodable("list", object)));
            let items: Vec<_> = items.into_iter().map(Ok).chain(rest).collect();
            futures_util::stream::iter(items)
        })
    }
}

fn one<K>(error: Error) -> futures_util::stream::Iter<std::vec::IntoIter<Result<K, Error>>> {
    futures_util::stream::iter(vec![Err(error)])
}

fn first_page(params: &ListParams) -> ListParams {
    ListParams {
        limit: params.limit.or(Some(PAGE)),
        ..params.clone()
    }
}

/// Whether the list makes progress.
fn check<K: Object>(
    call: &Call<'_>,
    progress: &mut ListProgress,
    page: &ObjectList<K>,
) -> Result<(), Error> {
    progress
        .page(page, |progress, object| {
            progress.object(object.namespace(), object.name())
        })
        .map_err(|reason| Error::new(call.verb, call.target(), ErrorKind::NoProgress { reason }))
}

/// Turns `page` into the parameters of the page after `list`. Returns whether there is such a page. Only the first
/// request may name a resource version; the token contains it from then on.
fn next_page<K>(page: &mut ListParams, list: &ObjectList<K>) -> bool {
    page.resource_version = None;
    page.resource_version_match = None;
    page.continue_token = list.continue_token().map(str::to_owned);
    page.continue_token.is_some()
}
