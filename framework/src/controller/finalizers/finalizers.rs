use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::json;

use crate::{
    client::{Patch, PatchParams},
    controller::{
        action::Action,
        children::Children,
        context::{Context, with_verb},
        error::{Error, Result},
        state::{Cleaned, WriteGuard},
    },
    resource::{ApiResource, Resource, check_qualified_name},
};

/// The finalizers that a controller declares, in order, and the cleanup that comes before each is removed.
pub(crate) struct Finalizers<K> {
    names: Vec<Arc<str>>,
    /// The first invalid name, and what is wrong with it.
    invalid: Option<(Box<str>, &'static str)>,
    cleanup: Option<CleanUp<K>>,
}

/// The user's cleanup.
pub(crate) type CleanUp<K> =
    Arc<dyn for<'a> Fn(Arc<K>, &'a Context<K>) -> BoxFuture<'a, Result> + Send + Sync>;

/// The largest number of attempts to patch the finalizers.
const ATTEMPTS: usize = 5;
/// Detached children that still exist are looked at again after this time. Usually their events come earlier. But a child
/// that does not decode does not tell whose child it is.
const CHILDREN_RECHECK: Duration = Duration::from_secs(30);

impl<K> Default for Finalizers<K> {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            invalid: None,
            cleanup: None,
        }
    }
}

impl<K: Resource> Finalizers<K> {
    /// Declares one more finalizer. [`check`](Self::check) reports an invalid name.
    pub(crate) fn add(&mut self, name: String, cleanup: CleanUp<K>) {
        let problem = match check_qualified_name(&name) {
            Err(_) if name.ends_with('/') => Some("must have a name after the `/`"),
            Err(problem) => Some(problem),
            Ok(()) if !name.contains('/') => Some("must have your domain and a `/` before it"),
            Ok(()) if self.names.iter().any(|one| **one == *name) => Some("is declared twice"),
            Ok(()) => None,
        };
        if let Some(problem) = problem {
            self.invalid.get_or_insert((name.as_str().into(), problem));
        }
        self.names.push(name.into());
        self.cleanup = Some(cleanup);
    }

    /// Refuses a name that the API server would refuse, and one that was declared twice.
    pub(crate) fn check(&self) -> std::result::Result<(), Error> {
        match &self.invalid {
            None => Ok(()),
            Some((name, problem)) => Err(Error::FinalizerName {
                name: name.to_string(),
                problem,
                example: format!("example.com/{}", K::KIND.to_lowercase()),
            }),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the object is cleaned up instead of reconciled.
    pub(crate) fn cleans_up(&self, object: &K) -> bool {
        object.is_deleting() && !self.is_empty()
    }

    /// The declared finalizers that the object does not have, in order.
    pub(crate) fn missing_on(&self, object: &K) -> Vec<Arc<str>> {
        self.filter(object, false)
    }

    fn filter(&self, object: &K, has: bool) -> Vec<Arc<str>> {
        let present = object.metadata().finalizers.as_deref().unwrap_or_default();
        let has = |name: &&Arc<str>| present.iter().any(|one| **one == ***name) == has;
        self.names.iter().filter(has).cloned().collect()
    }

    /// Adds the `missing` finalizers to the object. Returns the object as it is then, or `None` if it is gone or being
    /// deleted; then its event is still to come.
    pub(crate) async fn add_to(
        &self,
        object: Arc<K>,
        missing: &[Arc<str>],
        cx: &Context<K>,
    ) -> std::result::Result<Option<Arc<K>>, Error> {
        let change = |present: &[String]| {
            let new = missing.iter().map(|name| name.to_string());
            let new = new.filter(|name| !present.contains(name));
            present.iter().cloned().chain(new).collect()
        };
        set_finalizers(object, cx, "add the finalizer to", false, &change).await
    }

    /// Cleans up the object for each declared finalizer that it has, and removes the finalizer after the cleanup.
    pub(crate) async fn clean_up(
        &self,
        mut object: Arc<K>,
        children: &Children<K>,
        cx: &Context<K>,
    ) -> Result {
        let key_states = &cx.shared().controller.key_states;
        let ours = self.filter(&object, true);
        for (at, name) in ours.iter().enumerate() {
            let cx = cx.with_object(object.clone()).with_finalizer(name.clone());
            let done = Cleaned {
                uid: object.uid().map(str::to_owned),
                finalizer: name.clone(),
            };
            let known = key_states.with(cx.key(), |state| state.cleaned.as_deref() == Some(&done));
            if !known.unwrap_or(false)
                && let Some(cleanup) = &self.cleanup
            {
                note_called(&cx);
                let action = cleanup(object.clone(), &cx).await?;
                if action != Action::wait() {
                    return Ok(action);
                }
                key_states.with(cx.key(), |state| state.cleaned = Some(Box::new(done)));
            }
            if at + 1 == ours.len() {
                let mut exist = false;
                for declared in children.iter().filter(|one| one.detached) {
                    exist |= declared.kind.remove_detached(&cx).await?;
                }
                if exist {
                    return Ok(Action::requeue_after(CHILDREN_RECHECK));
                }
            }
            let change = |present: &[String]| {
                let others = present.iter().filter(|one| ***one != **name);
                others.cloned().collect()
            };
            let verb = "remove the finalizer from";
            match set_finalizers(object, &cx, verb, true, &change).await? {
                Some(next) => object = next,
                None => break,
            }
        }
        Ok(Action::wait())
    }
}

/// Notes that the user's code was called for the object, so that `deleted` is called when the object is gone.
pub(crate) fn note_called<K: Resource>(cx: &Context<K>) {
    let key_states = &cx.shared().controller.key_states;
    key_states.with(cx.key(), |state| state.called = true);
}

/// Patches the finalizers of `object` to what `change` returns. If the object has changed on the server, `change` is applied
/// to the newest version. Returns `None` if the object is gone, was replaced by another one, or if
/// whether it is being deleted differs from `deleting`.
async fn set_finalizers<K: Resource>(
    mut object: Arc<K>,
    cx: &Context<K>,
    verb: &'static str,
    deleting: bool,
    change: &(dyn Fn(&[String]) -> Vec<String> + Sync),
) -> std::result::Result<Option<Arc<K>>, Error> {
    let controller = &cx.shared().controller;
    let uid = object.uid().map(str::to_owned);
    let api = cx.api_of::<K>(cx.key());
    let params = PatchParams::default().field_manager(&cx.shared().field_manager);
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
        // The echo of this write leads to no reconcile: no other client changed the object in between.
        let guard = WriteGuard::new(controller, cx.key());
        let send = api.patch(cx.key().name(), &params, &patch);
        match cx
            .write(verb, &ApiResource::of::<K>(), cx.key(), send)
            .await
        {
            Ok(answer) => {
                if let (Some(old), Some(new)) =
                    (object.resource_version(), answer.resource_version())
                {
                    let (old, new) = (old.to_owned(), new.to_owned());
                    controller.key_states.with(cx.key(), |state| {
                        state.own_writes.get_or_insert_default().wrote(old, new);
                    });
                }
                return Ok(Some(Arc::new(answer)));
            }
            // If the kind is not served any more, the object is not gone.
            Err(Error::Client(error)) if error.is_not_found() && !error.is_not_served() => {
                return Ok(None);
            }
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => drop(guard),
            Err(error) => return Err(error),
        }
        let newest: Option<K> = api
            .get_opt(cx.key().name())
            .await
            .map_err(|error| with_verb(verb, error))?;
        match newest {
            Some(newest) if newest.uid() == uid.as_deref() && newest.is_deleting() == deleting => {
                object = Arc::new(newest);
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}
