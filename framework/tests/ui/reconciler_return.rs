use pilothouse::prelude::*;

struct Nothing;

impl Reconciler for Nothing {
    type Resource = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<()> {
        Ok(())
    }
}

struct Forgotten;

impl Reconciler for Forgotten {
    type Resource = ConfigMap;

    async fn reconcile(&self, map: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        cx.apply(Secret::named(map.name())).await?;
    }
}

struct NotAwaited;

impl Reconciler for NotAwaited {
    type Resource = ConfigMap;

    async fn reconcile(&self, map: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        cx.apply(Secret::named(map.name()))?;
        Ok(Action::wait())
    }
}

struct Blocking;

impl Reconciler for Blocking {
    type Resource = ConfigMap;

    fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        Ok(Action::wait())
    }
}

fn main() {}
