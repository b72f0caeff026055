use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};

use super::{body_tree::BodyTree, place::Place};
use crate::resource::ApiResource;

/// The hash of the names of all fields that `manager` writes when it applies `body`, which is JSON: the value of
/// [`APPLIED_ANNOTATION`](crate::controller::APPLIED_ANNOTATION).
///
/// The only values that it covers are the keys by which the API server finds the items of a list; they are in
/// `metadata.managedFields` as well. It is the same in every process and for every order of the fields.
///
/// # Errors
/// The body is no JSON.
pub(crate) fn field_set(
    manager: &str,
    resource: &ApiResource,
    body: &[u8],
) -> serde_json::Result<String> {
    let body = BodyTree::read(body)?;
    let mut names = Vec::new();
    for text in [manager, &resource.api_version(), &resource.kind] {
        name(&mut names, text);
    }
    fields(&mut names, Place::top(resource), &body);
    Ok(URL_SAFE_NO_PAD.encode(digest(&SHA256, &names)))
}

fn fields(names: &mut Vec<u8>, place: Place<'_>, value: &BodyTree<'_>) {
    match value {
        BodyTree::Object(fields_by_name) => {
            names.push(b'{');
            for (field, value) in fields_by_name {
                name(names, field);
                fields(names, place.of(field), value);
            }
            names.push(b'}');
        }
        BodyTree::List(items) if place.is_set() => {
            names.push(b'<');
            for item in items {
                name(names, &item.to_json());
            }
            names.push(b'>');
        }
        BodyTree::List(items) => {
            let Some(keys) = place.keys() else {
                return names.push(b'=');
            };
            names.push(b'[');
            for item in items {
                for key in keys {
                    match item.get(key) {
                        Some(value) if !value.is_null() => name(names, &value.to_json()),
                        _ => name(names, &Place::default_key(key).to_string()),
                    }
                }
                fields(names, place.item(true), item);
            }
            names.push(b']');
        }
        BodyTree::Text(_) | BodyTree::Other(_) => names.push(b'='),
    }
}

/// Adds a name with its length before it, so that no two lists of names give the same bytes.
fn name(names: &mut Vec<u8>, name: &str) {
    names.extend_from_slice(&(name.len() as u64).to_le_bytes());
    names.extend_from_slice(name.as_bytes());
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Secret},
    };
    use serde_json::{Value, json};

    use super::*;

    fn field_set(manager: &str, resource: &ApiResource, body: &Value) -> String {
        super::field_set(manager, resource, body.to_string().as_bytes()).unwrap()
    }

    fn of_map(data: Value) -> String {
        let resource = ApiResource::of::<ConfigMap>();
        field_set("website", &resource, &json!({"data": data}))
    }

    #[test]
    fn the_hash_of_a_body_never_changes() {
        // The hash is stored on the objects of clusters: another hash would cost a write of every child.
        let body = json!({"metadata": {"name": "a", "labels": {"b": "c"}}, "data": {"d": "e"}});
        let resource = ApiResource::of::<ConfigMap>();
        assert_eq!(
            field_set("website", &resource, &body),
            "_Pi_zFuXqiWuFEbiOiwRiqO0lkIuCJwL8u_yApYT1W4"
        );
    }

    #[test]
    fn the_order_of_the_fields_and_escapes_in_their_names_do_not_matter() {
        let of = |body: &[u8]| {
            super::field_set("website", &ApiResource::of::<Deployment>(), body).unwrap()
        };
        let one = br#"{"spec":{"template":{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"protocol":null}]}]}}},"metadata":{"finalizers":["b/\"c"],"name":"a"}}"#;
        let other = br#"{"metadata": {"name": "b", "finalizers": ["b\/\u0022c"]}, "spec": {"template": {"spec": {"containers": [{"ports": [{"containerPort": 80, "protocol": null}], "n\u0061me": "\u0061"}]}}}}"#;
        assert_eq!(of(one), of(other));
        // A program that knows only the description of this file gave this hash.
        assert_eq!(of(one), "WRXlmVsuBI2jaJbBAx62Wd6u55WDtUyRfmntYT6UW1A");
        assert!(super::field_set("website", &ApiResource::of::<Deployment>(), b"{").is_err());
    }

    #[test]
    fn the_hash_covers_the_manager_the_kind_and_every_name_but_no_value() {
        let same = of_map(json!({"a": "1", "b": "2"}));
        assert_eq!(of_map(json!({"b": "other", "a": "values"})), same);
        assert_ne!(of_map(json!({"a": "1"})), same);
        assert_ne!(of_map(json!({"a": "1", "c": "2"})), same);
        assert_ne!(of_map(json!({"a": {"b": "2"}})), same);
        let body = json!({"data": {"a": "1", "b": "2"}});
        let other = field_set("other", &ApiResource::of::<ConfigMap>(), &body);
        assert_ne!(other, same);
        let secret = field_set("website", &ApiResource::of::<Secret>(), &body);
        assert_ne!(secret, same);
    }

    #[test]
    fn the_hash_covers_the_keys_of_list_items_and_the_names_in_them() {
        let resource = ApiResource::of::<Deployment>();
        let of = |containers: Value| {
            let body = json!({"spec": {"template": {"spec": {"containers": containers}}}});
            field_set("website", &resource, &body)
        };
        let same = of(json!([{"name": "a", "image": "1"}]));
        assert_eq!(of(json!([{"image": "2", "name": "a"}])), same);
        assert_ne!(of(json!([{"name": "b", "image": "1"}])), same);
        assert_ne!(of(json!([{"name": "a", "args": []}])), same);
        assert_ne!(
            of(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}])),
            same
        );
    }
}
