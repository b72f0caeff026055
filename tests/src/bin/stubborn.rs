//! An operator whose reconciles never end, for tests of its shutdown.

use pilothouse::{k8s::api::core::v1::Namespace, prelude::*};

struct Stubborn;

impl Reconciler for Stubborn {
    type Resource = Namespace;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
    }

    async fn reconcile(&self, namespace: Arc<Namespace>, _: &Context<Namespace>) -> Result<Action> {
        println!("reconciling {}", namespace.name());
        std::future::pending().await
    }
}

fn main() -> ExitCode {
    Operator::new("stubborn").controller(Stubborn).main()
}
