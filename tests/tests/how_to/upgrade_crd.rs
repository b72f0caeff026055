//! A new version of a definition, with objects that are stored already.

use pilothouse::{
    crd::{CustomResourceDefinition, breaking_changes},
    prelude::*,
};

struct Old;
struct New;
struct Broken;

/// The same kind in three states of the program.
mod old {
    use pilothouse::prelude::*;

    #[derive(Resource, Clone, Debug)]
    #[resource(group = "book.pilothouse.dev", version = "v1", namespaced)]
    pub(super) struct Shop {
        pub(super) metadata: ObjectMeta,
        pub(super) spec: ShopSpec,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    pub(super) struct ShopSpec {
        pub(super) title: String,
    }
}

mod new {
    use pilothouse::prelude::*;

    #[derive(Resource, Clone, Debug)]
    #[resource(group = "book.pilothouse.dev", version = "v1", namespaced)]
    pub(super) struct Shop {
        pub(super) metadata: ObjectMeta,
        pub(super) spec: ShopSpec,
    }

    // ANCHOR: new
    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    pub(super) struct ShopSpec {
        pub(super) title: String,
        /// New, and with a default: objects that are stored already are still valid.
        #[serde(default = "euro")]
        pub(super) currency: String,
    }

    fn euro() -> String {
        "EUR".into()
    }
    // ANCHOR_END: new
}

mod broken {
    use pilothouse::prelude::*;

    #[derive(Resource, Clone, Debug)]
    #[resource(group = "book.pilothouse.dev", version = "v1", namespaced)]
    pub(super) struct Shop {
        pub(super) metadata: ObjectMeta,
        pub(super) spec: ShopSpec,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    pub(super) struct ShopSpec {
        #[schema(max_length = 10)]
        pub(super) title: String,
        pub(super) currency: String,
    }
}

macro_rules! reconciler {
    ($name:ident, $kind:ty) => {
        impl Reconciler for $name {
            type Resource = $kind;

            async fn reconcile(&self, _: Arc<$kind>, _: &Context<$kind>) -> Result<Action> {
                Ok(Action::wait())
            }
        }
    };
}

reconciler!(Old, old::Shop);
reconciler!(New, new::Shop);
reconciler!(Broken, broken::Shop);

fn definitions(operator: &Operator) -> Vec<CustomResourceDefinition> {
    operator.definitions().unwrap()
}

// ANCHOR: recipe
/// What stored objects and clients lose with the new definitions.
fn problems(committed: &[CustomResourceDefinition], operator: &Operator) -> Result<Vec<String>> {
    let present = operator.definitions()?;
    let changes = breaking_changes(committed, &present);
    let lines = changes.iter().map(|change| {
        let (place, problem, fix) = (&change.place, &change.problem, change.fix);
        format!("{place}: {problem}: {fix}")
    });
    Ok(lines.collect())
}
// ANCHOR_END: recipe

#[test]
fn a_field_with_a_default_breaks_nothing_and_a_stricter_bound_does() {
    let committed = definitions(&Operator::new("shops").controller(Old));
    let new = Operator::new("shops").controller(New);
    assert_eq!(problems(&committed, &new).unwrap(), [""; 0]);
    let broken = Operator::new("shops").controller(Broken);
    let found = problems(&committed, &broken).unwrap();
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found.iter().any(|one| one.contains("currency")),
        "{found:#?}"
    );
    assert!(found.iter().any(|one| one.contains("title")), "{found:#?}");
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_old_definition_gets_the_default_of_the_new_one() {
    use pilothouse::testing::Cluster;

    let cluster = Cluster::start().unwrap();
    let old = Operator::new("shops").controller(Old);
    cluster.run(old).await.unwrap().stop().await;
    let shop = old::Shop {
        metadata: ObjectMeta {
            name: Some("a".into()),
            ..Default::default()
        },
        spec: old::ShopSpec {
            title: "A shop".into(),
        },
    };
    cluster.create(&shop).await.unwrap();

    let new = Operator::new("shops").controller(New);
    let running = cluster.run(new).await.unwrap();
    let shop = cluster.get::<new::Shop>("a").await.unwrap().unwrap();
    assert_eq!(shop.spec.title, "A shop");
    assert_eq!(shop.spec.currency, "EUR");
    running.stop().await;
}
