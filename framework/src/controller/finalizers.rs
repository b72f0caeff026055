use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::json;

use super::{
    Action, Cleanup, Context, Error, Reconciler, Result, children::conflicts, hub::WriteGuard,
    write::told,
};
use crate::{
    client::{Patch, PatchParams},
    resource::{ApiResource, Object, Resource, check_qualified_name},
};

/// The finalizers that a controller asks for, in order, and what is done before one goes.
pub(super) struct Finalizers<K> {
    names: Vec<Arc<str>>,
    cleanup: Option<CleanUp<K>>,
}

type CleanUp<K> =
    Arc<dyn for<'a> Fn(Arc<K>, &'a Context<K>) -> BoxFuture<'a, Result> + Send + Sync>;

/// An object whose cleanup has succeeded: of which UID, and for which finalizer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cleaned {
    uid: Option<String>,
    finalizer: Arc<str>,
}

/// How often a patch is tried again on what the server has.
const ATTEMPTS: usize = 5;
/// When detached children are looked at again at the latest. Their events come earlier, but of one
/// that does not decode nobody can tell whose it is.
const GLANCE: Duration = Duration::from_secs(30);

impl<K> Default for Finalizers<K> {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            cleanup: None,
        }
    }
}

impl<K: Resource> Finalizers<K> {
    /// Asks for one more.
    ///
    /// # Panics
    /// The name is not one, or is asked for already.
    #[track_caller]
    pub(super) fn add<R: Cleanup<Resource = K>>(&mut self, reconciler: &Arc<R>, name: String) {
        let wrong = match check_qualified_name(&name) {
            Err(wrong) => Some(wrong),
            Ok(()) if !name.contains('/') => Some("must have your domain and a `/` before it"),
            Ok(()) if self.names.iter().any(|one| **one == *name) => Some("is asked for twice"),
            Ok(()) => None,
        };
        if let Some(wrong) = wrong {
            let kind = K::KIND.to_lowercase();
            panic!("the finalizer {name:?} {wrong}: write it like `example.com/{kind}`");
        }
        self.names.push(name.into());
        let reconciler = reconciler.clone();
        self.cleanup = Some(Arc::new(move |object, cx| {
            let reconciler = reconciler.clone();
            Box::pin(async move { reconciler.cleanup(object, cx).await })
        }));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the object is to be cleaned up instead of reconciled.
    pub(super) fn cleans_up(&self, object: &K) -> bool {
        object.is_deleting() && !self.is_empty()
    }

    /// Those of ours that the object has, or has not, in order.
    fn on(&self, object: &K, has: bool) -> Vec<Arc<str>> {
        let present = object.metadata().finalizers.as_deref().unwrap_or_default();
        let has = |name: &&Arc<str>| present.iter().any(|one| **one == ***name) == has;
        self.names.iter().filter(has).cloned().collect()
    }
}

/// What a key whose object is there gets: its reconcile, with the finalizers before it and the
/// pruning after it, or its cleanup.
pub(super) async fn reconcile<R: Reconciler>(
    reconciler: &R,
    object: Arc<R::Resource>,
    cx: &Context<R::Resource>,
) -> Result {
    let finalizers = &cx.shared.finalizers;
    if finalizers.is_empty() {
        // Noted when the run began.
        return reconcile_and_prune(reconciler, object, cx).await;
    }
    if finalizers.cleans_up(&object) {
        // Without ours it was never worked on, or all is done. What is rare has a place of its own: each call copies
        // what it might need on its way through the layers around it.
        return Box::pin(clean_up(object, cx)).await;
    }
    let missing = finalizers.on(&object, false);
    if missing.is_empty() {
        is_called(cx);
        return reconcile_and_prune(reconciler, object, cx).await;
    }
    let change = |present: &[String]| {
        let new = missing.iter().map(|name| name.to_string());
        let new = new.filter(|name| !present.contains(name));
        present.iter().cloned().chain(new).collect()
    };
    match Box::pin(set(object, cx, "add the finalizer to", false, &change)).await? {
        Some(object) => {
            let cx = cx.of(object.clone());
            is_called(&cx);
            reconcile_and_prune(reconciler, object, &cx).await
        }
        // It goes or is gone; the event is still to come.
        None => Ok(Action::wait()),
    }
}

async fn reconcile_and_prune<R: Reconciler>(
    reconciler: &R,
    object: Arc<R::Resource>,
    cx: &Context<R::Resource>,
) -> Result {
    let deleting = object.is_deleting();
    // What the user's code keeps may be large, and a build without optimisation copies it in each call on
    // the way: it has a place of its own.
    let action = Box::pin(reconciler.reconcile(object, cx)).await?;
    if !deleting {
        for declared in cx.shared.children.iter().filter(|one| one.pruned) {
            declared.kind.prune(cx).await?;
        }
    }
    Ok(action)
}

/// Remembers that the user's code has to be told when the object is gone.
fn is_called<K: Resource>(cx: &Context<K>) {
    let states = &cx.shared.hub.states;
    states.with(&cx.key, |state| state.called = true);
}

/// Undoes and removes our finalizers one after the other.
async fn clean_up<K: Resource>(mut object: Arc<K>, cx: &Context<K>) -> Result {
    let finalizers = &cx.shared.finalizers;
    let ours = finalizers.on(&object, true);
    for (at, name) in ours.iter().enumerate() {
        let mut cx = cx.of(object.clone());
        cx.finalizer = Some(name.clone());
        let done = Cleaned {
            uid: object.uid().map(str::to_owned),
            finalizer: name.clone(),
        };
        let states = &cx.shared.hub.states;
        let known = states.with(&cx.key, |state| state.cleaned.as_deref() == Some(&done));
        if !known.unwrap_or(false)
            && let Some(cleanup) = &finalizers.cleanup
        {
            is_called(&cx);
            let action = cleanup(object.clone(), &cx).await?;
            if action != Action::wait() {
                return Ok(action);
            }
            states.with(&cx.key, |state| state.cleaned = Some(Box::new(done)));
        }
        if at + 1 == ours.len() {
            let mut left = 0;
            for declared in cx.shared.children.iter().filter(|one| one.detached) {
                left += declared.kind.remove_detached(&cx).await?;
            }
            if left > 0 {
                return Ok(Action::requeue_after(GLANCE));
            }
        }
        let change = |present: &[String]| {
            let others = present.iter().filter(|one| ***one != **name);
            others.cloned().collect()
        };
        match set(object, &cx, "remove the finalizer from", true, &change).await? {
            Some(next) => object = next,
            None => break,
        }
    }
    Ok(Action::wait())
}

/// Changes the finalizers of `object`, which is of one version; if that is not the newest one, the change is
/// made of the newest. `None` if it is gone, or is `deleting` otherwise than was seen.
async fn set<K: Resource>(
    mut object: Arc<K>,
    cx: &Context<K>,
    verb: &'static str,
    deleting: bool,
    change: &(dyn Fn(&[String]) -> Vec<String> + Sync),
) -> std::result::Result<Option<Arc<K>>, Error> {
    let uid = object.uid().map(str::to_owned);
    let api = cx.api_of::<K>(&cx.key);
    let params = PatchParams::default().field_manager(&cx.shared.field_manager);
    for attempt in 1.. {
        let present = object.metadata().finalizers.as_deref().unwrap_or_default();
        let wanted = change(present);
        if wanted == present {
            return Ok(Some(object));
        }
        let patch = Patch::Merge(json!({"metadata": {
            "uid": uid,
            "resourceVersion": object.resource_version(),
            "finalizers": wanted,
        }}));
        // Its echo is no change to be told of: nobody else changed anything in between.
        let guard = WriteGuard::new(&cx.shared.hub, &cx.key);
        let send = api.patch(cx.key.name(), &params, &patch);
        match cx.write(verb, &ApiResource::of::<K>(), &cx.key, send).await {
            Ok(answer) => {
                if let (Some(old), Some(new)) =
                    (object.resource_version(), answer.resource_version())
                {
                    let (old, new) = (old.to_owned(), new.to_owned());
                    let states = &cx.shared.hub.states;
                    states.with(&cx.key, |state| {
                        state.own_writes.get_or_insert_default().wrote(old, new);
                    });
                }
                return Ok(Some(Arc::new(answer)));
            }
            Err(Error::Client(error)) if error.is_not_found() => return Ok(None),
            Err(error) if conflicts(&error) && attempt < ATTEMPTS => drop(guard),
            Err(error) => return Err(error),
        }
        let newest: Option<K> = api
            .get_opt(cx.key.name())
            .await
            .map_err(|error| told(verb, error))?;
        match newest {
            Some(newest) if newest.uid() == uid.as_deref() && newest.is_deleting() == deleting => {
                object = Arc::new(newest);
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}
