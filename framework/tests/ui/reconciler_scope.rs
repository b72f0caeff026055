use pilothouse::{
    controller::Owned,
    k8s::api::{core::v1::Namespace, rbac::v1::ClusterRole},
    prelude::*,
};

struct Roles;

impl Reconciler for Roles {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ClusterRole>()
            .watch(Owned::<Namespace>::new())
    }

    async fn reconcile(&self, map: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        cx.apply(ClusterRole::named(map.name())).await?;
        cx.get_in::<ClusterRole>("default", "readers")?;
        Ok(Action::wait())
    }
}

fn main() {}
