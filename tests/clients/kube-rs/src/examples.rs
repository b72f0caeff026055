//! The uses of kube-rs that its examples show and `main.rs` does not have: custom resources, discovery with objects of any kind, pages,
//! metadata, a reflector, raw requests, and waiting for workloads.

use std::collections::BTreeSet;
use std::pin::pin;

use futures::TryStreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PartialObjectMeta,
    Patch, PatchParams, PostParams, PropagationPolicy,
};
use kube::core::response::StatusSummary;
use kube::discovery::{Discovery, Scope, verbs};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::{PATIENCE, Result, map, same};

/// A definition, and its objects with server-side apply, a status of their own and a schema.
pub(crate) async fn definition(client: &Client) -> Result<()> {
    const NAME: &str = "boxes.kube-rs.pilothouse.dev";
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 1}}},
        "status": {"type": "object", "properties": {"full": {"type": "boolean"}}},
    }});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME},
        "spec": {
            "group": "kube-rs.pilothouse.dev", "scope": "Namespaced",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    let apply = PatchParams::apply("kube-rs").force();
    definitions
        .patch(NAME, &apply, &Patch::Apply(definition))
        .await?;
    let established = await_condition(definitions.clone(), NAME, conditions::is_crd_established());
    tokio::time::timeout(PATIENCE, established).await??;

    let kind = GroupVersionKind::gvk("kube-rs.pilothouse.dev", "v1", "Box");
    let resource = ApiResource::from_gvk_with_plural(&kind, "boxes");
    let boxes: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let named = |size: i64| {
        Patch::Apply(json!({
            "apiVersion": "kube-rs.pilothouse.dev/v1", "kind": "Box", "metadata": {"name": "one"}, "spec": {"size": size},
        }))
    };
    match boxes.patch("one", &apply, &named(0)).await {
        Err(kube::Error::Api(status)) => same("a size of 0", &status.code, &422)?,
        other => return Err(format!("a size of 0: {other:?}").into()),
    }
    let made = boxes.patch("one", &apply, &named(1)).await?;
    same("the size", &made.data["spec"]["size"], &json!(1))?;
    let full = json!({"status": {"full": true}});
    let params = PatchParams::default();
    let ignored = boxes.patch("one", &params, &Patch::Merge(&full)).await?;
    same("the status", &ignored.data.get("status"), &None)?;
    let written = boxes
        .patch_status("one", &params, &Patch::Merge(&full))
        .await?;
    same("the status", &written.data["status"]["full"], &json!(true))?;
    let again = boxes.patch("one", &apply, &named(2)).await?;
    same("the generation", &again.metadata.generation, &Some(2))?;
    let defined = definitions.get(NAME).await?.uid().unwrap_or_default();
    definitions.delete(NAME, &DeleteParams::default()).await?;
    let gone = await_condition(definitions, NAME, conditions::is_deleted(&defined));
    tokio::time::timeout(PATIENCE, gone).await??;
    // The path is gone as well, so the answer need not be a Status.
    match boxes.get("one").await {
        Err(kube::Error::Api(status)) => same("the box", &status.code, &404),
        other => Err(format!("the box: {other:?}").into()),
    }
}

/// The objects of each kind that discovery names can be listed.
pub(crate) async fn discovery(client: &Client) -> Result<()> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let aggregated = Discovery::new(client.clone()).run_aggregated().await?;
    let mut listed = BTreeSet::new();
    for group in discovery.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            let kind = GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind);
            let same_kind = aggregated.resolve_gvk(&kind).map(|(found, _)| found);
            same(&resource.plural, &same_kind, &Some(resource.clone()))?;
            if !capabilities.supports_operation(verbs::LIST) {
                continue;
            }
            let api: Api<DynamicObject> = match capabilities.scope {
                Scope::Cluster => Api::all_with(client.clone(), &resource),
                Scope::Namespaced => Api::default_namespaced_with(client.clone(), &resource),
            };
            api.list(&ListParams::default()).await?;
            listed.insert(resource.plural);
        }
    }
    let few = ["configmaps", "deployments", "nodes", "roles"];
    let has_few = few.iter().all(|plural| listed.contains(*plural));
    same("the listed kinds", &(has_few && listed.len() > 40), &true)
}

/// Lists in pages, lists of metadata, and a deletion of many objects.
pub(crate) async fn pages(maps: &Api<ConfigMap>) -> Result<()> {
    for number in 0..5 {
        let mut map = map(&format!("page-{number}"))?;
        map.labels_mut().insert("test".into(), "pages".into());
        maps.create(&PostParams::default(), &map).await?;
    }
    let mut params = ListParams::default().labels("test=pages").limit(2);
    let (mut names, mut left) = (Vec::new(), Vec::new());
    loop {
        let page = maps.list(&params).await?;
        left.push(page.metadata.remaining_item_count);
        names.extend(page.iter().map(ResourceExt::name_any));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    let expected: Vec<String> = (0..5).map(|number| format!("page-{number}")).collect();
    same("the pages", &names, &expected)?;
    // A server does not count what a selector leaves out.
    same("what is left", &left, &vec![None, None, None])?;
    let all = ListParams::default().labels("test=pages");
    let metadata = maps.list_metadata(&all).await?;
    same("the metadata", &metadata.items.len(), &5)?;
    maps.delete_collection(&DeleteParams::default(), &all)
        .await?;
    same(
        "after the deletion",
        &maps.list(&all).await?.items.len(),
        &0,
    )
}

/// A store follows the changes, and a watcher of metadata sees them, too.
pub(crate) async fn stores(maps: &Api<ConfigMap>) -> Result<()> {
    let config = watcher::Config::default().labels("test=stored");
    let (store, writer) = reflector::store();
    let changes = watcher(maps.clone(), config.clone().streaming_lists()).default_backoff();
    let mut changes = pin!(changes.reflect(writer));
    let partial: Api<PartialObjectMeta<ConfigMap>> =
        Api::default_namespaced(maps.clone().into_client());
    let mut metadata = pin!(watcher(partial, config).applied_objects());
    maps.create(&PostParams::default(), &map("stored")?).await?;
    while store.is_empty() {
        changes.try_next().await?;
    }
    store.wait_until_ready().await?;
    same("the store", &store.len(), &1)?;
    let seen = metadata.try_next().await?.ok_or("the watch has ended")?;
    same("the name", &seen.name_any(), &"stored".to_owned())?;
    let patch = json!({"metadata": {"annotations": {"note": "seen"}}});
    maps.patch_metadata("stored", &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    let seen = metadata.try_next().await?.ok_or("the watch has ended")?;
    same("the note", &seen.annotations()["note"], &"seen".to_owned())?;
    changes.try_next().await?;
    let stored = store.find(|map| map.annotations().contains_key("note"));
    same("the stored note", &stored.is_some(), &true)?;
    maps.delete("stored", &DeleteParams::default()).await?;
    while !store.is_empty() {
        changes.try_next().await?;
    }
    Ok(())
}

/// Requests that the program builds itself.
pub(crate) async fn raw(client: &Client) -> Result<()> {
    let get = |path: &str| http::Request::get(path).body(Vec::new());
    same(
        "livez",
        &client.request_text(get("/livez")?).await?,
        &"ok".to_owned(),
    )?;
    let version = client.apiserver_version().await?;
    same("the version", &version.major, &"1".to_owned())?;
    let missing = client
        .request_status::<Pod>(get("/api/v1/namespaces/default/pods/missing")?)
        .await;
    match missing {
        Err(kube::Error::Api(status)) => {
            same("the code", &status.code, &404)?;
            same("the status", &status.status, &Some(StatusSummary::Failure))
        }
        other => Err(format!("a missing Pod: {other:?}").into()),
    }
}

/// A Job completes, and its Pod goes with it.
pub(crate) async fn job(client: &Client) -> Result<()> {
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    let body = json!({
        "metadata": {"name": "once"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}},
    });
    jobs.create(&PostParams::default(), &serde_json::from_value(body)?)
        .await?;
    let completed = await_condition(jobs.clone(), "once", conditions::is_job_completed());
    tokio::time::timeout(PATIENCE, completed).await??;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let of_job = ListParams::default().labels("batch.kubernetes.io/job-name=once");
    let found = pods.list(&of_job).await?.items;
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
    let phases: Vec<_> = found.iter().filter_map(phase).collect();
    same("the Pods", &phases, &vec!["Succeeded".to_owned()])?;
    let background = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteParams::default()
    };
    jobs.delete("once", &background).await?;
    let (name, uid) = (found[0].name_any(), found[0].uid().unwrap_or_default());
    let gone = await_condition(pods, &name, conditions::is_deleted(&uid));
    tokio::time::timeout(PATIENCE, gone).await??;
    Ok(())
}
