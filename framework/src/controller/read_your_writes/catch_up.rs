use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, time::sleep};

use super::{cached::Cached, demand::compare};
use crate::{
    client::{Api, Client, ListParams},
    resource::PartialObject,
};

/// An informer that nothing happens to hears of versions once a minute; so long it is waited for
/// before it lists anew.
const PATIENCE: Duration = Duration::from_secs(1);
/// A list that failed is made again after this.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits until `informer` has the state that the server has now, or a later one: asks the server for
/// the newest version, by a list of one object's metadata that is not answered from a cache, and
/// follows the informer until it is there. For ever, if the server cannot be asked.
///
/// Called after a lease was won: what the leader of before wrote is in that state, since it has
/// stopped writing. A list that the informer itself made may be as old as the replica that
/// answered it. Versions that are no integers cannot be compared: then the informer lists anew, and
/// the first version after that counts.
pub(super) async fn catch_up(informer: &dyn Cached, client: &Client) {
    let namespace = match informer.scope().namespaces.names() {
        None => None,
        Some(names) => match names.into_iter().next() {
            Some(name) => Some(name),
            // It reads nothing.
            None => return,
        },
    };
    let target = newest(informer, client, namespace.as_deref()).await;
    let before = informer.version();
    let moved = Arc::new(Notify::new());
    let subscription = informer.tell(moved.clone());
    let has_reached = || {
        let version = informer.version();
        let Some(version) = version.as_deref() else {
            return false;
        };
        match compare(version, &target) {
            Some(order) => order.is_ge(),
            None => version == target || before.as_deref() != Some(version),
        }
    };
    let mut patience = std::pin::pin!(sleep(PATIENCE));
    let mut asked = false;
    while !has_reached() {
        tokio::select! {
            () = moved.notified() => {}
            () = &mut patience, if !asked => {
                asked = true;
                informer.relist();
            }
        }
    }
    subscription.remove().await;
}

/// The version of the collection at the server, asked for until it answers.
async fn newest(informer: &dyn Cached, client: &Client, namespace: Option<&str>) -> String {
    let api = Api::<PartialObject>::of(client, informer.resource().clone(), namespace);
    let params = ListParams::default().limit(1);
    loop {
        match api.list(&params).await {
            Ok(list) => return list.resource_version().unwrap_or_default().to_owned(),
            Err(error) => {
                tracing::warn!("cannot tell whether the cache is up to date: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}
