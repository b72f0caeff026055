use std::sync::Arc;

use pilothouse::controller::{Action, Context, Controller, Reconciler, Result};
use pilothouse::k8s::api::apps::v1::Deployment;

struct Forgetful;

impl Reconciler for Forgetful {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.finalizer("demo.example.com/forgetful")
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        Ok(Action::wait())
    }
}

fn main() {}
