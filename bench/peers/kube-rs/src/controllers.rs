//! Controllers of ConfigMaps, as their users write them.

use std::{error::Error, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams},
    runtime::{
        Controller,
        controller::{Action, Config},
    },
};

use crate::shared::{
    drain::Drain,
    phases::{LATER, Phases},
    process::{Results, setting},
    settle::Settle,
    stamps::Stamps,
};

/// The number of workers of every peer.
const WORKERS: u16 = 16;

/// The context of a reconcile.
struct Context {
    client: Client,
    drain: Drain,
    stamps: Stamps,
    phases: Phases,
    settle: Settle,
}

/// Does nothing.
async fn nothing_of(_: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    context.drain.reconciled();
    Ok(Action::await_change())
}

/// Applies a child of each object.
async fn child_of(object: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let child = ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("child-{}", object.name_any())),
            owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), object.name_any())].into()),
        ..ConfigMap::default()
    };
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<ConfigMap>::namespaced(context.client.clone(), &namespace);
    api.patch(
        &child.name_any(),
        &PatchParams::apply("bench").force(),
        &Patch::Apply(&child),
    )
    .await?;
    context.drain.reconciled();
    Ok(Action::await_change())
}

/// Applies a child of each object, which is watched.
async fn owned_of(object: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let child = Secret {
        metadata: ObjectMeta {
            name: Some(format!("child-{}", object.name_any())),
            owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), ByteString(object.name_any().into()))].into()),
        ..Secret::default()
    };
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<Secret>::namespaced(context.client.clone(), &namespace);
    api.patch(
        &child.name_any(),
        &PatchParams::apply("bench").force(),
        &Patch::Apply(&child),
    )
    .await?;
    context.settle.reconciled();
    Ok(Action::await_change())
}

/// Reads the stamp of each object.
async fn stamp_of(object: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    match object.annotations().get("bench/stamp") {
        Some(stamp) => context.stamps.reconciled(stamp),
        None => context.drain.reconciled(),
    }
    Ok(Action::await_change())
}

/// Requeues each object for later in the last phase.
async fn later_of(_: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    Ok(match context.phases.reconciled() {
        true => Action::requeue(LATER),
        false => Action::await_change(),
    })
}

pub async fn parked(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let context = start(later_of, 0).await?;
    Ok(context.phases.measure(results).await?)
}

pub async fn nothing(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let context = start(nothing_of, 0).await?;
    context.drain.measure(results).await;
    Ok(())
}

/// Runs until SIGTERM, which the controller handles as kube-rs' examples have it.
pub async fn exit(mut results: Results) -> Result<(), Box<dyn Error>> {
    let (context, controller) = controller(nothing_of, 0, |controller, _| {
        controller.shutdown_on_signal()
    })
    .await?;
    let running = tokio::spawn(controller);
    context.drain.measure(&mut results).await;
    results.print();
    println!("synced");
    Ok(running.await?)
}

pub async fn children(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let context = start(child_of, 0).await?;
    context.drain.measure(results).await;
    Ok(())
}

pub async fn owned(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let context = start_with(owned_of, 0, |controller, client| {
        controller.owns(Api::<Secret>::all(client), crate::config())
    })
    .await?;
    context.settle.measure(results).await;
    Ok(())
}

pub async fn stamps(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let context = start(stamp_of, setting("BENCH_EVENTS")).await?;
    context.drain.measure(results).await;
    println!("synced");
    context.stamps.measure(results).await;
    Ok(())
}

/// Runs a controller in the background of the measurement.
async fn start<F>(
    reconcile: fn(Arc<ConfigMap>, Arc<Context>) -> F,
    stamps: u64,
) -> Result<Arc<Context>, Box<dyn Error>>
where
    F: Future<Output = Result<Action, kube::Error>> + Send + 'static,
{
    start_with(reconcile, stamps, |controller, _| controller).await
}

async fn start_with<F>(
    reconcile: fn(Arc<ConfigMap>, Arc<Context>) -> F,
    stamps: u64,
    with: impl FnOnce(Controller<ConfigMap>, Client) -> Controller<ConfigMap>,
) -> Result<Arc<Context>, Box<dyn Error>>
where
    F: Future<Output = Result<Action, kube::Error>> + Send + 'static,
{
    let (context, controller) = controller(reconcile, stamps, with).await?;
    tokio::spawn(controller);
    Ok(context)
}

/// Returns a controller that has not started, with its context.
async fn controller<F>(
    reconcile: fn(Arc<ConfigMap>, Arc<Context>) -> F,
    stamps: u64,
    with: impl FnOnce(Controller<ConfigMap>, Client) -> Controller<ConfigMap>,
) -> Result<(Arc<Context>, impl Future<Output = ()> + Send + 'static), Box<dyn Error>>
where
    F: Future<Output = Result<Action, kube::Error>> + Send + 'static,
{
    let drain = Drain::new(setting("BENCH_OBJECTS"));
    let client = Client::try_default().await?;
    let context = Arc::new(Context {
        client: client.clone(),
        drain,
        stamps: Stamps::new(stamps),
        phases: Phases::new(setting("BENCH_OBJECTS")),
        settle: Settle::new(setting("BENCH_OBJECTS")),
    });
    let controller = Controller::new(Api::<ConfigMap>::all(client.clone()), crate::config());
    let controller = with(controller, client)
        .with_config(Config::default().concurrency(WORKERS))
        .run(
            reconcile,
            |_, error, _| {
                eprintln!("{error}");
                Action::requeue(Duration::from_secs(5))
            },
            context.clone(),
        )
        .for_each(|_| async {});
    Ok((context, controller))
}
