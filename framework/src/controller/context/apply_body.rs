use memchr::memmem;
use serde::Serialize;
use serde_json::Value;

use crate::{
    controller::error::Error,
    resource::{ApiResource, Object, ObjectKey},
};

/// The body of an apply of `child`, as JSON with `apiVersion` and `kind` and without `status`.
///
/// # Errors
/// [`Error::Serialize`] if the child cannot be written as JSON. [`Error::OtherKind`] if it names another kind than `resource`.
pub(super) fn body<C: Object + Serialize>(
    verb: &'static str,
    child: &C,
    resource: &ApiResource,
    key: &ObjectKey,
) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::serialize(verb, resource, key, source);
    let body = serde_json::to_vec(child).map_err(failed)?;
    if is_complete(&body, resource) {
        return Ok(body);
    }
    typed(verb, &body, C::METADATA_ONLY, resource, key)
}

/// Whether a body can be sent as it is: it begins with its types, as most Rust types write it, and has no status.
fn is_complete(body: &[u8], resource: &ApiResource) -> bool {
    let (version, kind) = (resource.api_version(), &resource.kind);
    let types = format!(r#"{{"apiVersion":"{version}","kind":"{kind}","#);
    body.starts_with(types.as_bytes()) && memmem::find(body, br#""status":"#).is_none()
}

/// Adds `apiVersion` and `kind`: server-side apply needs them, and not every type writes them.
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
        // The status is a subresource where it exists, and never part of the apply of a child.
        fields.remove("status");
        let of = |field: &str| fields.get(field).and_then(Value::as_str);
        let found = (
            of("apiVersion").unwrap_or_default(),
            of("kind").unwrap_or_default(),
        );
        // A type that holds only metadata names its own kind here.
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

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};

    #[test]
    fn a_complete_body_is_sent_as_it_is_written() {
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
            // Other types, no types, types in another order, and a status.
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
            assert_eq!(is_complete(body.as_bytes(), resource), expected, "{body}");
        }
        let mut map = ConfigMap::default();
        map.metadata.name = Some("a".into());
        assert!(is_complete(&serde_json::to_vec(&map).unwrap(), &maps));
    }

    #[test]
    fn a_body_that_is_completed_keeps_its_numbers() {
        let resource = ApiResource::of::<ConfigMap>();
        let key = ObjectKey::cluster("a");
        let body = br#"{"kind":"ConfigMap","apiVersion":"v1","f":121.48791951161945,"i":18446744073709551615,"status":{}}"#;
        let text = typed("apply", body, false, &resource, &key).unwrap();
        let expected = r#"{"apiVersion":"v1","f":121.48791951161945,"i":18446744073709551615,"kind":"ConfigMap"}"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
