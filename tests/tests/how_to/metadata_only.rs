//! A cache that holds only names and labels.

// ANCHOR: recipe
use pilothouse::{prelude::*, resource::PartialObject};

use crate::site::{Site, SiteStatus};

/// Counts the Secrets of a Site, and never reads what is in them.
struct SecretCount;

impl Reconciler for SecretCount {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<PartialObject<Secret>>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        // An apply takes the whole object.
        let mut token = Secret::named(format!("{}-token", site.name()));
        token.string_data = Some([("token".to_owned(), "changeme".to_owned())].into());
        cx.apply(token).await?;
        // A read returns the metadata.
        let secrets = cx.list_owned::<PartialObject<Secret>>()?.items;
        let count = i32::try_from(secrets.len())?;
        cx.modify_status(|status: &mut SiteStatus| status.ready = count)
            .await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::{k8s::ByteString, testing::Cluster};

    use super::*;
    use crate::world::site;

    #[tokio::test(start_paused = true)]
    async fn the_secret_is_counted_and_its_content_is_not_requested() {
        let cluster = Cluster::start().unwrap();
        let large = ByteString(vec![b'x'; 100_000]);
        let large = Secret {
            data: Some([("blob".to_owned(), large)].into()),
            ..Secret::named("large")
        };
        cluster.create(&large).await.unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(SecretCount))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster
            .until("a", "have one Secret", |site: &Site| {
                site.status.as_ref().is_some_and(|status| status.ready == 1)
            })
            .await
            .unwrap();
        // Neither the large Secret nor the content of the other one is in memory.
        let bytes = "pilothouse_informer_object_bytes";
        let bytes = running.metrics().value(bytes, &[("resource", "secrets")]);
        assert!((1.0..10_000.0).contains(&bytes.unwrap()), "{bytes:?}");
        running.stop().await;
    }
}
