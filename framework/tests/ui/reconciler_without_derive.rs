use std::sync::Arc;

use pilothouse::controller::{Action, Context, Controller, Reconciler, Result};
use pilothouse::operator::Operator;
use pilothouse::resource::ObjectMeta;

pub struct Website {
    pub metadata: ObjectMeta,
}

struct Sites;

impl Reconciler for Sites {
    type Resource = Website;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
    }

    async fn reconcile(&self, _: Arc<Website>, _: &Context<Website>) -> Result {
        Ok(Action::wait())
    }
}

fn main() {
    let _ = Operator::new("sites").controller(Sites);
}
