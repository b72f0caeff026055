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
        finalizer_rules::FinalizerRules,
        reconcilable::Reconcilable,
        sources::leaves_out,
        state::{Cleaned, WriteGuard},
    },
};

/// The finalizers of a controller, and the cleanup that comes before each is removed.
pub(crate) struct Finalizers<K> {
    pub(crate) rules: Arc<FinalizerRules<K>>,
    cleanup: Option<CleanUp<K>>,
}

/// The user's cleanup.
pub(crate) type CleanUp<K> =
    Arc<dyn for<'a> Fn(Arc<K>, &'a Context<K>) -> BoxFuture<'a, Result> + Send + Sync>;

const REMOVE: &str = "remove the finalizer from";
/// The largest number of attempts to patch the finalizers.
const ATTEMPTS: usize = 5;
/// Detached children that still exist are looked at again after this time. Usually their events come earlier. But a child
/// that does not decode does not tell whose child it is.
const CHILDREN_RECHECK: Duration = Duration::from_secs(30);

impl<K: Reconcilable> Finalizers<K> {
    pub(crate) fn new(rules: &Arc<FinalizerRules<K>>, cleanup: Option<CleanUp<K>>) -> Self {
        Self {
            rules: rules.clone(),
            cleanup,
        }
    }

    /// Whether the object is cleaned up instead of reconciled.
    pub(crate) fn cleans_up(&self, object: &K) -> bool {
        object.is_deleting() && !self.rules.is_empty()
    }

    /// Whether [`prepare`](Self::prepare) would change the object.
    pub(crate) fn are_incomplete_on(&self, object: &K, cx: &Context<K>) -> bool {
        let is_missing = || !object.is_deleting() && !self.missing_on(object, cx).is_empty();
        self.rules.has_retired(object.metadata()) || is_missing()
    }

    /// The finalizers that an object, which is not being deleted, needs and does not have. None are added to an object that the
    /// predicate leaves out.
    fn missing_on(&self, object: &K, cx: &Context<K>) -> Vec<Arc<str>> {
        let missing = self.rules.missing_on(object);
        match missing.is_empty() || self.leave_out(object, cx) {
            true => Vec::new(),
            false => missing,
        }
    }

    /// Whether the controller's predicate leaves the object out.
    pub(crate) fn leave_out(&self, object: &K, cx: &Context<K>) -> bool {
        leaves_out(
            &cx.shared().controller,
            self.rules.predicate.as_ref(),
            object,
        )
    }

    /// Before a reconcile or a cleanup: adds the missing finalizers to the object, and removes those of a former version, in one
    /// write. Returns the object as it is then, or `None` if it is gone, or if its deletion has begun meanwhile; then its event is
    /// still to come.
    pub(crate) async fn prepare(
        &self,
        object: Arc<K>,
        cx: &Context<K>,
    ) -> std::result::Result<Option<Arc<K>>, Error> {
        let deleting = object.is_deleting();
        let missing_on = |object: &K| match deleting {
            true => Vec::new(),
            false => self.missing_on(object, cx),
        };
        let verb = match missing_on(&object).is_empty() {
            true => "remove the retired finalizer from",
            false => "add the finalizer to",
        };
        // Asked for each version that is written on: the object may have changed on the server.
        let change = |newest: &K| {
            let present = finalizers_of(newest);
            let kept = present.iter().filter(|name| !self.rules.is_retired(name));
            let missing = missing_on(newest);
            let missing = missing.iter().map(|name| name.to_string());
            kept.cloned().chain(missing).collect()
        };
        let changed = set_finalizers(object, cx, verb, deleting, &change).await?;
        // An object that is being deleted is gone with its last finalizer.
        Ok(changed.filter(|object| !deleting || !finalizers_of(&**object).is_empty()))
    }

    /// After a successful reconcile of `object`: removes the finalizers whose conditions did not hold for it. One stays as long as
    /// the object has detached children. Returns `action`, or an earlier one if a finalizer waits for that.
    pub(crate) async fn release(
        &self,
        object: Arc<K>,
        children: &Children<K>,
        cx: &Context<K>,
        action: Action,
    ) -> Result {
        if !self.rules.have_conditions() || object.is_deleting() {
            return Ok(action);
        }
        let seen = self.rules.unneeded_on(&object);
        if seen.is_empty() {
            return Ok(action);
        }
        // The reconcile may have undone too little.
        if cx.undecodable_read().is_some() {
            return Ok(action.within(CHILDREN_RECHECK));
        }
        let one_stays = children.has_detached(cx)?;
        let change = |newest: &K| {
            let mut unneeded = self.rules.unneeded_on(newest);
            unneeded.retain(|name| seen.contains(name));
            if one_stays && unneeded.len() == self.rules.present_on(newest.metadata()).len() {
                unneeded.pop();
            }
            let is_kept = |one: &&String| !unneeded.iter().any(|name| **name == ***one);
            finalizers_of(newest)
                .iter()
                .filter(is_kept)
                .cloned()
                .collect()
        };
        set_finalizers(object, cx, REMOVE, false, &change).await?;
        Ok(action)
    }

    /// Cleans up the object for each declared finalizer that it has, and removes the finalizer after the cleanup. The conditions
    /// are not asked: the object may need a cleanup that no reconcile has made needless.
    pub(crate) async fn clean_up(
        &self,
        mut object: Arc<K>,
        children: &Children<K>,
        cx: &Context<K>,
    ) -> Result {
        let key_states = &cx.shared().controller.key_states;
        let ours = self.rules.present_on(object.metadata());
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
            let change = |newest: &K| {
                let present = finalizers_of(newest);
                let others = present.iter().filter(|one| ***one != **name);
                others.cloned().collect()
            };
            match set_finalizers(object, &cx, REMOVE, true, &change).await? {
                Some(next) => object = next,
                None => break,
            }
        }
        Ok(Action::wait())
    }
}

fn finalizers_of<K: Reconcilable>(object: &K) -> &[String] {
    object.metadata().finalizers.as_deref().unwrap_or_default()
}

/// Notes that the user's code was called for the object, so that `deleted` is called when the object is gone.
pub(crate) fn note_called<K: Reconcilable>(cx: &Context<K>) {
    let key_states = &cx.shared().controller.key_states;
    key_states.with(cx.key(), |state| state.called = true);
}

/// Patches the finalizers of `object` to what `change` returns. If the object has changed on the server, `change` is applied
/// to the newest version. Returns `None` if the object is gone, was replaced by another one, or if
/// whether it is being deleted differs from `deleting`.
async fn set_finalizers<K: Reconcilable>(
    mut object: Arc<K>,
    cx: &Context<K>,
    verb: &'static str,
    deleting: bool,
    change: &(dyn Fn(&K) -> Vec<String> + Sync),
) -> std::result::Result<Option<Arc<K>>, Error> {
    let controller = &cx.shared().controller;
    let uid = object.uid().map(str::to_owned);
    let api = cx.own_api();
    let params = PatchParams::default().field_manager(&cx.shared().field_manager);
    for attempt in 1.. {
        let wanted = change(&object);
        if wanted == finalizers_of(&*object) {
            return Ok(Some(object));
        }
        let patch = Patch::Merge(json!({"metadata": {
            "uid": uid,
            "resourceVersion": object.resource_version(),
            "finalizers": wanted,
        }}));
        // The echo of this write leads to no reconcile: no other client changed the object in between.
        let guard = WriteGuard::new(controller, cx.key());
        let call = api.call("patch", Some(cx.key().name()), None);
        let send = api.patch_with_answer(call, &params, &patch);
        match cx.write::<K>(verb, cx.resource(), cx.key(), send).await {
            Ok((answer, _)) => {
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
