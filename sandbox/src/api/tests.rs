use serde_json::{Value, json};

use super::{DeleteOptions, Handle};
use crate::Sandbox;
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;

fn maps() -> GroupResource {
    GroupResource::new("", "configmaps")
}

fn map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}})
}

fn refused<T>(result: Result<T, ApiError>) -> (u16, &'static str, String) {
    match result {
        Ok(_) => (200, "", String::new()),
        Err(error) => (error.code, error.reason, error.message),
    }
}

#[tokio::test(start_paused = true)]
async fn failures_have_the_texts_of_a_real_server() -> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::builder().seed(1).build()?;
    let handle = Handle::new(sandbox.core(), "test");
    let made = handle.create(&maps(), map("default", "a"))?;
    let stale = |map: &mut Value| {
        meta::set(map, "resourceVersion", "1");
        map["data"] = json!({"a": "b"});
    };
    let wrong_uid = DeleteOptions {
        uid: Some("x".into()),
        ..DeleteOptions::default()
    };
    let uid = meta::uid(&made);
    let changed = "the object has been modified; please apply your changes to the latest version and try again";
    for (answer, expected) in [
        (
            refused(handle.create(&maps(), map("default", "a"))),
            (409, "AlreadyExists", "configmaps \"a\" already exists".to_owned()),
        ),
        (
            refused(handle.create(&maps(), map("nowhere", "a"))),
            (404, "NotFound", "namespaces \"nowhere\" not found".to_owned()),
        ),
        (
            refused(handle.delete(&maps(), Some("default"), "b", &DeleteOptions::default())),
            (404, "NotFound", "configmaps \"b\" not found".to_owned()),
        ),
        (
            refused(handle.update(&maps(), Some("default"), "a", "", stale)),
            (409, "Conflict", format!("Operation cannot be fulfilled on configmaps \"a\": {changed}")),
        ),
        (
            refused(handle.delete(&maps(), Some("default"), "a", &wrong_uid)),
            (
                409,
                "Conflict",
                format!(
                    "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (x) does not match the UID in \
                     record ({uid}). The object might have been deleted and then recreated"
                ),
            ),
        ),
        (
            refused(handle.create(&maps(), map("default", ""))),
            (
                422,
                "Invalid",
                "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required".to_owned(),
            ),
        ),
    ] {
        assert_eq!(answer, (expected.0, expected.1, expected.2));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_keeps_the_resource_version()
-> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::builder().seed(1).build()?;
    let handle = Handle::new(sandbox.core(), "test");
    let made = handle.create(&maps(), map("default", "a"))?;
    let same = handle.update(&maps(), Some("default"), "a", "", |_| {})?;
    assert_eq!(made, same);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_removed()
-> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::builder().seed(1).build()?;
    let handle = Handle::new(sandbox.core(), "test");
    let mut held = map("default", "a");
    meta::set(&mut held, "finalizers", vec!["a.dev/b"]);
    handle.create(&maps(), held)?;
    let deleted = handle.delete(&maps(), Some("default"), "a", &DeleteOptions::default())?;
    assert!(!deleted.gone && meta::is_deleting(&deleted.object));
    let more = handle.update(&maps(), Some("default"), "a", "", |map| {
        meta::set(map, "finalizers", vec!["a.dev/b", "a.dev/c"])
    });
    assert_eq!(refused(more).0, 422);
    handle.update(&maps(), Some("default"), "a", "", |map| {
        meta::remove(map, "finalizers")
    })?;
    assert_eq!(handle.get(&maps(), Some("default"), "a"), None);
    Ok(())
}
