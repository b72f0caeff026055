use std::any::Any;

use memchr::memmem;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Context, Error,
    applied::{Applied, ChildId, Written, child_id},
    owner_mark::OwnerMark,
    restart::{APPLIED_ANNOTATION, contains, field_set},
};
use crate::{
    cache::Lister,
    client::{Api, Kept, Patch, PatchParams},
    resource::{
        ApiResource, CanOwn, Object, ObjectKey, ObjectMeta, OwnerReference, PartialObject,
        Resource, Scope, control, controller_of,
    },
};

impl<K: Resource> Context<K> {
    /// Makes `child` be as it is written here, owned by the reconciled object, and returns it as
    /// the server has it.
    ///
    /// Server-side apply, forced, under the operator's name: fields that are written here are ours,
    /// fields that were and are not any more are removed, all others stay with whom they belong
    /// to. The controller reference is set; an object that nobody controls is taken over, one that
    /// somebody else controls is not. An empty namespace becomes that of the reconciled object. What only the server writes (UID, resource version, managed fields, …) is left out.
    ///
    /// No request is sent when the body equals the last one that this process applied and the cached
    /// child is still as that apply left it; so a reconcile of an unchanged object sends nothing.
    ///
    /// Nor is one sent if the child is known to be as an apply of another process left it, or if only others' fields
    /// changed since, such as its status. So a restart with nothing changed sends nothing. Two conditions have to hold. The annotation
    /// [`APPLIED_ANNOTATION`](super::APPLIED_ANNOTATION), which each apply writes, shows that the same fields were applied. And each
    /// field of the body equals that of the cached child: quantities by their amount, list items by the keys by which the server
    /// merges them. A doubt leads to an apply: if only the metadata of the kind is cached, if a transform takes
    /// fields out of the cache, if the child has fields of others where an apply replaces the whole. Kinds that are not
    /// built into Kubernetes have such a doubt wherever their objects hold a field more than the body.
    /// An upgrade of the operator that writes other fields, another field manager or another API version makes one write for each child.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not say `.owns::<C>()`; what is wrong with the child's
    /// name or namespace; [`Error::OwnedByAnother`]; [`Error::Gone`] when the reconciled object is gone;
    /// [`Error::BeingDeleted`] when it goes, and the garbage collector deletes or orphans its children: what it
    /// let go is not taken back; the server's.
    pub async fn apply<C: Resource>(&self, child: C) -> Result<C, Error>
    where
        K::Scope: CanOwn<C::Scope>,
    {
        let resource = ApiResource::of::<C>();
        if let Some(cache) = self.cache::<C>() {
            return self.apply_owned("apply", &resource, &cache, child).await;
        }
        // To know whose it is and at which version the metadata is enough.
        if let Some(cache) = self.cache::<PartialObject<C>>() {
            return self.apply_owned("apply", &resource, &cache, child).await;
        }
        Err(Error::NotWired {
            verb: "apply",
            kind: C::KIND,
            line: "owns",
        })
    }

    /// As [`apply`](Self::apply), of a kind known only at run time. `apiVersion` and `kind` may be left empty.
    ///
    /// ```
    /// # use pilothouse::{controller::{Context, Error}, k8s::api::apps::v1::Deployment};
    /// use pilothouse::resource::{ApiResource, DynamicObject};
    /// use serde_json::json;
    ///
    /// # async fn example(cx: &Context<Deployment>, widgets: &ApiResource) -> Result<(), Error> {
    /// // With `.owns_of::<DynamicObject>(widgets)` in `wire`.
    /// let mut widget = DynamicObject::new(widgets, "a");
    /// widget.data.insert("spec".into(), json!({"size": 3}));
    /// let applied = cx.apply_of(widgets, widget).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotWiredOf`] if `wire` does not say `.owns_of(..)`; [`Error::OtherKind`] if the object says that it is
    /// of another kind; [`Error::OtherScope`] if it is cluster-scoped and the reconciled object is not;
    /// else as [`apply`](Self::apply).
    pub async fn apply_of<C>(&self, resource: &ApiResource, child: C) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        let verb = "apply_of";
        let readers = &self.shared.hub.readers;
        if let Some(cache) = readers.get::<C>(resource) {
            return self.apply_owned(verb, resource, &cache, child).await;
        }
        if let Some(cache) = readers.get::<PartialObject>(resource) {
            return self.apply_owned(verb, resource, &cache, child).await;
        }
        Err(Error::not_wired_of::<C>(verb, resource, "owns_of"))
    }

    async fn apply_owned<C, P: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        cache: &Lister<P>,
        mut child: C,
    ) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        let owner = self.owner(verb)?;
        let key = self.place(verb, resource, &mut child)?;
        self.check_namespace(verb, resource, &child)?;
        control(&**owner, &mut child).map_err(|source| Error::Owner {
            kind: resource.kind.clone(),
            source,
        })?;
        let present = cache.get(&key).ok().flatten();
        if let Some(present) = &present {
            self.check_owner(verb, resource, &**owner, &**present)?;
        }
        if owner.is_deleting() && is_let_go(&**owner, present.as_deref()) {
            return Err(Error::BeingDeleted {
                verb,
                kind: K::KIND,
                key: self.key.clone(),
            });
        }
        self.apply_as(verb, resource, cache, child, key, None).await
    }

    /// Applies a child that is ready for it, unless it is known to be so already. With `version`
    /// only if that is the version which the server has.
    pub(super) async fn apply_as<C, P: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        cache: &Lister<P>,
        child: C,
        key: ObjectKey,
        version: Option<String>,
    ) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        let first = self.wanted.note(resource, &key);
        let wanted = body(verb, &child, resource, &key)?;
        let body = self.shared.fingerprints.of(&wanted);

        let id = child_id::<C>(resource, &key);
        if let Some(present) = self.unchanged::<C, P>(resource, &id, body, cache) {
            self.shared.hub.metrics.writes_skipped.inc();
            return Ok(present);
        }
        let failed = |source| Error::serialize(verb, resource, &key, source);
        let mut wanted: Value = serde_json::from_slice(&wanted).map_err(failed)?;
        let present = cache.get(&key).ok().flatten();
        let mark = field_set(&self.shared.field_manager, resource, &wanted);
        let fits = fits(&child, present.as_deref());
        if fits {
            wanted["metadata"]["annotations"][APPLIED_ANNOTATION] = mark.as_str().into();
        }
        // After a write of this run the cache may have the child as it was before.
        if first
            && fits
            && let Some(present) = &present
            && self.may_be_as_applied(&id, body, &**present)
            && let Some(present) = as_applied::<C, P>(resource, &mark, &wanted, present)
        {
            self.remember(id, body, &present, None);
            self.shared.hub.metrics.writes_skipped.inc();
            return Ok(present);
        }
        if let Some(version) = version {
            wanted["metadata"]["resourceVersion"] = version.into();
        }
        let wanted = serde_json::to_vec(&wanted).map_err(failed)?;
        let patch = Patch::ApplyBytes(wanted.into());
        let api = self.api_in::<C>(resource, &key);
        let params = self.forced();
        let mut kept = None;
        let send = async {
            let (answer, as_it_came) = api.patch_and_keep(key.name(), &params, &patch).await?;
            kept = Some(as_it_came);
            Ok(answer)
        };
        let answer: C = self.write(verb, resource, &key, send).await?;
        self.remember(id, body, &answer, kept);
        Ok(answer)
    }

    /// The objects where `key` is.
    pub(super) fn api_of<C: Resource>(&self, key: &ObjectKey) -> Api<C> {
        self.api_in(&ApiResource::of::<C>(), key)
    }

    /// The same of any kind.
    pub(super) fn api_in<C>(&self, resource: &ApiResource, key: &ObjectKey) -> Api<C> {
        Api::of(&self.shared.client, resource.clone(), key.namespace())
    }

    /// Gives a child its place beside the reconciled object unless it has one, takes away what only
    /// the server writes, and gives its key.
    pub(super) fn place<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        child: &mut C,
    ) -> Result<ObjectKey, Error> {
        child.fill_types(resource);
        if child.name().is_empty() {
            return Err(Error::NoName {
                kind: resource.kind.clone(),
            });
        }
        if resource.namespaced && child.namespace().is_none() {
            let key = self.beside(verb, resource, child.name())?;
            child.metadata_mut().namespace = key.namespace().map(str::to_owned);
        }
        let metadata = child.metadata_mut();
        metadata.managed_fields = None;
        metadata.resource_version = None;
        metadata.uid = None;
        metadata.creation_timestamp = None;
        metadata.generation = None;
        if let Some(annotations) = &mut metadata.annotations {
            // The annotation came from a child that was read, or from an object that this one is a copy of.
            annotations.remove(APPLIED_ANNOTATION);
        }
        Ok(child.key())
    }

    /// A namespaced object owns only what is in its own namespace.
    pub(super) fn check_namespace<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        child: &C,
    ) -> Result<(), Error> {
        if K::Scope::NAMESPACED && !resource.namespaced {
            return Err(Error::OtherScope {
                verb,
                kind: resource.kind.clone(),
                child: child.key(),
                owner: self.key.clone(),
            });
        }
        if K::Scope::NAMESPACED && child.namespace() != self.key.namespace() {
            return Err(Error::OtherNamespace {
                verb,
                kind: resource.kind.clone(),
                child: child.key(),
                owner: self.key.clone(),
            });
        }
        Ok(())
    }

    /// Refuses an object that somebody else controls, or that is another one's detached child.
    pub(super) fn check_owner(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        owner: &K,
        present: &impl Object,
    ) -> Result<(), Error> {
        let controller = controller_of(present.metadata())
            .filter(|controller| Some(&*controller.uid) != owner.uid())
            .map(|controller| format!("{} {}", controller.kind, controller.name));
        let ours = OwnerMark::of(owner).map_err(|source| Error::Owner {
            kind: resource.kind.clone(),
            source,
        })?;
        // One that was here before bore the same name, and is gone.
        let mark = OwnerMark::on(present.metadata())
            .filter(|mark| !mark.is_at_the_place_of(&ours))
            .map(|mark| mark.to_string());
        match controller.or(mark) {
            None => Ok(()),
            Some(owner) => Err(Error::OwnedByAnother {
                verb,
                kind: resource.kind.clone(),
                child: present.key(),
                owner,
            }),
        }
    }

    /// The child as it is, if this body was applied already and nothing happened to it since.
    fn unchanged<C, P: Object>(
        &self,
        resource: &ApiResource,
        id: &ChildId,
        body: u128,
        cache: &Lister<P>,
    ) -> Option<C>
    where
        C: Object + DeserializeOwned + Clone,
    {
        // One snapshot: the child and the collection's version have to fit together.
        let snapshot = cache.snapshot();
        let cached = snapshot.get(&id.3).ok()?;
        let child = cached.as_ref().and_then(|child| child.resource_version());
        let hub = &self.shared.hub;
        // The cache has not come to our write yet. If something happened to the child after it, and as long as
        // the cache is to tell of it, another reconcile follows.
        let mut still_to_come = false;
        let with = |state: &mut super::key_states::KeyState| {
            let applied = state.applied.get_mut(id)?;
            let written = applied.written.as_ref()?;
            if written.body != body {
                return None;
            }
            let version = &written.version;
            let known = match &cached {
                Some(cached) if child == Some(version) => {
                    let whole: &dyn Any = &**cached;
                    if let Some(whole) = whole.downcast_ref::<C>() {
                        applied.answer = None;
                        Known::Cached(whole)
                    } else {
                        // Of a kind of which only the metadata is cached the answer is all there is.
                        Known::Answered(applied.answer.clone()?)
                    }
                }
                _ if is_behind(snapshot.resource_version(), child, version) => {
                    still_to_come = true;
                    Known::Answered(applied.answer.clone()?)
                }
                _ => return None,
            };
            applied.run = self.run;
            Some(known)
        };
        let known = hub.states.with(&self.key, with).flatten()?;
        if still_to_come && !hub.writes.awaits(&self.key, resource, &id.3) {
            return None;
        }
        match known {
            Known::Cached(whole) => Some(whole.clone()),
            Known::Answered(answer) => answer.read(),
        }
    }

    /// Whether the cached child is as late as the last apply of this process, if there was one, and that applied
    /// the same.
    fn may_be_as_applied(&self, id: &ChildId, body: u128, present: &impl Object) -> bool {
        let states = &self.shared.hub.states;
        let may_be = states.with(&self.key, |state| {
            let Some(applied) = state.applied.get(id) else {
                return true;
            };
            applied.written.as_ref().is_some_and(|written| {
                let present = present.resource_version().unwrap_or_default();
                written.body == body && is_older(Some(&written.version), present)
            })
        });
        may_be.unwrap_or(true)
    }

    fn remember<C: Object>(&self, id: ChildId, body: u128, answer: &C, kept: Option<Kept>) {
        let Some(version) = answer.resource_version() else {
            return;
        };
        let written = Written {
            body,
            version: version.to_owned(),
        };
        let applied = Applied {
            written: Some(written),
            answer: kept,
            run: self.run,
        };
        let states = &self.shared.hub.states;
        states.with(&self.key, |state| state.applied.insert(id, applied));
    }

    pub(super) fn forced(&self) -> PatchParams {
        PatchParams::apply(self.shared.field_manager.as_str()).force()
    }
}

/// Whether the garbage collector takes care of the children of `owner`, which is being deleted, or has
/// orphaned this one: as its child again it would be deleted with it.
fn is_let_go<K: Object, C: Object>(owner: &K, child: Option<&C>) -> bool {
    let finalizers = owner.metadata().finalizers.as_deref().unwrap_or_default();
    let mut finalizers = finalizers.iter();
    let owners = child.map(|child| child.metadata().owner_references.as_deref());
    let is_ours = |owners: Option<&[OwnerReference]>| {
        let mut owners = owners.unwrap_or_default().iter();
        owners.any(|one| Some(&*one.uid) == owner.uid())
    };
    finalizers.any(|one| one == "orphan" || one == "foregroundDeletion")
        || owners.is_some_and(|owners| !is_ours(owners))
}

/// What is known of a child that is as it was applied.
enum Known<'a, C> {
    Cached(&'a C),
    Answered(Kept),
}

/// The body of an apply, as JSON.
fn body<C: Object + Serialize>(
    verb: &'static str,
    child: &C,
    resource: &ApiResource,
    key: &ObjectKey,
) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::serialize(verb, resource, key, source);
    let body = serde_json::to_vec(child).map_err(failed)?;
    if is_ready(&body, resource) {
        return Ok(body);
    }
    typed(verb, &body, C::METADATA_ONLY, resource, key)
}

/// Whether a body begins with its types, as most types are written, and can have no status.
fn is_ready(body: &[u8], resource: &ApiResource) -> bool {
    let (version, kind) = (resource.api_version(), &resource.kind);
    let types = format!(r#"{{"apiVersion":"{version}","kind":"{kind}","#);
    body.starts_with(types.as_bytes()) && memmem::find(body, br#""status":"#).is_none()
}

/// The cached child, if it is certain that an apply of `wanted`, which is marked by `mark`, would change nothing in it.
fn as_applied<C, P: Object>(
    resource: &ApiResource,
    mark: &str,
    wanted: &Value,
    present: &P,
) -> Option<C>
where
    C: Object + Serialize + Clone,
{
    if present.annotation(APPLIED_ANNOTATION) != Some(mark) {
        return None;
    }
    // The cache holds only the metadata of this kind, so the rest cannot be compared.
    let present: &dyn Any = present;
    let present = present.downcast_ref::<C>()?;
    let whole = !C::PARTIAL || C::METADATA_ONLY;
    let child = serde_json::to_value(present).ok()?;
    contains(resource, whole, wanted, &child).then(|| present.clone())
}

/// So many bytes all annotations of an object may have, by the API server's validation.
const MOST_ANNOTATIONS: usize = 256 << 10;
/// What one annotation more takes at most.
const ROOM: usize = 128;

/// Whether there is room for one more annotation on the child: it must not be ours by which an apply is refused.
fn fits<C: Object, P: Object>(child: &C, present: Option<&P>) -> bool {
    let of = |metadata: &ObjectMeta| {
        let all = metadata.annotations.iter().flatten();
        all.map(|(name, value)| name.len() + value.len())
            .sum::<usize>()
    };
    let present = present.map_or(0, |present| of(present.metadata()));
    of(child.metadata()) + present + ROOM <= MOST_ANNOTATIONS
}

/// The body with `apiVersion` and `kind`, which server-side apply needs and not every type writes.
fn typed(
    verb: &'static str,
    body: &[u8],
    metadata_only: bool,
    resource: &ApiResource,
    key: &ObjectKey,
) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::serialize(verb, resource, key, source);
    let mut body: Value = serde_json::from_slice(body).map_err(failed)?;
    if let Value::Object(fields) = &mut body {
        // Its own subresource where there is one, and never ours.
        fields.remove("status");
        let of = |field: &str| fields.get(field).and_then(Value::as_str);
        let found = (
            of("apiVersion").unwrap_or_default(),
            of("kind").unwrap_or_default(),
        );
        // What holds only metadata says only that.
        if !metadata_only
            && !found.1.is_empty()
            && found != (&*resource.api_version(), &*resource.kind)
        {
            return Err(Error::OtherKind {
                verb,
                kind: resource.kind.clone(),
                child: key.clone(),
                found: format!("{} {}", found.0, found.1),
            });
        }
        fields.insert("apiVersion".into(), resource.api_version().into());
        fields.insert("kind".into(), (&*resource.kind).into());
    }
    serde_json::to_vec(&body).map_err(failed)
}

/// Whether a cache of which the collection is at `collection` and the child, if it is there, at
/// `child` has not come to `version` yet. Both have to be asked: during a list objects are ahead of
/// their collection, and a change of the child that was told already is not told again.
fn is_behind(collection: Option<&str>, child: Option<&str>, version: &str) -> bool {
    is_older(collection, version) && child.is_none_or(|child| is_older(Some(child), version))
}

/// Whether `version` is older than `other`. Resource versions that are not numbers cannot be compared.
fn is_older(version: Option<&str>, other: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    match (version.and_then(number), number(other)) {
        (Some(version), Some(other)) => version < other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};

    #[test]
    fn a_body_that_needs_nothing_is_sent_as_it_is_written() {
        let (maps, deployments) = (
            ApiResource::of::<ConfigMap>(),
            ApiResource::of::<Deployment>(),
        );
        for (resource, body, expected) in [
            (
                &maps,
                r#"{"apiVersion":"v1","kind":"ConfigMap","data":{}}"#,
                true,
            ),
            (
                &deployments,
                r#"{"apiVersion":"apps/v1","kind":"Deployment","spec":{}}"#,
                true,
            ),
            // Other types, none, in another order, or with a status.
            (
                &maps,
                r#"{"apiVersion":"v1","kind":"ConfigMapList","data":{}}"#,
                false,
            ),
            (&maps, r#"{"apiVersion":"","kind":"","data":{}}"#, false),
            (
                &maps,
                r#"{"kind":"ConfigMap","apiVersion":"v1","data":{}}"#,
                false,
            ),
            (&maps, r#"{"metadata":{}}"#, false),
            (
                &deployments,
                r#"{"apiVersion":"apps/v1","kind":"Deployment","status":{}}"#,
                false,
            ),
        ] {
            assert_eq!(is_ready(body.as_bytes(), resource), expected, "{body}");
        }
        let mut map = ConfigMap::default();
        map.metadata.name = Some("a".into());
        assert!(is_ready(&serde_json::to_vec(&map).unwrap(), &maps));
    }

    #[test]
    fn a_body_that_is_written_anew_keeps_its_numbers() {
        let resource = ApiResource::of::<ConfigMap>();
        let key = ObjectKey::cluster("a");
        let body = br#"{"kind":"ConfigMap","apiVersion":"v1","f":121.48791951161945,"i":18446744073709551615,"status":{}}"#;
        let text = typed("apply", body, false, &resource, &key).unwrap();
        let expected = r#"{"apiVersion":"v1","f":121.48791951161945,"i":18446744073709551615,"kind":"ConfigMap"}"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn a_cache_that_holds_a_later_version_of_the_child_is_not_behind() {
        for (collection, child, expected) in [
            (Some("10"), None, true),
            (Some("10"), Some("12"), true),
            // The watch has come to it.
            (Some("20"), Some("12"), false),
            (Some("30"), None, false),
            // A list is under way and has brought somebody else's change.
            (Some("10"), Some("25"), false),
            // Who can say?
            (None, None, false),
            (Some("a"), Some("b"), false),
            (Some("10"), Some("b"), false),
        ] {
            let found = is_behind(collection, child, "20");
            assert_eq!(found, expected, "{collection:?} {child:?}");
        }
    }
}
