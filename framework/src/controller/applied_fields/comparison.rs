use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::{
    place::{Place, key_of},
    quantity::same_quantity,
};
use crate::resource::ApiResource;

/// Whether every field of the applied `body` is equal in `child`. Then an apply of the body would change nothing, if it
/// writes the same fields as the last apply. Returns `false` if this is not certain.
///
/// Fields that only the child has are ignored: they are defaults, the status, or fields of others. They count where an apply
/// would remove them: inside lists and objects that the API server replaces as a whole. For kinds that are not built in, all
/// lists and objects count as such. Quantities are compared by their amount. `apiVersion` and `kind` of the body are taken
/// to be those of the child.
///
/// `whole` says whether the Rust type of both holds all fields of the kind. A view does not: it hides fields of others.
pub(crate) fn contains(resource: &ApiResource, whole: bool, body: &Value, child: &Value) -> bool {
    Comparison { whole }.contains(Place::top(resource), body, child)
}

struct Comparison {
    whole: bool,
}

impl Comparison {
    fn contains(&self, place: Place<'_>, body: &Value, child: &Value) -> bool {
        match (body, child) {
            (Value::Object(body), Value::Object(child)) => self.object(place, body, child),
            (Value::Array(body), Value::Array(child)) => self.list(place, body, child),
            (body, child) if body == child => true,
            _ if place.is_quantity() => match (quantity(body), quantity(child)) {
                (Some(body), Some(child)) => same_quantity(&body, &child),
                _ => false,
            },
            _ => false,
        }
    }

    fn object(
        &self,
        place: Place<'_>,
        body: &Map<String, Value>,
        child: &Map<String, Value>,
    ) -> bool {
        if place.is_replaced() && !self.whole {
            return false;
        }
        let is_type = |field: &str| place.is_top() && matches!(field, "apiVersion" | "kind");
        let has = |field: &str, value: &Value| {
            let at = place.of(field);
            match child.get(field) {
                _ if at.is_string_data() => has_string_data(value, child.get("data")),
                Some(present) => self.contains(at, value, present),
                None => at.is_unset(value),
            }
        };
        let ours = body
            .iter()
            .all(|(field, value)| is_type(field) || has(field, value));
        let mut others = child.iter().filter(|(field, _)| !body.contains_key(*field));
        ours && (!place.is_replaced()
            || others.all(|(field, value)| place.of(field).is_default(value)))
    }

    fn list(&self, place: Place<'_>, body: &[Value], child: &[Value]) -> bool {
        if place.is_set() {
            return body.iter().all(|item| child.contains(item));
        }
        let Some(keys) = place.keys() else {
            let items = body.iter().zip(child);
            let item = place.item(false);
            return body.len() == child.len()
                && items
                    .into_iter()
                    .all(|(body, child)| self.contains(item, body, child));
        };
        // The order has to be the same: in some lists it has a meaning.
        let mut present = child.iter();
        body.iter().all(|item| {
            let same = |other: &&Value| {
                keys.iter()
                    .all(|key| key_of(item, key) == key_of(other, key))
            };
            let other = present.find(same);
            other.is_some_and(|other| self.contains(place.item(true), item, other))
        })
    }
}

/// Whether the `data` of a Secret holds the texts of `stringData`.
fn has_string_data(text: &Value, data: Option<&Value>) -> bool {
    let Value::Object(text) = text else {
        return text.is_null();
    };
    text.iter().all(|(key, text)| {
        let kept = data.and_then(|data| data.get(key)?.as_str());
        let text = text.as_str().map(|text| STANDARD.encode(text));
        text.is_some() && text.as_deref() == kept
    })
}

fn quantity(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::{Deployment, StatefulSet},
        core::v1::{ConfigMap, LimitRange, Secret},
        networking::v1::NetworkPolicy,
        rbac::v1::RoleBinding,
    };
    use serde_json::json;

    use super::*;
    use crate::resource::Resource;

    fn is_in<C: Resource>(body: Value, child: Value) -> bool {
        contains(&ApiResource::of::<C>(), true, &body, &child)
    }

    /// A Deployment's pod.
    fn pod(spec: Value) -> Value {
        json!({"spec": {"template": {"spec": spec}}})
    }

    fn of_pod(body: Value, child: Value) -> bool {
        is_in::<Deployment>(pod(body), pod(child))
    }

    fn of_container(mut body: Value, mut child: Value) -> bool {
        body["name"] = "a".into();
        child["name"] = "a".into();
        of_pod(
            json!({"containers": [body]}),
            json!({"containers": [child]}),
        )
    }

    fn gadget() -> ApiResource {
        ApiResource {
            group: "example.com".into(),
            version: "v1".into(),
            kind: "Gadget".into(),
            plural: "gadgets".into(),
            namespaced: true,
        }
    }

    #[test]
    fn fields_that_only_the_child_has_do_not_count_and_every_other_field_does() {
        let body = json!({"metadata": {"name": "a", "labels": {"l": "1"}}, "data": {"a": "1"}});
        let child = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "uid": "1", "labels": {"l": "1", "theirs": "2"}},
            "data": {"a": "1", "theirs": "2"},
        });
        assert!(is_in::<ConfigMap>(body.clone(), child.clone()));
        for path in ["/metadata/labels/l", "/data/a"] {
            let mut changed = child.clone();
            *changed.pointer_mut(path).unwrap() = "other".into();
            assert!(!is_in::<ConfigMap>(body.clone(), changed), "{path}");
        }
        let mut removed = child;
        removed["metadata"]["labels"] = json!({"theirs": "2"});
        assert!(!is_in::<ConfigMap>(body, removed));
    }

    #[test]
    fn quantities_are_compared_by_their_amount_only_in_fields_of_quantities() {
        let limits = |cpu: Value| json!({"resources": {"limits": {"cpu": cpu}}});
        assert!(of_container(limits(json!("1000m")), limits(json!("1"))));
        assert!(of_container(limits(json!(1)), limits(json!("1"))));
        assert!(!of_container(limits(json!("1")), limits(json!("2"))));
        let volume =
            |size: &str| json!({"volumes": [{"name": "a", "emptyDir": {"sizeLimit": size}}]});
        assert!(of_pod(volume("1024Mi"), volume("1Gi")));
        let range = |max: &str| json!({"spec": {"limits": [{"type": "Pod", "max": {"cpu": max}}]}});
        assert!(is_in::<LimitRange>(range("1000m"), range("1")));
        // A text is no quantity, whatever its field is called.
        for field in ["sizeLimit", "limits", "cpu"] {
            let data = |value: &str| json!({"data": {field: value}});
            assert!(!is_in::<ConfigMap>(data("1000m"), data("1")));
        }
        let env = |value: &str| json!({"env": [{"name": "cpu", "value": value}]});
        assert!(!of_container(env("1000m"), env("1")));
    }

    #[test]
    fn list_items_are_found_by_their_keys_in_the_order_of_the_body() {
        let of = |names: &[&str]| {
            let all: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
            json!({"initContainers": all})
        };
        assert!(of_pod(
            of(&["a", "b"]),
            of(&["theirs", "a", "injected", "b"])
        ));
        assert!(!of_pod(of(&["a", "b"]), of(&["b", "a"])));
        assert!(!of_pod(of(&["a", "b"]), of(&["a"])));
        let ports = |one: Value| json!({"ports": [{"containerPort": 80, "protocol": "UDP"}, one]});
        let plain = json!({"containerPort": 80});
        let defaulted = json!({"containerPort": 80, "protocol": "TCP", "name": "theirs"});
        assert!(of_container(ports(plain.clone()), ports(defaulted)));
        assert!(!of_container(
            json!({"ports": [plain]}),
            ports(json!({"containerPort": 81}))
        ));
    }

    #[test]
    fn lists_and_objects_that_an_apply_replaces_must_be_equal() {
        let tolerations = |all: Value| json!({"tolerations": all});
        let ours = json!({"key": "a"});
        assert!(of_pod(
            tolerations(json!([ours])),
            tolerations(json!([ours]))
        ));
        for theirs in [
            json!([ours, {"key": "b"}]),
            json!([{"key": "b"}, ours]),
            json!([{"key": "a", "operator": "Exists"}]),
            json!([]),
        ] {
            assert!(!of_pod(tolerations(json!([ours])), tolerations(theirs)));
        }
        let nodes = |labels: Value| json!({"nodeSelector": labels});
        assert!(!of_pod(
            nodes(json!({"a": "1"})),
            nodes(json!({"a": "1", "b": "2"}))
        ));
        let secret = |reference: Value| json!({"env": [{"name": "a", "valueFrom": {"secretKeyRef": reference}}]});
        let ours = json!({"name": "s", "key": "k"});
        let theirs = json!({"name": "s", "key": "k", "optional": true});
        assert!(!of_container(secret(ours), secret(theirs)));
        // An empty selector matches everything.
        let from = |peer: Value| json!({"spec": {"ingress": [{"from": [peer]}]}});
        let ours = json!({"podSelector": {"matchLabels": {"a": "b"}}});
        let mut theirs = ours.clone();
        theirs["namespaceSelector"] = json!({});
        assert!(!is_in::<NetworkPolicy>(from(ours), from(theirs)));
    }

    #[test]
    fn defaults_do_not_count_in_lists_and_objects_that_an_apply_replaces() {
        let claims = |one: Value| json!({"spec": {"volumeClaimTemplates": [one]}});
        let ours = json!({"metadata": {"name": "a"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}});
        let kept = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "a", "creationTimestamp": null},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"}});
        assert!(is_in::<StatefulSet>(
            claims(ours.clone()),
            claims(kept.clone())
        ));
        let mut other = kept;
        other["spec"]["volumeMode"] = "Block".into();
        assert!(!is_in::<StatefulSet>(claims(ours), claims(other)));
        let subjects =
            |group: Value| json!({"subjects": [{"kind": "User", "name": "a", "apiGroup": group}]});
        let ours = json!({"subjects": [{"kind": "User", "name": "a"}]});
        let defaulted = subjects(json!("rbac.authorization.k8s.io"));
        assert!(is_in::<RoleBinding>(ours.clone(), defaulted));
        assert!(!is_in::<RoleBinding>(ours, subjects(json!("other"))));
    }

    #[test]
    fn values_that_the_api_server_drops_are_no_difference() {
        for same in [
            json!({"env": [{"name": "a", "value": ""}]}),
            json!({"tty": false, "args": [], "volumeMounts": null}),
            json!({"resources": {"limits": {}}}),
        ] {
            let mut kept = json!({"resources": {}, "env": [{"name": "a"}]});
            kept["image"] = "theirs".into();
            assert!(of_container(same.clone(), kept), "{same}");
        }
        // Without the field the value would be true.
        let mount = json!({"automountServiceAccountToken": false});
        assert!(!of_pod(mount, json!({})));
        assert!(!of_pod(
            json!({"volumes": [{"name": "a", "emptyDir": {}}]}),
            json!({"volumes": [{"name": "a"}]})
        ));
        let data = json!({"data": {"value": "", "tty": ""}});
        assert!(!is_in::<ConfigMap>(data, json!({"data": {}})));
        assert!(is_in::<ConfigMap>(json!({"data": {}}), json!({})));
    }

    #[test]
    fn the_string_data_of_a_secret_is_compared_with_its_data() {
        let body = json!({"stringData": {"a": "text"}});
        let data = |text: &str| json!({"data": {"a": STANDARD.encode(text), "theirs": "eA=="}});
        assert!(is_in::<Secret>(body.clone(), data("text")));
        assert!(!is_in::<Secret>(body.clone(), data("other")));
        assert!(!is_in::<Secret>(body.clone(), json!({"data": {}})));
        assert!(!is_in::<Secret>(body, json!({})));
    }

    #[test]
    fn objects_of_a_kind_that_is_not_built_in_must_be_equal() {
        let is_in = |body: Value, child: Value| contains(&gadget(), true, &body, &child);
        let body = json!({"metadata": {"name": "a", "labels": {}}, "spec": {"a": [{"name": "x"}]}});
        let same = json!({"metadata": {"name": "a", "uid": "1"}, "spec": body["spec"], "status": {"b": 1}});
        assert!(is_in(body.clone(), same.clone()));
        for spec in [
            json!({"a": [{"name": "x"}], "default": 1}),
            json!({"a": [{"name": "x"}, {"name": "y"}]}),
            json!({"a": [{"name": "x", "default": 1}]}),
            json!({}),
        ] {
            let mut other = same.clone();
            other["spec"] = spec;
            assert!(!is_in(body.clone(), other.clone()), "{other}");
        }
        let limits = |cpu: &str| json!({"spec": {"limits": {"cpu": cpu}}});
        assert!(!is_in(limits("1000m"), limits("1")));
        assert!(!is_in(json!({"spec": {"args": []}}), json!({"spec": {}})));
    }

    #[test]
    fn owners_and_finalizers_are_compared_one_by_one_for_every_kind() {
        let is_in = |body: Value, child: Value| {
            let of = |metadata| json!({"metadata": metadata});
            contains(&gadget(), true, &of(body), &of(child))
        };
        let owner = |uid: &str| json!({"uid": uid, "controller": true});
        let theirs = json!({"ownerReferences": [owner("2"), owner("1")], "finalizers": ["b", "a"]});
        assert!(is_in(
            json!({"ownerReferences": [owner("1")]}),
            theirs.clone()
        ));
        assert!(is_in(json!({"finalizers": ["a", "b"]}), theirs.clone()));
        assert!(!is_in(
            json!({"ownerReferences": [owner("3")]}),
            theirs.clone()
        ));
        assert!(!is_in(json!({"finalizers": ["c"]}), theirs.clone()));
        let ours = json!({"ownerReferences": [{"uid": "1", "controller": false}]});
        assert!(!is_in(ours, theirs));
    }

    #[test]
    fn a_view_may_hide_fields_of_others_that_an_apply_would_remove() {
        let resource = ApiResource::of::<Deployment>();
        let view = |spec: Value| {
            let body = pod(spec);
            contains(&resource, false, &body, &body)
        };
        assert!(view(json!({"containers": [{"name": "a", "image": "b"}]})));
        assert!(view(json!({"containers": [{"name": "a", "args": ["b"]}]})));
        assert!(!view(json!({"tolerations": [{"key": "a"}]})));
        assert!(!view(json!({"nodeSelector": {"a": "b"}})));
    }
}
