use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

use super::{
    cached::Cached,
    demand::{Held, View, compare},
};
use crate::{
    client::{Api, Client, Error, ListParams},
    resource::{Object, ObjectKey, PartialObject},
};

/// An informer that is behind the API server for so long lists anew.
const PATIENCE: Duration = Duration::from_secs(1);
/// If it is still behind after this, the API server is asked again: its versions may have gone backwards.
const RELISTED: Duration = Duration::from_secs(30);
/// A list that failed is made again after this.
const PAUSE: Duration = Duration::from_secs(1);
/// Objects in one page; the server sends their metadata only.
const PAGE: u32 = 1000;
/// So many namespaces of one informer are asked about at once.
const NAMESPACES: usize = 8;

/// Waits until the cache of `informer` holds all changes that the API server had made by `since`, or by any moment if
/// it is `None`. It waits for ever if the API server cannot be asked.
///
/// A cache that is not known to be up to date may be old: its first list came from one replica of the API server, and
/// its watch may lag. So this asks for a consistent list, which the API server answers with its newest state.
///
/// * The version of that list is enough if the cache's own version has reached it. That is the usual case for a kind
///   that changes often, and no further page is read then.
/// * A watch tells no versions of a kind that does not change, except a bookmark each minute. So the objects' versions
///   are compared. A cache with each object of the list at its version or a later one, and with no other object
///   that is as old as the list, holds the state of the list. Only metadata is read for this.
/// * Otherwise the informer is behind. It gets a second to catch up by its watch, and lists anew after that.
///
/// Versions that are not integers cannot be ordered. Then objects have to be at the same version, or the informer lists
/// anew, and the first version after that counts.
///
/// Controllers that share an informer ask once.
pub(super) async fn catch_up(informer: &dyn Cached, client: &Client, since: Option<Instant>) {
    if informer.is_consistent_since(since) {
        return;
    }
    let _alone = informer.catching_up().await;
    if informer.is_consistent_since(since) {
        return;
    }
    let namespaces: Vec<_> = match informer.scope().namespaces.names() {
        None => vec![None],
        Some(names) => names.into_iter().map(Some).collect(),
    };
    stream::iter(namespaces)
        .for_each_concurrent(NAMESPACES, |namespace| async move {
            catch_up_in(informer, client, namespace.as_deref()).await;
        })
        .await;
}

async fn catch_up_in(informer: &dyn Cached, client: &Client, namespace: Option<&str>) {
    let moved = Arc::new(Notify::new());
    let subscription = informer.tell(moved.clone());
    loop {
        let asked = Instant::now();
        let mut target = newest(informer, client, namespace).await;
        let reached = reach(informer, &mut target, None, &moved);
        if timeout(PATIENCE, reached).await.is_err() {
            let before = informer.version();
            informer.relist();
            let reached = reach(informer, &mut target, before.as_deref(), &moved);
            if timeout(RELISTED, reached).await.is_err() {
                continue;
            }
        }
        informer.became_consistent(namespace, asked);
        break;
    }
    subscription.remove().await;
}

/// Waits until the cache has reached `target`. `relisted` is the version that it had when it was told to list anew.
async fn reach(informer: &dyn Cached, target: &mut Target, relisted: Option<&str>, moved: &Notify) {
    while !target.is_reached(informer, relisted) {
        moved.notified().await;
    }
}

/// What a cache has to hold.
struct Target {
    /// The version of the consistent list.
    version: String,
    /// What the cache did not have at the list's version, and that version. `None`: the cache has an object that the list
    /// does not have.
    behind: Vec<(ObjectKey, Option<String>)>,
}

impl Target {
    fn is_reached(&mut self, informer: &dyn Cached, relisted: Option<&str>) -> bool {
        let version = informer.version();
        let order = version.as_deref().map(|one| compare(one, &self.version));
        match order {
            // Nothing was listed yet.
            None => return false,
            Some(Some(order)) if order.is_ge() => return true,
            Some(Some(_)) => {}
            Some(None) if version.as_ref() == Some(&self.version) => return true,
            Some(None) if relisted.is_some() && relisted != version.as_deref() => return true,
            Some(None) => {}
        }
        let list = &self.version;
        self.behind.retain(|(key, listed)| {
            let mut is_behind = true;
            informer.look(key, &mut |View { held, .. }| {
                is_behind = lags(held, listed.as_deref(), list);
            });
            is_behind
        });
        self.behind.is_empty()
    }
}

/// Whether the cache is behind in one object: what it holds of it, the object's version in the list, and the version of
/// the list.
fn lags(held: Option<Held<'_>>, listed: Option<&str>, list: &str) -> bool {
    let Some(held) = held else {
        return listed.is_some();
    };
    let at = held.version.unwrap_or_default();
    match listed {
        Some(listed) => at != listed && !compare(at, listed).is_some_and(|order| order.is_ge()),
        // It was created after the list was made, or it was deleted before.
        None => !compare(at, list).is_some_and(|order| order.is_gt()),
    }
}

/// What the API server has now, asked for until it answers.
async fn newest(informer: &dyn Cached, client: &Client, namespace: Option<&str>) -> Target {
    let mut is_first = true;
    loop {
        match ask(informer, client, namespace).await {
            Ok(target) => return target,
            Err(error) if std::mem::take(&mut is_first) => {
                tracing::warn!(
                    "cannot tell whether the cache is up to date, so no reconcile starts: {error}"
                );
            }
            Err(error) => {
                tracing::debug!("still cannot tell whether the cache is up to date: {error}")
            }
        }
        sleep(PAUSE).await;
    }
}

async fn ask(
    informer: &dyn Cached,
    client: &Client,
    namespace: Option<&str>,
) -> Result<Target, Error> {
    let api = Api::<PartialObject>::of(client, informer.resource().clone(), namespace);
    let scope = informer.scope();
    // Without a version: the newest state.
    let params = ListParams {
        label_selector: scope.label_selector.clone(),
        field_selector: scope.field_selector.clone(),
        limit: Some(PAGE),
        ..ListParams::default()
    };
    let mut pages = api.pages(&params);
    let mut target: Option<Target> = None;
    let mut listed = HashMap::new();
    while let Some(page) = pages.try_next().await? {
        let target = target.get_or_insert_with(|| Target {
            version: page.resource_version().unwrap_or_default().to_owned(),
            behind: Vec::new(),
        });
        let version = informer.version();
        let order = version.and_then(|version| compare(&version, &target.version));
        if order.is_some_and(|order| order.is_ge()) {
            return Ok(Target {
                version: std::mem::take(&mut target.version),
                behind: Vec::new(),
            });
        }
        // A cache leaves out what has no name.
        let named = page.items.iter().filter(|one| !one.name().is_empty());
        listed.extend(named.map(|one| {
            let version = one.resource_version().unwrap_or_default();
            (one.key(), version.to_owned())
        }));
        listed.extend(page.undecodable.into_iter().map(|one| {
            let version = one.resource_version.unwrap_or_default();
            (one.key, version)
        }));
    }
    let mut target = target.unwrap_or_else(|| Target {
        version: String::new(),
        behind: Vec::new(),
    });
    informer.each(&mut |key, held| {
        if namespace.is_some() && key.namespace() != namespace {
            return;
        }
        let listed = listed.remove(key);
        if lags(Some(held), listed.as_deref(), &target.version) {
            target.behind.push((key.clone(), listed));
        }
    });
    let missing = listed.into_iter();
    let missing = missing.map(|(key, version)| (key, Some(version)));
    target.behind.extend(missing);
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_lags_where_it_is_older_than_the_list_or_holds_what_the_list_does_not() {
        let held = |version| {
            let version = Some(version);
            Some(Held { uid: None, version })
        };
        // The list is at version 100.
        let table = [
            (held("9"), Some("9"), false),
            (held("10"), Some("9"), false),
            (held("9"), Some("10"), true),
            (None, Some("9"), true),
            // It was deleted before the list was made.
            (held("9"), None, true),
            (held("100"), None, true),
            // It was created after.
            (held("101"), None, false),
            (None, None, false),
            // Versions that cannot be ordered.
            (held("a"), Some("a"), false),
            (held("b"), Some("a"), true),
            (held("a"), Some("9"), true),
            (held("a"), None, true),
        ];
        for (held, listed, expected) in table {
            assert_eq!(lags(held, listed, "100"), expected, "{held:?} {listed:?}");
        }
    }
}
