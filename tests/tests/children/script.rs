//! A reconciler that runs each step of a test once.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pilothouse::{
    controller::{Action, Context, Controller, Error, Reconciler, Result},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::Object,
};

use crate::children::World;

type Step =
    Box<dyn for<'a> Fn(&'a Context<Deployment>) -> BoxFuture<'a, Result<String>> + Send + Sync>;

/// Runs the next step in the next reconcile of its object, and keeps the text that the step returns.
#[derive(Clone, Default)]
pub(crate) struct Script {
    steps: Arc<Mutex<Vec<(String, Step)>>>,
    results: Arc<Mutex<Vec<String>>>,
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
        let mut steps = self.steps.lock();
        steps.push((name.to_owned(), Box::new(step)));
    }

    /// Appends a step and triggers a reconcile that runs it.
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

    /// Returns the texts of the steps since the last call.
    pub(crate) fn results(&self) -> Vec<String> {
        std::mem::take(&mut self.results.lock())
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
            let mut steps = self.steps.lock();
            let next = steps.iter().position(|(name, _)| name == object.name());
            next.map(|place| steps.remove(place))
        };
        let Some((_, step)) = step else {
            return match self.prunes {
                // Adopt all owned children again, so that pruning keeps them.
                true => {
                    for map in cx.list_owned::<ConfigMap>()?.items {
                        cx.adopt(&*map).await?;
                    }
                    Ok(Action::wait())
                }
                false => Ok(Action::wait()),
            };
        };
        let result = step(cx).await?;
        self.results.lock().push(result);
        let more = self
            .steps
            .lock()
            .iter()
            .any(|(name, _)| name == object.name());
        match more {
            true => Ok(Action::requeue_after(std::time::Duration::from_millis(1))),
            false => Ok(Action::wait()),
        }
    }
}

/// Returns the text of an error.
pub(crate) fn error_text<T: std::fmt::Debug>(result: std::result::Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}
