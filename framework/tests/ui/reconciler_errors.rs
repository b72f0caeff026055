use pilothouse::prelude::*;

struct NotAnError;

fn image() -> std::result::Result<String, NotAnError> {
    Err(NotAnError)
}

struct Website;

impl Reconciler for Website {
    type Resource = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        image()?;
        Ok(Action::wait())
    }
}

fn main() {}
