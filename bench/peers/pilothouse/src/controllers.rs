//! Controllers of ConfigMaps, as their users write them.

use std::{error::Error, sync::Arc};

use pilothouse::{
    client::{Client, Config},
    prelude::*,
};

use crate::shared::{
    drain::Drain,
    phases::{LATER, Phases},
    process::{Results, setting},
    stamps::Stamps,
};

/// As many as every peer has.
const WORKERS: usize = 16;

/// Does nothing.
struct Nothing(Arc<Drain>);

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

/// Applies a child of each.
struct Children(Arc<Drain>);

impl Reconciler for Children {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.concurrency(WORKERS).owns::<ConfigMap>()
    }

    async fn reconcile(&self, object: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        let mut child = ConfigMap::default();
        child.metadata.name = Some(format!("child-{}", object.name()));
        child.data = Some([("text".to_owned(), object.name().to_owned())].into());
        cx.apply(child).await?;
        self.0.reconciled();
        Ok(Action::wait())
    }
}

/// Looks at the stamp of each.
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

/// Wants to see each again later, in the end.
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

pub async fn stamps(results: &mut Results) -> std::result::Result<(), Box<dyn Error>> {
    let drain = Arc::new(Drain::new(setting("BENCH_OBJECTS")));
    let stamps = Arc::new(Stamps::new(setting("BENCH_EVENTS")));
    let _running = start(Stamped(drain.clone(), stamps.clone())).await?;
    drain.measure(results).await;
    println!("synced");
    stamps.measure(results).await;
    Ok(())
}

async fn start<R: Reconciler>(
    reconciler: R,
) -> std::result::Result<pilothouse::operator::Running, Box<dyn Error>> {
    let operator = Operator::new("bench").controller(reconciler);
    let client = Client::builder(Config::infer().await?)
        .metrics(operator.metrics().clone())
        .user_agent("bench")
        .build()?;
    Ok(operator.start(client).await?)
}
