//! Controllers of ConfigMaps, as their users write them.

use std::{error::Error, sync::Arc};

use pilothouse::{
    client::{Api, Client, Config, Patch, PatchParams},
    k8s::{ByteString, api::core::v1::Secret},
    prelude::*,
    resource::controller_reference,
};

use crate::shared::{
    drain::Drain,
    phases::{LATER, Phases},
    process::{Results, setting},
    settle::Settle,
    stamps::Stamps,
};

/// The number of workers of every peer.
const WORKERS: usize = 16;

/// Does nothing.
pub struct Nothing(pub Arc<Drain>);

impl Reconciler for Nothing {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.concurrency(WORKERS)
    }

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        self.0.reconciled();
        Ok(Action::wait())
    }
}

/// Applies a child of each object as the other peers do: with a client, without knowing whether the child exists.
struct Children(Arc<Drain>);

impl Reconciler for Children {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.concurrency(WORKERS).writes::<ConfigMap>()
    }

    async fn reconcile(&self, object: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        let mut child = ConfigMap::default();
        child.metadata.name = Some(format!("child-{}", object.name()));
        child.metadata.owner_references = Some(vec![controller_reference(&*object)?]);
        child.data = Some([("text".to_owned(), object.name().to_owned())].into());
        let maps = Api::<ConfigMap>::namespaced(cx.live(), object.namespace().unwrap_or_default());
        let params = PatchParams::apply("bench").force();
        maps.patch(child.name(), &params, &Patch::apply(&child)?)
            .await?;
        self.0.reconciled();
        Ok(Action::wait())
    }
}

/// Owns a child of each object.
struct Owner(Arc<Settle>);

impl Reconciler for Owner {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.concurrency(WORKERS).owns::<Secret>()
    }

    async fn reconcile(&self, object: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        let mut child = Secret::default();
        child.metadata.name = Some(format!("child-{}", object.name()));
        let text = ByteString(object.name().into());
        child.data = Some([("text".to_owned(), text)].into());
        cx.apply(child).await?;
        self.0.reconciled();
        Ok(Action::wait())
    }
}

/// Reads the stamp of each object.
struct Stamped(Arc<Drain>, Arc<Stamps>);

impl Reconciler for Stamped {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.concurrency(WORKERS)
    }

    async fn reconcile(&self, object: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        let annotations = object.metadata.annotations.as_ref();
        match annotations.and_then(|annotations| annotations.get("bench/stamp")) {
            Some(stamp) => self.1.reconciled(stamp),
            None => self.0.reconciled(),
        }
        Ok(Action::wait())
    }
}

/// Requeues each object for later in the last phase.
struct Parked(Arc<Phases>);

impl Reconciler for Parked {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.concurrency(WORKERS)
    }

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        Ok(match self.0.reconciled() {
            true => Action::requeue_after(LATER),
            false => Action::wait(),
        })
    }
}

pub async fn parked(results: &mut Results) -> std::result::Result<(), Box<dyn Error>> {
    let phases = Arc::new(Phases::new(setting("BENCH_OBJECTS")));
    let _running = start(Parked(phases.clone())).await?;
    Ok(phases.measure(results).await?)
}

pub async fn nothing(results: &mut Results) -> std::result::Result<(), Box<dyn Error>> {
    let drain = Arc::new(Drain::new(setting("BENCH_OBJECTS")));
    let _running = start(Nothing(drain.clone())).await?;
    drain.measure(results).await;
    Ok(())
}

pub async fn children(results: &mut Results) -> std::result::Result<(), Box<dyn Error>> {
    let drain = Arc::new(Drain::new(setting("BENCH_OBJECTS")));
    let _running = start(Children(drain.clone())).await?;
    drain.measure(results).await;
    Ok(())
}

pub async fn owned(results: &mut Results) -> std::result::Result<(), Box<dyn Error>> {
    let settle = Arc::new(Settle::new(setting("BENCH_OBJECTS")));
    let _running = start(Owner(settle.clone())).await?;
    settle.measure(results).await;
    Ok(())
}

pub async fn stamps(results: &mut Results) -> std::result::Result<(), Box<dyn Error>> {
    let drain = Arc::new(Drain::new(setting("BENCH_OBJECTS")));
    let stamps = Arc::new(Stamps::new(setting("BENCH_EVENTS")));
    let _running = start(Stamped(drain.clone(), stamps.clone())).await?;
    drain.measure(results).await;
    println!("synced");
    stamps.measure(results).await;
    Ok(())
}

async fn start<R: Reconciler<Resource: Resource>>(
    reconciler: R,
) -> std::result::Result<pilothouse::operator::Running, Box<dyn Error>> {
    let operator = Operator::new("bench").controller(reconciler);
    let client = Client::builder(Config::infer().await?)
        .metrics(operator.metrics().clone())
        .user_agent("bench")
        .build()?;
    Ok(operator.start(client).await?)
}
