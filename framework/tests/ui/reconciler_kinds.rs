use pilothouse::prelude::*;

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Plain {}

struct OfPlain;

impl Reconciler for OfPlain {
    type Resource = Plain;

    async fn reconcile(&self, _: Arc<Plain>, _: &Context<Plain>) -> Result<Action> {
        Ok(Action::wait())
    }
}

struct Other;

impl Reconciler for Other {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Plain>()
    }

    async fn reconcile(&self, _: Arc<Secret>, _: &Context<ConfigMap>) -> Result<Action> {
        Ok(Action::wait())
    }
}

fn main() {}
