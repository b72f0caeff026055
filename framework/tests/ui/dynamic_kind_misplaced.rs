use std::sync::Arc;

use pilothouse::controller::{Action, Context, Controller, Reconciler, Result};
use pilothouse::k8s::api::{apps::v1::Deployment, rbac::v1::ClusterRole};
use pilothouse::operator::Operator;
use pilothouse::resource::{ApiResource, DynamicObject};

struct Typed;

impl Reconciler for Typed {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        // The compiler still checks the scopes of kinds with Rust types.
        controller.owns::<ClusterRole>()
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        Ok(Action::wait())
    }
}

struct Dynamic;

impl Reconciler for Dynamic {
    type Resource = DynamicObject;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<DynamicObject>()
    }

    async fn reconcile(&self, _: Arc<DynamicObject>, _: &Context<DynamicObject>) -> Result {
        Ok(Action::wait())
    }
}

fn main() {
    let deployments = ApiResource::of::<Deployment>();
    let _ = Operator::new("wrong").controller(Dynamic);
    let _ = Operator::new("wrong").dynamic_controller(deployments, Typed);
}
