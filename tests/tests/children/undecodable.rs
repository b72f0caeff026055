//! Children that a reconcile did not apply because it read an object that does not decode.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use pilothouse::{
    Resource,
    controller::{Action, Context, Controller, Reconciler, Result},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::{ApiResource, Object, ObjectMeta},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::children::World;

/// A ConfigMap of numbers.
#[derive(Resource, Deserialize, Serialize, Clone, Debug)]
#[resource(view_of = ConfigMap)]
struct Numbers {
    metadata: ObjectMeta,
    data: Option<BTreeMap<String, Number>>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Number {
    #[serde(rename = "1")]
    One,
}

/// How a reconcile reads the sources of its children.
#[derive(Clone, Copy)]
enum Reads {
    ListAll,
    List,
    Uncached,
    Lister,
    Snapshot,
    Index,
    IndexValues,
}

/// Whether a ConfigMap is a source, as the value of an index.
fn source(numbers: &Numbers) -> Option<String> {
    numbers.label("source").map(str::to_owned)
}

/// The name of a source.
fn name_of_source(numbers: &Numbers) -> Option<String> {
    source(numbers).map(|_| numbers.name().to_owned())
}

/// Applies a child for each source. A source is a ConfigMap with the label `source`.
struct Children(Reads);

impl Children {
    fn sources(&self, cx: &Context<Deployment>) -> Result<Vec<Arc<Numbers>>> {
        let lister = || cx.lister_of::<Numbers>(&ApiResource::of::<Numbers>());
        Ok(match self.0 {
            Reads::ListAll => cx.list_all::<Numbers>()?.items,
            Reads::List => cx.list::<Numbers>()?.items,
            Reads::Uncached => cx.uncached().list_in::<Numbers>("default")?.items,
            Reads::Lister => lister()?.in_namespace("default").items,
            Reads::Index => cx.indexed(source, "yes")?.items,
            Reads::IndexValues => {
                let names = cx.index_values(name_of_source)?.items;
                let found = names.iter().map(|name| cx.get::<Numbers>(name));
                found.filter_map(|found| found.ok().flatten()).collect()
            }
            Reads::Snapshot => {
                let snapshot = lister()?.snapshot();
                let all = snapshot.iter();
                all.filter_map(|(_, entry)| entry.object().ok()).collect()
            }
        })
    }
}

impl Reconciler for Children {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ConfigMap>()
            .prunes::<ConfigMap>()
            .watches::<Numbers>(|_| Vec::new())
            .index(source)
            .index(name_of_source)
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        for source in self.sources(cx)? {
            if source.label("source").is_some() {
                cx.apply(ConfigMap::named(format!("of-{}", source.name())))
                    .await?;
            }
        }
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_pruned_while_a_source_of_children_does_not_decode() {
    for reads in [
        Reads::ListAll,
        Reads::List,
        Reads::Uncached,
        Reads::Lister,
        Reads::Snapshot,
        Reads::Index,
        Reads::IndexValues,
    ] {
        let world = World::of(Children(reads)).await;
        for name in ["a", "b"] {
            let mut source = ConfigMap::named(name);
            source.metadata.labels = Some([("source".to_owned(), "yes".to_owned())].into());
            world.cluster.create(&source).await.unwrap();
        }
        world.cluster.settle().await;
        world.create("web").await;
        let all = ["default/a", "default/b", "default/of-a", "default/of-b"];
        assert_eq!(world.maps().await, all);

        let bad = json!({"metadata": {"labels": {"source": null}}, "data": {"x": "two"}});
        world.cluster.patch::<ConfigMap>("a", bad).await.unwrap();
        world.cluster.settle().await;
        world.touch("web").await;
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert_eq!(world.maps().await, all, "{}", reads as u8);

        // No event leads to the owner.
        let good = json!({"data": {"x": "1"}});
        world.cluster.patch::<ConfigMap>("a", good).await.unwrap();
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert_eq!(
            world.maps().await,
            ["default/a", "default/b", "default/of-b"]
        );
    }
}
