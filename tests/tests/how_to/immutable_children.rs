//! A child whose fields cannot change: a Job.

// ANCHOR: recipe
use pilothouse::{
    client::DeleteParams,
    k8s::api::batch::v1::{Job, JobSpec},
    prelude::*,
};

use crate::site::Site;

/// The image of the Job, where it can be read again.
const IMAGE: &str = "book.pilothouse.dev/image";

/// Runs one Job for each image of a Site.
struct Migrations;

impl Reconciler for Migrations {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Job>().deletes::<Job>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let wanted = job(&site);
        if let Some(old) = cx.get::<Job>(wanted.name())?
            && old.annotation(IMAGE) != wanted.annotation(IMAGE)
        {
            let params = DeleteParams::foreground().uid(old.uid().unwrap_or_default());
            cx.delete_with::<Job>(&old.key(), &params).await?;
            return Err(Failure::waiting(
                "the Job of the former image is being deleted",
            ));
        }
        cx.apply(wanted).await?;
        Ok(Action::wait())
    }
}

fn job(site: &Site) -> Job {
    let migrate = Container {
        name: "migrate".into(),
        image: Some(site.spec.image.clone()),
        ..Default::default()
    };
    let mut job = Job {
        spec: Some(JobSpec {
            template: PodTemplateSpec {
                spec: Some(PodSpec {
                    containers: vec![migrate],
                    restart_policy: Some("Never".into()),
                    ..Default::default()
                }),
                ..Default::default()
            },
            ..Default::default()
        }),
        ..Job::named(format!("{}-migrate", site.name()))
    };
    let image = (IMAGE.to_owned(), site.spec.image.clone());
    job.metadata.annotations = Some([image].into());
    job
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;
    use serde_json::json;

    use super::*;
    use crate::world::site;

    #[tokio::test(start_paused = true)]
    async fn another_image_is_another_job() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Migrations))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster.settle().await;
        let first = cluster.get::<Job>("a-migrate").await.unwrap().unwrap();

        let change = json!({"spec": {"image": "nginx:2"}});
        cluster.patch::<Site>("a", change).await.unwrap();
        let second = cluster
            .until("a-migrate", "have the new image", |job: &Job| {
                job.annotation(IMAGE) == Some("nginx:2")
            })
            .await
            .unwrap();
        assert_ne!(first.uid(), second.uid());
        assert_eq!(running.unused_access().to_string(), "");
        running.stop().await;
    }
}
