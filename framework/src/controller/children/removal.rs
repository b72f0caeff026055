use std::sync::Arc;

use crate::{
    client::{DeleteParams, ErrorKind},
    controller::{
        context::{Context, with_verb},
        error::Error,
        owners::{OWNER_UID_LABEL, OwnerMark, is_marked_by},
        reconcilable::Reconcilable,
        state::ControllerState,
    },
    events::NewEvent,
    resource::{ApiResource, Object, ObjectKey, ObjectMeta, PartialObject, Undecodable},
};

/// A child that was found in a cache.
pub(super) struct FoundChild {
    pub(super) key: ObjectKey,
    /// The UID of the owner, if the child is detached.
    pub(super) owner: Option<String>,
    uid: Option<String>,
    version: Option<String>,
    pub(super) deleting: bool,
    /// Nothing but the mark shows whose child it is.
    detached: bool,
}

impl FoundChild {
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let name = metadata.name.as_deref().unwrap_or_default();
        Self {
            key: ObjectKey::new(metadata.namespace.as_deref(), name),
            owner: OwnerMark::on(metadata).map(|mark| mark.uid),
            uid: metadata.uid.clone(),
            version: metadata.resource_version.clone(),
            deleting: metadata.deletion_timestamp.is_some(),
            detached: metadata.owner_references.iter().flatten().next().is_none(),
        }
    }

    pub(super) fn of_undecodable(object: &Arc<Undecodable>) -> Self {
        Self {
            key: object.key.clone(),
            owner: None,
            uid: object.uid.clone(),
            version: object.resource_version.clone(),
            deleting: object.is_deleting,
            detached: true,
        }
    }
}

/// The largest number of attempts to delete a child that others change at the same time.
const ATTEMPTS: usize = 4;

/// Deletes `child` as it was seen, by UID and resource version. If it has changed since, it is deleted only if `still` holds
/// for the newest version. Another object of its name is not deleted.
///
/// A detached child is first read from the server, because the caches have no managed fields: it is a child only if this
/// operator applied its mark.
///
/// Returns whether the child existed.
pub(super) async fn remove<K: Reconcilable>(
    cx: &Context<K>,
    verb: &'static str,
    resource: &ApiResource,
    child: &FoundChild,
    still: impl Fn(&ObjectMeta) -> bool,
) -> Result<bool, Error> {
    if is_copied(&cx.shared().controller, child) {
        return Ok(false);
    }
    let mut version = child.version.clone();
    for attempt in 1.. {
        if child.detached || attempt > 1 {
            let present = on_server(cx, verb, resource, child).await?;
            let Some(present) = present
                .filter(|present| present.metadata.uid == child.uid && still(&present.metadata))
            else {
                return Ok(false);
            };
            if child.detached && !is_marked_by(&cx.shared().field_manager, &present.metadata) {
                note_copied(cx, resource, &FoundChild::of(&present.metadata));
                return Ok(false);
            }
            if present.is_deleting() {
                return Ok(true);
            }
            version = present.metadata.resource_version;
        }
        let mut params = DeleteParams::background();
        if let Some(uid) = &child.uid {
            params = params.uid(uid);
        }
        if let Some(version) = version.take() {
            params = params.resource_version(version);
        }
        match cx
            .send_delete::<PartialObject>(verb, resource, &child.key, &params)
            .await
        {
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(true),
        }
    }
    Ok(true)
}

/// The metadata of a child as the server has it: of a detached child with the managed fields.
async fn on_server<K: Reconcilable>(
    cx: &Context<K>,
    verb: &'static str,
    resource: &ApiResource,
    child: &FoundChild,
) -> Result<Option<PartialObject>, Error> {
    let api = cx.api_in::<PartialObject>(resource, &child.key);
    let whole = match child.detached {
        true => api.clone().with_managed_fields(),
        false => api.clone(),
    };
    let present = match whole.get_opt(child.key.name()).await {
        // Anybody may write managed fields that cannot be read. They prove nothing. But the rest must be readable: otherwise
        // something else is wrong with the answer.
        Err(error) if matches!(error.kind(), ErrorKind::Decode { .. }) => {
            api.get_opt(child.key.name()).await
        }
        present => present,
    };
    present.map_err(|error| with_verb(verb, error))
}

/// Whether this version of a detached child is known to have a mark that this operator did not apply.
pub(super) fn is_copied(controller: &ControllerState, child: &FoundChild) -> bool {
    let (Some(uid), Some(version)) = (&child.uid, &child.version) else {
        return false;
    };
    child.detached && controller.copied_marks.lock().contains(uid, version)
}

/// Remembers an object whose mark this operator did not apply, and reports it.
fn note_copied<K: Reconcilable>(cx: &Context<K>, resource: &ApiResource, object: &FoundChild) {
    let uid = object.uid.as_deref().unwrap_or_default();
    let version = object.version.as_deref().unwrap_or_default();
    let copied_marks = &cx.shared().controller.copied_marks;
    let Some(unreported) = copied_marks.lock().note(uid, version) else {
        return;
    };
    let (manager, key) = (&cx.shared().field_manager, &object.key);
    let note = format!(
        "{} {key} has the label {OWNER_UID_LABEL}, but the field manager {manager:?} did not apply it. The object is not a \
         child and is not deleted. Remove the label from a copy",
        resource.kind
    );
    let more = match unreported {
        0 => String::new(),
        count => format!(" ({count} more such objects were not reported)"),
    };
    tracing::warn!("{} {}: {note}{more}", cx.resource().kind, cx.key());
    if cx.shared().failure_events {
        cx.event(NewEvent::warning("NotAChild", "Delete").note(note));
    }
}
