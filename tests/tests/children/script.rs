//! A reconciler that does what a test says, once.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pilothouse::{
    controller::{Action, Context, Controller, Error, Reconciler, Result},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::Object,
};

use crate::World;

type Step =
    Box<dyn for<'a> Fn(&'a Context<Deployment>) -> BoxFuture<'a, Result<String>> + Send + Sync>;

/// Does the next step in the next reconcile of the object it is for, and keeps what the step says.
#[derive(Clone, Default)]
pub(crate) struct Script {
    steps: Arc<Mutex<Vec<(String, Step)>>>,
    said: Arc<Mutex<Vec<String>>>,
    prunes: bool,
}

impl Script {
    pub(crate) fn pruning() -> Self {
        Self {
            prunes: true,
            ..Self::default()
        }
    }

    /// Appends a step.
    pub(crate) fn then(
        &self,
        name: &str,
        step: impl for<'a> Fn(&'a Context<Deployment>) -> BoxFuture<'a, Result<String>>
        + Send
        + Sync
        + 'static,
    ) {
        let mut steps = self.steps.lock().unwrap();
        steps.push((name.to_owned(), Box::new(step)));
    }

    /// Appends a step and makes it happen.
    pub(crate) async fn run(
        &self,
        world: &World,
        name: &str,
        step: impl for<'a> Fn(&'a Context<Deployment>) -> BoxFuture<'a, Result<String>>
        + Send
        + Sync
        + 'static,
    ) {
        self.then(name, step);
        world.touch(name).await;
    }

    /// What the steps said since this was last asked.
    pub(crate) fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock().unwrap())
    }
}

impl Reconciler for Script {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller.owns::<ConfigMap>().concurrency(1);
        let controller = controller.writes::<ConfigMap>().deletes::<ConfigMap>();
        match self.prunes {
            true => controller.prunes::<ConfigMap>(),
            false => controller,
        }
    }

    async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let step = {
            let mut steps = self.steps.lock().unwrap();
            let next = steps.iter().position(|(name, _)| name == object.name());
            next.map(|place| steps.remove(place))
        };
        let Some((_, step)) = step else {
            return match self.prunes {
                // What is owned stays as it is.
                true => {
                    for map in cx.list_owned::<ConfigMap>()?.items {
                        cx.adopt(&*map).await?;
                    }
                    Ok(Action::wait())
                }
                false => Ok(Action::wait()),
            };
        };
        let said = step(cx).await?;
        self.said.lock().unwrap().push(said);
        let more = self
            .steps
            .lock()
            .unwrap()
            .iter()
            .any(|(name, _)| name == object.name());
        match more {
            true => Ok(Action::requeue_after(std::time::Duration::ZERO)),
            false => Ok(Action::wait()),
        }
    }
}

/// What an error says.
pub(crate) fn said<T: std::fmt::Debug>(result: std::result::Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}
