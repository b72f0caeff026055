//! What programs on kube-rs do: calls with `Api`, a `watcher`, a `Controller` with a finalizer and an owned object, and what kube-rs'
//! examples show.

mod examples;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const FINALIZER: &str = "demo.pilothouse.dev/copies";
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::try_default().await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    calls(&maps).await?;
    println!("calls: ok");
    tokio::time::timeout(PATIENCE, changes(&maps)).await??;
    println!("watcher: ok");
    tokio::time::timeout(PATIENCE, controller(&client, &maps)).await??;
    println!("controller: ok");
    examples::discovery(&client).await?;
    println!("discovery: ok");
    examples::definition(&client).await?;
    println!("definition: ok");
    examples::pages(&maps).await?;
    println!("pages: ok");
    tokio::time::timeout(PATIENCE, examples::stores(&maps)).await??;
    println!("stores: ok");
    examples::raw(&client).await?;
    println!("raw requests: ok");
    examples::job(&client).await?;
    println!("job: ok");
    Ok(())
}

/// Each verb, and each patch type.
async fn calls(maps: &Api<ConfigMap>) -> Result<()> {
    let made = maps.create(&PostParams::default(), &map("calls")?).await?;
    let patches: [(&str, Patch<Value>); 4] = [
        ("merge", Patch::Merge(json!({"data": {"last": "merge"}}))),
        (
            "strategic",
            Patch::Strategic(json!({"data": {"last": "strategic"}})),
        ),
        (
            "json",
            Patch::Json(serde_json::from_value(
                json!([{"op": "replace", "path": "/data/last", "value": "json"}]),
            )?),
        ),
        (
            "apply",
            Patch::Apply(
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "calls"}, "data": {"last": "apply"}}),
            ),
        ),
    ];
    for (name, patch) in patches {
        let mut params = PatchParams::apply("kube-rs");
        params.force = matches!(patch, Patch::Apply(_));
        let patched = maps.patch("calls", &params, &patch).await?;
        same(name, &data(&patched), &Some(name.to_owned()))?;
    }
    match maps.replace("calls", &PostParams::default(), &made).await {
        Err(kube::Error::Api(status)) => same("a stale write", &status.code, &409)?,
        other => return Err(format!("a stale write: {other:?}").into()),
    }
    let listed = maps
        .list(&ListParams::default().labels("test=calls"))
        .await?;
    same("the list", &listed.items.len(), &1)?;
    maps.delete("calls", &DeleteParams::default()).await?;
    same("after the deletion", &maps.get_opt("calls").await?, &None)
}

/// A watcher lists, and then sees each change.
async fn changes(maps: &Api<ConfigMap>) -> Result<()> {
    maps.create(&PostParams::default(), &map("watched")?)
        .await?;
    let mut events = Box::pin(watcher(
        maps.clone(),
        watcher::Config::default().labels("test=watched"),
    ));
    let mut seen = Vec::new();
    while seen.len() < 3 {
        match events.next().await.ok_or("the watch has ended")?? {
            watcher::Event::Init => {}
            watcher::Event::InitApply(object) => seen.push(format!("listed {}", object.name_any())),
            watcher::Event::InitDone => {
                let patch = Patch::Merge(json!({"data": {"last": "changed"}}));
                maps.patch("watched", &PatchParams::default(), &patch)
                    .await?;
            }
            watcher::Event::Apply(object) => {
                seen.push(data(&object).unwrap_or_default());
                maps.delete("watched", &DeleteParams::default()).await?;
            }
            watcher::Event::Delete(object) => seen.push(format!("deleted {}", object.name_any())),
        }
    }
    same(
        "the events",
        &seen,
        &["listed watched", "changed", "deleted watched"]
            .map(String::from)
            .to_vec(),
    )
}

/// A controller copies each ConfigMap into a Secret that the ConfigMap owns, and repairs the copy.
async fn controller(client: &Client, maps: &Api<ConfigMap>) -> Result<()> {
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let config = watcher::Config::default().labels("test=controlled");
    let controller = Controller::new(maps.clone(), config)
        .owns(secrets.clone(), watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(100)),
            Arc::new(client.clone()),
        )
        .for_each(|_| async {});
    let running = tokio::spawn(controller);
    maps.create(&PostParams::default(), &map("controlled")?)
        .await?;
    let first = copy(&secrets, None).await?;
    same("the owner", &first.owner_references().len(), &1)?;
    secrets
        .delete("controlled", &DeleteParams::default())
        .await?;
    copy(&secrets, first.uid()).await?;
    maps.delete("controlled", &DeleteParams::default()).await?;
    while maps.get_opt("controlled").await?.is_some() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The finalizer has deleted the copy before the ConfigMap went.
    same("the copy", &secrets.get_opt("controlled").await?, &None)?;
    running.abort();
    Ok(())
}

/// Waits for a copy with another UID than `old`.
async fn copy(secrets: &Api<Secret>, old: Option<String>) -> Result<Secret> {
    loop {
        match secrets.get_opt("controlled").await? {
            Some(found) if found.uid() != old => return Ok(found),
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn reconcile(
    map: Arc<ConfigMap>,
    client: Arc<Client>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let client = Client::clone(&client);
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client);
    finalizer(&maps, FINALIZER, map, |event| async {
        match event {
            Event::Apply(map) => {
                let body = json!({"apiVersion": "v1", "kind": "Secret", "stringData": map.data,
                    "metadata": {"name": map.name_any(), "ownerReferences": [map.controller_owner_ref(&())]}});
                secrets.patch(&map.name_any(), &PatchParams::apply("kube-rs").force(), &Patch::Apply(body)).await?;
            }
            Event::Cleanup(map) => {
                secrets.delete(&map.name_any(), &DeleteParams::default()).await?;
            }
        }
        Ok(Action::await_change())
    })
    .await
}

fn map(name: &str) -> Result<ConfigMap> {
    let map =
        json!({"metadata": {"name": name, "labels": {"test": name}}, "data": {"last": "created"}});
    Ok(serde_json::from_value(map)?)
}

fn data(map: &ConfigMap) -> Option<String> {
    map.data.as_ref()?.get("last").cloned()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, found {found:?}").into())
}
