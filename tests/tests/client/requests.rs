//! Requests that no typed verb covers.

use futures_util::TryStreamExt;
use pilothouse::{
    client::{Patch, RequestBuilder},
    k8s::{api::core::v1::ConfigMap, apimachinery::pkg::version::Info},
    resource::{ApiResource, Status},
};
use serde_json::{Value, json};

use crate::target::{Target, map};

fn maps(target: &Target, verb: &str) -> RequestBuilder {
    let maps = ApiResource::of::<ConfigMap>();
    target.client.request(verb).resource(&maps).namespace(&target.namespace)
}

pub(crate) async fn every_verb_can_be_sent_as_a_request(target: &Target) {
    let mut settings = map("settings", &[("colour", "blue")]);
    settings.metadata.namespace = None;
    let created = maps(target, "create").body(&settings).send().await.unwrap();
    assert_eq!(created.status(), 201);
    let mut object: ConfigMap = created.decode().unwrap();

    object.data.get_or_insert_default().insert("shape".into(), "round".into());
    let updated = maps(target, "update").name("settings").body(&object);
    updated.send().await.unwrap();
    let merge = Patch::Merge(json!({"data": {"colour": "red"}}));
    let patched = maps(target, "patch").name("settings").patch(&merge);
    let patched: ConfigMap = patched.query("fieldManager", "suite").send().await.unwrap().decode().unwrap();
    let managers = patched.metadata.managed_fields.as_ref().unwrap();
    assert!(managers.iter().any(|entry| entry.manager.as_deref() == Some("suite")));

    let read = maps(target, "get").name("settings").send().await.unwrap();
    let read: ConfigMap = read.decode().unwrap();
    assert_eq!(read.data, patched.data);
    let one = maps(target, "list").query("fieldSelector", "metadata.name=settings");
    let list: Value = one.query("limit", 1).send().await.unwrap().decode().unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);

    let watch = maps(target, "watch").query("resourceVersion", "0");
    let watch = watch.query("fieldSelector", "metadata.name=settings");
    let first = watch.stream().await.unwrap().lines().try_next().await.unwrap();
    let event: Value = serde_json::from_slice(&first.unwrap()).unwrap();
    assert_eq!((&event["type"], &event["object"]["data"]["colour"]), (&json!("ADDED"), &json!("red")));

    let deleted = maps(target, "delete").name("settings").send().await.unwrap();
    let deleted: Status = deleted.decode().unwrap();
    assert_eq!(deleted.status.as_deref(), Some("Success"));
    let error = maps(target, "get").name("settings").send().await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    maps(target, "deletecollection").send().await.unwrap();
}

pub(crate) async fn paths_that_are_not_resources_are_read_as_text_and_into_types(target: &Target) {
    let get = |path: &str| target.client.request("get").path(path).send();
    let version: Info = get("/version").await.unwrap().decode().unwrap();
    assert!(!version.git_version.is_empty());
    assert_eq!(get("/readyz").await.unwrap().text().unwrap(), "ok");
    let error = get("/nothing-is-here").await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(error.target(), "/nothing-is-here");
}
