use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

use super::{
    cached::Cached,
    demand::{CachedObject, View, compare},
};
use crate::{
    cache::{error_hint, joined},
    client::{Api, Client, Error, ListParams},
    resource::{Object, ObjectKey, PartialObject},
};

/// An informer that is behind the API server for this time lists again.
const PATIENCE: Duration = Duration::from_secs(1);
/// If it is still behind after this time, the API server is asked again: its versions may have gone backwards.
const RELISTED: Duration = Duration::from_secs(30);
/// The pause after a list that failed.
const PAUSE: Duration = Duration::from_secs(1);
/// The objects in one page. The server sends only their metadata.
const PAGE: u32 = 1000;
/// The largest number of namespaces of one informer that are listed at once.
const NAMESPACES: usize = 8;

/// Why caches cannot be compared with the API server at present, by kind and namespace.
#[derive(Debug, Default)]
pub(super) struct Obstacles(Mutex<BTreeMap<(String, Option<String>), String>>);

impl Obstacles {
    /// All of them in one text. `None` if there are none.
    pub(super) fn text(&self) -> Option<String> {
        let all: Vec<String> = self.0.lock().values().cloned().collect();
        (!all.is_empty()).then(|| joined(all))
    }

    fn set(&self, informer: &dyn Cached, namespace: Option<&str>, obstacle: Option<String>) {
        let kind = informer.resource().qualified_plural();
        let place = (kind, namespace.map(str::to_owned));
        let mut all = self.0.lock();
        match obstacle {
            Some(obstacle) => drop(all.insert(place, obstacle)),
            None => drop(all.remove(&place)),
        }
    }
}

/// Waits until the cache of `informer` has all changes that the API server had made by `since`. With `None` any moment will
/// do. Waits for ever if the API server does not answer; `obstacles` says so meanwhile.
///
/// A cache that is not known to be up to date may be old: its first list came from one replica of the API server, and
/// its watch may lag. So this asks for a consistent list, which the API server answers with its newest state.
///
/// * The version of that list is enough if the cache's own version has reached it. That is the usual case for a kind
///   that changes often, and no further page is read then.
/// * A watch delivers no versions of a kind that does not change, except a bookmark each minute. So the versions of the objects
///   are compared. A cache with each object of the list at its version or a later one, and with no other object
///   that is as old as the list, holds the state of the list. Only metadata is read for this.
/// * Otherwise the informer is behind. It has one second to catch up by its watch. Then it lists again.
///
/// Versions that are not integers have no order. Then the objects must have equal versions; otherwise the informer lists
/// again, and its first version after that counts.
///
/// Controllers that share an informer send one request.
pub(super) async fn catch_up(
    informer: &dyn Cached,
    client: &Client,
    since: Option<Instant>,
    obstacles: &Obstacles,
) {
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
            catch_up_in(informer, client, namespace.as_deref(), obstacles).await;
        })
        .await;
}

async fn catch_up_in(
    informer: &dyn Cached,
    client: &Client,
    namespace: Option<&str>,
    obstacles: &Obstacles,
) {
    let moved = Arc::new(Notify::new());
    let subscription = informer.notify(moved.clone());
    loop {
        let asked = Instant::now();
        let mut target = newest(informer, client, namespace, obstacles).await;
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

/// Waits until the cache has reached `target`. `relisted` is the version that it had when it began to list again.
async fn reach(informer: &dyn Cached, target: &mut Target, relisted: Option<&str>, moved: &Notify) {
    while !target.is_reached(informer, relisted) {
        moved.notified().await;
    }
}

/// The state that a cache has to reach.
struct Target {
    /// The version of the consistent list.
    version: String,
    /// The objects that the cache did not have at the version of the list, each with that version. `None` if the cache has an
    /// object that the list does not have.
    behind: Vec<(ObjectKey, Option<String>)>,
}

impl Target {
    fn is_reached(&mut self, informer: &dyn Cached, relisted: Option<&str>) -> bool {
        let version = informer.version();
        let order = version.as_deref().map(|one| compare(one, &self.version));
        match order {
            // The informer has not listed yet.
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

/// Whether the cache is behind in one object, from its state in the cache, its version in the list, and the version of the
/// list.
fn lags(held: Option<CachedObject<'_>>, listed: Option<&str>, list: &str) -> bool {
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

/// The present state of the API server. Asks until it answers.
async fn newest(
    informer: &dyn Cached,
    client: &Client,
    namespace: Option<&str>,
    obstacles: &Obstacles,
) -> Target {
    let mut is_first = true;
    loop {
        let error = match ask(informer, client, namespace).await {
            Ok(target) => {
                obstacles.set(informer, namespace, None);
                return target;
            }
            Err(error) => error,
        };
        let reason = match error_hint(informer.resource(), namespace, &error) {
            Some(hint) => error.with_hint(Some(hint.into())).to_string(),
            None => error.to_string(),
        };
        if std::mem::take(&mut is_first) {
            tracing::warn!(
                "cannot tell whether the cache is up to date, so no reconcile starts: {reason}"
            );
        } else {
            tracing::debug!("still cannot tell whether the cache is up to date: {reason}");
        }
        obstacles.set(informer, namespace, Some(reason));
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
    // Without a resource version the server answers with the newest state.
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
        // A cache leaves out objects without a name.
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
    fn a_cache_is_behind_if_an_object_is_older_than_in_the_list_or_missing_from_it() {
        let held = |version| {
            let version = Some(version);
            Some(CachedObject { uid: None, version })
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
            // It was created after the list was made.
            (held("101"), None, false),
            (None, None, false),
            // Versions without an order.
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
