use std::{cell::RefCell, rc::Rc};

use pilothouse::prelude::*;

struct Counting(Rc<RefCell<u32>>);

impl Reconciler for Counting {
    type Resource = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        Ok(Action::wait())
    }
}

fn main() {}
