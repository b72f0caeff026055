use std::collections::BTreeMap;

use http::{Method, header, request::Parts};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Sent;
use crate::{
    client::RequestPath,
    clock::Clock,
    resource::{ApiResource, ConversionError, Object, ObjectKey, Status, Versions},
};

/// Group and plural.
type Kind = (String, String);

/// Objects in memory. They behave as on an API server as far as a reconciler can see, without schemas, defaults and other
/// controllers.
#[derive(Default)]
pub(super) struct Objects {
    kinds: BTreeMap<Kind, BTreeMap<ObjectKey, Value>>,
    /// The last apply of each field manager to an object, and to its status.
    applied: BTreeMap<(Kind, ObjectKey, bool, String), Value>,
    version: u64,
    /// The kinds with several versions. Their objects are kept in the stored one.
    versions: BTreeMap<Kind, Versions>,
    /// For the times of creations and deletions.
    pub(super) clock: Clock,
    pub(super) sent: Vec<Sent>,
    pub(super) failures: Vec<Failing>,
}

/// The answer to the next request with this verb on this kind.
pub(super) struct Failing {
    pub(super) verb: String,
    pub(super) kind: Kind,
    pub(super) status: Status,
}

impl Objects {
    /// Lets clients read and write the objects of a kind in all versions.
    pub(super) fn convert(&mut self, versions: Versions) {
        if versions.are_converted() {
            self.versions.insert(kind_of(versions.stored()), versions);
        }
    }

    /// The objects of a kind, in its version.
    pub(super) fn values(&self, resource: &ApiResource) -> Vec<Value> {
        let kind = kind_of(resource);
        let objects = self.kinds.get(&kind).into_iter();
        let objects = objects.flat_map(BTreeMap::values).cloned();
        let to = resource.api_version();
        objects
            .filter_map(|object| self.in_version(&kind, object, &to).ok())
            .collect()
    }

    /// An object in this version. Kinds with one version stay as they are.
    fn in_version(
        &self,
        kind: &Kind,
        object: Value,
        to: &str,
    ) -> Result<Value, Box<ConversionError>> {
        match self.versions.get(kind) {
            Some(versions) => versions.convert(object, to).map_err(Box::new),
            None => Ok(object),
        }
    }

    /// An object as it is kept.
    fn stored(&self, kind: &Kind, object: Value) -> Result<Value, Box<ConversionError>> {
        match self.versions.get(kind) {
            Some(versions) => self.in_version(kind, object, &versions.stored().api_version()),
            None => Ok(object),
        }
    }

    /// The objects of a kind that decode as `K`.
    pub(super) fn of<K: Object + DeserializeOwned>(
        &self,
        resource: &ApiResource,
    ) -> impl Iterator<Item = K> + use<K> {
        let objects = self.values(resource).into_iter();
        objects.filter_map(|object| serde_json::from_value(object).ok())
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Stores an object, and replaces the one with its key.
    pub(super) fn put(
        &mut self,
        resource: &ApiResource,
        key: &ObjectKey,
        mut object: Value,
    ) -> Value {
        let kind = kind_of(resource);
        // An object that cannot be converted stays as it is, as one of a wrong type does.
        object = self.stored(&kind, object.clone()).unwrap_or(object);
        // It gets a new version, so that caches see the change.
        if let (Ok(_), Some(metadata)) = (
            self.existing(&kind, key),
            object.get_mut("metadata").and_then(Value::as_object_mut),
        ) {
            metadata.remove("resourceVersion");
        }
        self.store(kind, key, None, object)
    }

    /// Deletes an object. Returns whether it existed.
    pub(super) fn remove(&mut self, resource: &ApiResource, key: &ObjectKey) -> bool {
        self.delete(&kind_of(resource), key, &Value::Null).is_ok()
    }

    /// The answer of an API server to a request.
    pub(super) fn answer(&mut self, head: &Parts, body: &[u8]) -> Result<Value, Box<Status>> {
        let path = head.uri.path();
        let Some(requested) = RequestPath::parse(path) else {
            return Err(not_offered(path));
        };
        let kind = (requested.group.to_owned(), requested.resource.to_owned());
        let key = ObjectKey::new(requested.namespace, requested.name.unwrap_or_default());
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let content_type = head.headers.get(header::CONTENT_TYPE);
        let content_type = content_type
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let verb = match (&head.method, requested.name) {
            (&Method::GET, Some(_)) => "get",
            (&Method::GET, None) => "list",
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) if content_type.contains("apply-patch") => "apply",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, Some(_)) => "delete",
            _ => return Err(not_offered(path)),
        };
        if !matches!(verb, "get" | "list") {
            self.sent.push(Sent {
                verb,
                group: kind.0.clone(),
                plural: kind.1.clone(),
                key: key.clone(),
                subresource: requested.subresource.map(str::to_owned),
                body: body.clone(),
            });
        }
        let fails = |one: &Failing| {
            one.kind == kind && (one.verb == verb || (one.verb == "patch" && verb == "apply"))
        };
        if let Some(place) = self.failures.iter().position(fails) {
            return Err(Box::new(self.failures.remove(place).status));
        }
        let to = match requested.group {
            "" => requested.version.to_owned(),
            group => format!("{group}/{}", requested.version),
        };
        let answer = match (verb, requested.subresource) {
            ("list", None)
                if head.uri.query().is_none_or(|query| {
                    !query.contains("elector=") && !query.contains("watch=")
                }) =>
            {
                return self.list(&kind, requested.namespace, &to);
            }
            ("get", None) => self.read(&kind, &key),
            ("create", None) => self.create(kind.clone(), &key, body),
            ("update" | "apply" | "patch", None | Some("status"))
                if !content_type.contains("json-patch") =>
            {
                let manager = manager(head.uri.query().unwrap_or_default());
                let place = (
                    kind.clone(),
                    key.clone(),
                    requested.subresource.is_some(),
                    manager,
                );
                self.change(verb, place, body, &to)
            }
            ("delete", None) => self.delete(&kind, &key, &body),
            _ => return Err(not_offered(path)),
        };
        self.in_version(&kind, answer?, &to).map_err(unconverted)
    }

    fn list(&self, kind: &Kind, namespace: Option<&str>, to: &str) -> Result<Value, Box<Status>> {
        let objects = self.kinds.get(kind).into_iter().flatten();
        let items = objects
            .filter(|(key, _)| namespace.is_none() || key.namespace() == namespace)
            .map(|(_, object)| self.in_version(kind, object.clone(), to))
            .collect::<Result<Vec<_>, _>>()
            .map_err(unconverted)?;
        Ok(json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": items}))
    }

    fn existing(&self, kind: &Kind, key: &ObjectKey) -> Result<&Value, Box<Status>> {
        let object = self.kinds.get(kind).and_then(|objects| objects.get(key));
        object.ok_or_else(|| refusal(404, "NotFound", kind, key, "not found"))
    }

    /// The object, with the managed fields of the applies.
    fn read(&self, kind: &Kind, key: &ObjectKey) -> Result<Value, Box<Status>> {
        let mut object = self.existing(kind, key)?.clone();
        let applies = self.applied.iter();
        let applies = applies
            .filter(|((of, one, of_status, _), _)| (of, one, of_status) == (kind, key, &false));
        let entries: Vec<Value> = applies
            .map(|((_, _, _, manager), body)| {
                json!({"manager": manager, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields(body)})
            })
            .collect();
        if !entries.is_empty() {
            object["metadata"]["managedFields"] = entries.into();
        }
        Ok(object)
    }

    fn create(
        &mut self,
        kind: Kind,
        place: &ObjectKey,
        object: Value,
    ) -> Result<Value, Box<Status>> {
        let metadata = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let name = match metadata("name") {
            "" => format!("{}{:05}", metadata("generateName"), self.version + 1),
            name => name.to_owned(),
        };
        let key = ObjectKey::new(place.namespace(), &name);
        if self.existing(&kind, &key).is_ok() {
            return Err(refusal(409, "AlreadyExists", &kind, &key, "already exists"));
        }
        let object = self.stored(&kind, object).map_err(unconverted)?;
        Ok(self.store(kind, &key, None, object))
    }

    /// Changes an object in the version `to`.
    fn change(
        &mut self,
        verb: &str,
        place: (Kind, ObjectKey, bool, String),
        body: Value,
        to: &str,
    ) -> Result<Value, Box<Status>> {
        let (key, of_status) = (&place.1.clone(), place.2);
        let old = match self.existing(&place.0, key) {
            Ok(old) => old.clone(),
            Err(_) if verb == "apply" && !of_status => {
                self.applied.insert(place.clone(), body.clone());
                let body = self.stored(&place.0, body).map_err(unconverted)?;
                return Ok(self.store(place.0, key, None, body));
            }
            Err(missing) => return Err(missing),
        };
        let agrees = |field: &str| {
            let read = &body["metadata"][field];
            read.is_null() || *read == "" || *read == old["metadata"][field]
        };
        if !agrees("resourceVersion") || !agrees("uid") {
            let text = "the object has been modified; please apply your changes to the latest version and try again";
            return Err(refusal(409, "Conflict", &place.0, key, text));
        }
        let kept = old;
        let old = self
            .in_version(&place.0, kept.clone(), to)
            .map_err(unconverted)?;
        let mut new = old.clone();
        match verb {
            "update" => new = body,
            "apply" => {
                let before = self.applied.insert(place.clone(), body.clone());
                drop_fields(&mut new, &before.unwrap_or_default(), &body);
                merge(&mut new, body, true);
            }
            _ => merge(&mut new, body, false),
        }
        // A write of the object does not change the status, and a write of the status changes nothing else.
        let (mut whole, part) = if of_status { (old, new) } else { (new, old) };
        set(&mut whole, "status", part.get("status").cloned());
        let new = self.stored(&place.0, whole).map_err(unconverted)?;
        Ok(self.store(place.0, key, Some(kept), new))
    }

    fn delete(
        &mut self,
        kind: &Kind,
        key: &ObjectKey,
        options: &Value,
    ) -> Result<Value, Box<Status>> {
        let old = self.existing(kind, key)?.clone();
        for field in ["uid", "resourceVersion"] {
            let wanted = &options["preconditions"][field];
            if !wanted.is_null() && *wanted != old["metadata"][field] {
                let text = format!("the {field} in the precondition is another one");
                return Err(refusal(409, "Conflict", kind, key, &text));
            }
        }
        let mut new = old.clone();
        if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata
                .entry("deletionTimestamp")
                .or_insert_with(|| self.clock.now_in_seconds().to_string().into());
        }
        Ok(self.store(kind.clone(), key, Some(old), new))
    }

    /// Stores `new` in place of `old`, with the fields that only a server writes.
    fn store(&mut self, kind: Kind, key: &ObjectKey, old: Option<Value>, mut new: Value) -> Value {
        let now = self.clock.now_in_seconds().to_string();
        let objects = self.kinds.entry(kind.clone()).or_default();
        let next = self.version + 1;
        let generation = match &old {
            None => 1,
            Some(old) => {
                let changed = old.get("spec") != new.get("spec");
                old["metadata"]["generation"].as_i64().unwrap_or(1) + i64::from(changed)
            }
        };
        let fixed = old.as_ref().map(|old| &old["metadata"]);
        let is_new = old.is_none();
        if !new["metadata"].is_object() {
            set(&mut new, "metadata", Some(Value::Object(Map::new())));
        }
        if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
            let mut keep = |field: &str, made: String| {
                let value = fixed.and_then(|fixed| fixed.get(field)).cloned();
                let given = metadata.get(field).filter(|_| is_new).cloned();
                metadata.insert(field.into(), value.or(given).unwrap_or_else(|| made.into()));
            };
            keep("uid", format!("uid-{next}"));
            keep("creationTimestamp", now);
            keep("resourceVersion", next.to_string());
            metadata.insert("name".into(), key.name().into());
            if let Some(namespace) = key.namespace() {
                metadata.insert("namespace".into(), namespace.into());
            }
            if is_new {
                metadata
                    .entry("generation")
                    .or_insert_with(|| generation.into());
            } else {
                metadata.insert("generation".into(), generation.into());
            }
        }
        if old.as_ref() != Some(&new) {
            self.version = next;
            if !is_new {
                new["metadata"]["resourceVersion"] = next.to_string().into();
            }
        }
        let finalizers = new["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        if new["metadata"].get("deletionTimestamp").is_some() && !finalizers {
            objects.remove(key);
            self.applied
                .retain(|(of, one, _, _), _| *of != kind || one != key);
        } else {
            objects.insert(key.clone(), new.clone());
        }
        new
    }
}

pub(super) fn kind_of(resource: &ApiResource) -> Kind {
    (resource.group.to_string(), resource.plural.to_string())
}

fn set(object: &mut Value, field: &str, value: Option<Value>) {
    if let Some(fields) = object.as_object_mut() {
        match value {
            Some(value) => fields.insert(field.into(), value),
            None => fields.remove(field),
        };
    }
}

/// The names of the fields that a body has, as managed fields hold them. A list is one field.
fn fields(body: &Value) -> Value {
    let members = body.as_object().into_iter().flatten();
    let members = members.map(|(name, value)| (format!("f:{name}"), fields(value)));
    members.collect::<Map<_, _>>().into()
}

/// Removes the fields that `before` has and `after` does not have.
fn drop_fields(target: &mut Value, before: &Value, after: &Value) {
    let (Value::Object(target), Value::Object(before)) = (target, before) else {
        return;
    };
    for (field, before) in before {
        match (target.get_mut(field), after.get(field)) {
            (Some(Value::Array(target)), after) if field == CONDITIONS => {
                let is_left = |one: &Value| {
                    has_type(before, one) && !after.is_some_and(|after| has_type(after, one))
                };
                target.retain(|one| !is_left(one));
            }
            (Some(target), Some(after)) => drop_fields(target, before, after),
            (Some(_), None) => {
                target.remove(field);
            }
            (None, _) => {}
        }
    }
}

/// The only list that is merged by the types of its items, so that several field managers can share it.
const CONDITIONS: &str = "conditions";

fn has_type(conditions: &Value, like: &Value) -> bool {
    let mut all = conditions.as_array().into_iter().flatten();
    all.any(|one| one["type"] == like["type"])
}

/// Replaces the condition of the same type, or adds the condition.
fn merge_conditions(target: &mut Vec<Value>, conditions: Vec<Value>) {
    for condition in conditions {
        let present = target
            .iter_mut()
            .find(|one| one["type"] == condition["type"]);
        match present {
            Some(present) => *present = condition,
            None => target.push(condition),
        }
    }
}

/// The field manager that a query names.
fn manager(query: &str) -> String {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let named = pairs.find(|(name, _)| *name == "fieldManager");
    named.map_or_else(String::new, |(_, manager)| manager.to_owned())
}

/// A JSON merge patch (RFC 7386). In an apply, conditions are merged by their types.
fn merge(target: &mut Value, patch: Value, is_apply: bool) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Some(target) = target.as_object_mut() {
        for (field, value) in patch {
            match (target.get_mut(&field), value) {
                (_, Value::Null) => {
                    target.remove(&field);
                }
                (Some(Value::Array(present)), Value::Array(conditions))
                    if is_apply && field == CONDITIONS =>
                {
                    merge_conditions(present, conditions);
                }
                (Some(present), value) => merge(present, value, is_apply),
                (None, value) => {
                    let mut new = Value::Null;
                    merge(&mut new, value, is_apply);
                    target.insert(field, new);
                }
            }
        }
    }
}

/// The answer of an API server whose conversion fails.
fn unconverted(error: Box<ConversionError>) -> Box<Status> {
    Box::new(Status::from_code(
        500,
        format!("conversion webhook failed: {error}"),
    ))
}

fn refusal(code: u16, reason: &str, kind: &Kind, key: &ObjectKey, text: &str) -> Box<Status> {
    let (group, plural) = kind;
    let dot = if group.is_empty() { "" } else { "." };
    let details = json!({"name": key.name(), "group": group, "kind": plural});
    Box::new(Status {
        reason: reason.into(),
        details: serde_json::from_value(details).ok(),
        ..Status::from_code(
            code,
            format!("{plural}{dot}{group} {:?} {text}", key.name()),
        )
    })
}

fn not_offered(path: &str) -> Box<Status> {
    let text =
        format!("{path}: `testing::Offline` cannot answer this request: use `testing::Cluster`");
    Box::new(Status::from_code(501, text))
}
