//! Names that follow from the content.

// ANCHOR: recipe
use pilothouse::prelude::*;

use crate::site::Site;

/// The FNV-1a hash of a text. Unlike the hash of Rust's maps it is the same in each version of the program.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Keeps the settings in a ConfigMap that never changes: other settings are another ConfigMap.
struct Settings;

impl Reconciler for Settings {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>().prunes::<ConfigMap>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let image = &site.spec.image;
        let name = format!("{}-{:08x}", site.name(), hash(image));
        let settings = ConfigMap {
            data: Some([("image".to_owned(), image.clone())].into()),
            immutable: Some(true),
            ..ConfigMap::named(name)
        };
        cx.apply(settings).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::{client::ListParams, testing::Cluster};
    use serde_json::json;

    use super::*;
    use crate::world::site;

    async fn names(cluster: &Cluster) -> Vec<String> {
        let found = cluster
            .api::<ConfigMap>()
            .list(&ListParams::default())
            .await;
        let names = found.unwrap().items.into_iter();
        let names = names.map(|map| map.name().to_owned());
        names.filter(|name| name.starts_with("a-")).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn other_settings_are_another_object_and_the_old_one_is_pruned() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Settings))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster.settle().await;
        let before = names(&cluster).await;
        assert_eq!(before, [format!("a-{:08x}", hash("nginx:1"))]);

        let change = json!({"spec": {"image": "nginx:2"}});
        cluster.patch::<Site>("a", change).await.unwrap();
        cluster.settle().await;
        let after = names(&cluster).await;
        assert_eq!(after, [format!("a-{:08x}", hash("nginx:2"))]);
        running.stop().await;
    }
}
