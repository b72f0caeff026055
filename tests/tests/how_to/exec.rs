//! A command in a container.

// ANCHOR: recipe
use pilothouse::{
    client::{Api, ExecParams, ListParams},
    k8s::api::core::v1::Pod,
    prelude::*,
    resource::AccessRule,
};

use crate::site::{Site, SiteStatus, deployment};

/// Asks the web server for its version.
struct Versions;

impl Reconciler for Versions {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<Deployment>()
            .access(AccessRule::of::<Pod>(["list"]))
            .access(AccessRule::of::<Pod>(["create", "get"]).subresource("exec"))
            .timeout(Duration::from_secs(60))
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let web = cx.apply(deployment(site.name(), &site)).await?;
        web.ready_or_wait()?;
        let pods = Api::<Pod>::namespaced(cx.live(), site.namespace().unwrap_or("default"));
        let of_site = ListParams::default().labels(format!("app={}", site.name()));
        let Some(pod) = pods.list(&of_site).await?.items.into_iter().next() else {
            return Ok(Action::requeue());
        };
        let command = ExecParams::new(["server", "--version"]).stdout(true);
        let finished = pods.exec(pod.name(), &command).await?.output().await?;
        let version = String::from_utf8_lossy(&finished.stdout).trim().to_owned();
        cx.modify_status(|status: &mut SiteStatus| status.plan = Some(version))
            .await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::world::site;

    #[tokio::test(start_paused = true)]
    async fn the_version_is_read_from_a_container() {
        let cluster = Cluster::start().unwrap();
        cluster.pods().program("server", |called| async move {
            let mut stdout = called.stdout;
            let is_asked = called.command == ["server", "--version"];
            match is_asked && stdout.write_all(b"2.1\n").await.is_ok() {
                true => 0,
                false => 1,
            }
        });
        let running = cluster
            .run(Operator::new("sites").controller(Versions))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster
            .until("a", "have a version", |site: &Site| {
                let status = site.status.as_ref();
                status.is_some_and(|status| status.plan.as_deref() == Some("2.1"))
            })
            .await
            .unwrap();
        running.stop().await;
    }
}
