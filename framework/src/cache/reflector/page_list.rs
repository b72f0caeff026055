//! How a [`Reflector`] reads a collection page by page.

use tokio::time::Instant;

use super::{
    ListerWatcher, Reflector,
    convert::has_name,
    pause::{is_refused_version, is_unavailable},
};
use crate::{
    cache::{Delta, DeltaQueue, Entry},
    client::{Error, ErrorKind, ListParams, ListProgress, ObjectList},
    resource::Object,
};

impl<L> Reflector<L> {
    /// Reads the collection page by page, and falls back to the newest state if the server does not have the
    /// requested version.
    ///
    /// # Errors
    /// The request failed, or the list does not end.
    pub(super) async fn list_pages<K>(&mut self, queue: &DeltaQueue<K>) -> Result<(), Error>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let mut paged = true;
        loop {
            let page_size = self.scope.page_size.or(self.position.page_size());
            let page_size = page_size.filter(|_| paged);
            let has_version = !matches!(self.position.list_version(), "" | "0");
            let error = match self.try_list_pages(queue, page_size).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            match error {
                // Between two pages the server forgot the state that they belong to.
                (FailedPage::Later, error) if error.is_expired() && paged => paged = false,
                (_, error) if is_unavailable(&error) && self.position.unavailable() => paged = true,
                // The server may refuse a version that it returned itself, and some versions fit into no URL.
                (FailedPage::First, error)
                    if has_version && is_refused_version(&error) && self.position.unavailable() =>
                {
                    paged = true;
                }
                (_, error) => return Err(error),
            }
        }
    }

    async fn try_list_pages<K>(
        &mut self,
        queue: &DeltaQueue<K>,
        page_size: Option<u32>,
    ) -> Result<(), (FailedPage, Error)>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let version = self.position.list_version().to_owned();
        let newest = version.is_empty().then(Instant::now);
        let mut params = ListParams {
            label_selector: self.scope.label_selector.clone(),
            field_selector: self.scope.field_selector.clone(),
            shard_selector: self.scope.shard_selector.clone(),
            timeout: self.scope.list_timeout,
            limit: page_size,
            resource_version: Some(version.clone()).filter(|version| !version.is_empty()),
            ..ListParams::default()
        };
        let first = self.source.list(&params).await;
        let mut page = first.map_err(|error| (FailedPage::First, error))?;
        let listed = page.resource_version().unwrap_or_default().to_owned();
        let has_more = page.continue_token().is_some();
        if self.position.is_before(Some(&listed)) {
            self.position.went_back();
        }
        self.position.page_taken(&listed, &version, has_more);
        self.begin_list(queue).await;
        params.resource_version = None;
        let mut progress = ListProgress::default();
        loop {
            self.progress.received();
            let token = page.continue_token().map(str::to_owned);
            let shared = self.without_unnamed(page);
            let endless = progress.page(&shared, |progress, object: &Entry<K>| {
                object.with_name(|namespace, name| progress.object(namespace, name))
            });
            endless.map_err(|reason| (FailedPage::Later, self.endless(reason)))?;
            queue.push_page(shared).await;
            self.progress.set_queued(queue.len());
            if token.is_none() {
                break;
            }
            params.continue_token = token;
            let next = self.source.list(&params).await;
            page = next.map_err(|error| (FailedPage::Later, error))?;
        }
        // All pages belong to one state, that of the first page.
        self.position.listed(&listed);
        let resource_version = listed;
        self.push(Delta::ListEnded { resource_version }, queue)
            .await;
        self.progress.list_completed(newest);
        self.progress.recovered("list");
        Ok(())
    }

    fn endless<K>(&self, reason: String) -> Error
    where
        L: ListerWatcher<K>,
    {
        Error::new(
            "list",
            self.source.resource().qualified_plural(),
            ErrorKind::NoProgress { reason },
        )
    }

    /// The page as caches share it, without the objects that have no name.
    fn without_unnamed<K: Object>(
        &self,
        page: ObjectList<impl Into<Entry<K>>>,
    ) -> ObjectList<Entry<K>> {
        let all = page.items.len();
        let objects = page.items.into_iter().map(Into::into);
        let items: Vec<_> = objects.filter(has_name).collect();
        if items.len() < all {
            self.progress.unnamed_objects(all - items.len());
        }
        ObjectList {
            metadata: page.metadata,
            items,
            undecodable: page.undecodable,
        }
    }
}

/// Which page of a list failed.
enum FailedPage {
    First,
    Later,
}
