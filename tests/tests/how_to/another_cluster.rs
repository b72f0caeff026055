//! An operator that reads a second cluster.

// ANCHOR: recipe
use std::path::PathBuf;

use pilothouse::{
    client::{Api, Client, Config, KubeconfigOptions},
    prelude::*,
};

use crate::site::{Site, SiteStatus};

/// Takes the image of each Site from the Deployment of the same name in another cluster.
struct Mirror {
    staging: Client,
}

/// The client of the other cluster.
async fn staging(kubeconfig: PathBuf) -> Result<Client> {
    let options = KubeconfigOptions {
        path: Some(kubeconfig),
        context: Some("staging".to_owned()),
        ..Default::default()
    };
    let config = Config::from_kubeconfig(&options).await?;
    Ok(Client::new(config)?)
}

fn operator(kubeconfig: PathBuf) -> Operator {
    Operator::new("mirror")
        .controller_with(move |_| async move {
            let staging = staging(kubeconfig).await?;
            Ok(Mirror { staging })
        })
        .wiring::<Site>(wire)
}

/// The other cluster tells nothing of its changes: look again each five minutes.
fn wire<R: Reconciler<Resource = Site>>(controller: Controller<R>) -> Controller<R> {
    controller.every(Duration::from_secs(300))
}

impl Reconciler for Mirror {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        wire(controller)
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let namespace = site.namespace().unwrap_or("default");
        let there = Api::<Deployment>::namespaced(&self.staging, namespace);
        let image = match there.get_opt(site.name()).await? {
            Some(web) => image(&web),
            None => return Err(Failure::waiting("staging has no Deployment of this name")),
        };
        cx.modify_status(|status: &mut SiteStatus| status.plan = image)
            .await?;
        Ok(Action::wait())
    }
}

fn image(web: &Deployment) -> Option<String> {
    let pod = web.spec.template.spec.as_ref()?;
    pod.containers.first()?.image.clone()
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::{
        site::deployment,
        world::{ready_message, site},
    };

    fn plan(site: &Site) -> Option<&str> {
        site.status.as_ref()?.plan.as_deref()
    }

    #[tokio::test(start_paused = true)]
    async fn a_site_follows_the_deployment_of_the_other_cluster() {
        let (here, there) = (Cluster::start().unwrap(), Cluster::start().unwrap());
        let mirror = Mirror {
            staging: there.client().clone(),
        };
        let running = here
            .run(Operator::new("mirror").controller(mirror))
            .await
            .unwrap();
        here.create(&site("a")).await.unwrap();
        here.until("a", "wait", |site: &Site| {
            ready_message(site).contains("staging has no Deployment")
        })
        .await
        .unwrap();
        there.create(&deployment("a", &site("a"))).await.unwrap();
        tokio::time::sleep(Duration::from_secs(300)).await;
        here.until("a", "have the image", |site: &Site| {
            plan(site) == Some("nginx:1")
        })
        .await
        .unwrap();
        running.stop().await;
    }

    #[test]
    fn a_command_that_prints_needs_no_kubeconfig() {
        let roles = operator("missing".into()).roles("operators").unwrap();
        assert!(format!("{roles:?}").contains("sites"));
    }
}
