use std::{ops::Range, sync::Arc};

use futures_core::Stream;
use futures_util::StreamExt;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    client::{
        Api, Error, ListParams, ObjectList,
        call::Call,
        decode::{Shared, decode_list},
        list_progress::ListProgress,
        offload::offload,
        url::Query,
    },
    resource::{Object, Reach},
};

/// Objects in one page when nothing else is said, as in client-go's pager.
const PAGE: u32 = 500;

/// Lists of so many bytes are decoded on another thread: what is smaller takes no time, and what is larger would hold up
/// the pages of others.
const OFFLOADED: Range<usize> = 32 * 1024..16 * 1024 * 1024;

/// Reading many objects.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// The objects that `params` asks for: one page, or everything when no limit is set.
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
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<K>, Error> {
        let mut list: ObjectList<K> = self.list_of(params).await?;
        for object in &mut list.items {
            object.fill_types(self.resource());
        }
        Ok(list)
    }

    /// As [`list`](Self::list), for those who share what they get.
    pub(crate) async fn list_shared(
        &self,
        params: &ListParams,
    ) -> Result<ObjectList<Arc<K>>, Error> {
        let list: ObjectList<Shared<K>> = self.list_of(params).await?;
        let filled = list.items.into_iter().map(|Shared(mut object)| {
            // Nobody else has it yet.
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

    async fn list_of<T>(&self, params: &ListParams) -> Result<ObjectList<T>, Error>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let call = self.call("list", None, None);
        let mut query = Query::new(call.path()?);
        params
            .write(&mut query)
            .map_err(|wrong| call.invalid(wrong))?;
        let answer = self.client().fetch(&call, query.finish(), None).await?;
        let (resource, managed_fields) = (self.resource().clone(), self.keeps_managed_fields());
        let size = answer.bytes.len();
        let decode = move || decode_list(&answer, &resource, managed_fields);
        let list = match OFFLOADED.contains(&size) {
            true => offload(decode).await,
            false => decode(),
        };
        list.map_err(|reason| call.undecodable(reason))
    }

    /// Everything that `params` asks for, fetched in pages of its limit, 500 when it sets none.
    ///
    /// The list carries the version of its first page. When the server has forgotten that version
    /// before the last page came (410), the whole is fetched once more in one piece, as
    /// client-go's pager does.
    ///
    /// # Errors
    /// [`Error::NoProgress`] when the server gives a continue token twice, or a hundred pages in a row without a new
    /// object.
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

    /// The pages of what `params` asks for, each fetched when it is asked for, of its limit or of 500.
    ///
    /// The stream ends after the last page, or after an error. A reader who takes longer than the
    /// server keeps a version (five minutes by default) meets [`Error::is_expired`]; pages that
    /// were given out already make a fallback to one whole list impossible here.
    /// [`Status::inconsistent_continue_token`](crate::resource::Status::inconsistent_continue_token)
    /// may go on from there. A list that does not come to its end is [`Error::NoProgress`], as in
    /// [`list_all`](Self::list_all).
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

    /// The objects that `params` asks for one by one, fetched in pages of its limit or of 500.
    ///
    /// An object that does not fit the type is an [`Error::Undecodable`] of its own, and the stream
    /// goes on after it; any other error is the last item, as in [`pages`](Self::pages).
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
            let rest = rest.into_iter().map(|object| {
                Err(Error::Undecodable {
                    verb: "list",
                    object: Box::new(object),
                })
            });
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

/// Whether the list goes on at all.
fn check<K: Object>(
    call: &Call<'_>,
    progress: &mut ListProgress,
    page: &ObjectList<K>,
) -> Result<(), Error> {
    progress
        .page::<K, K>(page)
        .map_err(|reason| Error::NoProgress {
            verb: call.verb,
            target: call.target(),
            reason,
        })
}

/// Makes `page` the one after `list`; whether there is one. Only the first request may name a
/// version: the token holds it from then on.
fn next_page<K>(page: &mut ListParams, list: &ObjectList<K>) -> bool {
    page.resource_version = None;
    page.resource_version_match = None;
    page.continue_token = list.continue_token().map(str::to_owned);
    page.continue_token.is_some()
}
