//! The operator of the book's page about kinds that are known only at run time.

use pilothouse::{
    prelude::*,
    resource::{ApiResource, DynamicObject},
};
use serde_json::json;

// ANCHOR: kind
/// The reconciled kind.
pub(crate) fn albums() -> ApiResource {
    ApiResource {
        group: "media.example.com".into(),
        version: "v1".into(),
        kind: "Album".into(),
        plural: "albums".into(),
        namespaced: true,
    }
}

/// The part of the spec that the program reads.
#[derive(Deserialize)]
struct AlbumSpec {
    pages: Vec<String>,
}
// ANCHOR_END: kind

// ANCHOR: reconciler
/// Keeps a ConfigMap for each page of an album.
pub(crate) struct Publisher;

impl Reconciler for Publisher {
    type Resource = DynamicObject;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ConfigMap>()
            .prunes::<ConfigMap>()
            .finalizer("media.example.com/publisher")
            .with_ready_condition()
    }

    async fn reconcile(
        &self,
        album: Arc<DynamicObject>,
        cx: &Context<DynamicObject>,
    ) -> Result<Action> {
        let spec: AlbumSpec = album.field("spec")?;
        for page in &spec.pages {
            let name = format!("{}-{page}", album.name());
            cx.apply(ConfigMap::named(name)).await?;
        }
        cx.update_status(json!({"pages": spec.pages.len()})).await?;
        Ok(Action::wait())
    }
}

impl Cleanup for Publisher {
    async fn cleanup(&self, _: Arc<DynamicObject>, cx: &Context<DynamicObject>) -> Result<Action> {
        cx.event(NewEvent::normal("Withdrawn", "Withdraw").note("the pages are deleted"));
        Ok(Action::wait())
    }
}
// ANCHOR_END: reconciler

// ANCHOR: operator
pub(crate) fn operator() -> Operator {
    Operator::new("publisher").dynamic_controller(albums(), Publisher)
}
// ANCHOR_END: operator

// ANCHOR: discovered
/// The same operator, which asks the API server for the kind.
pub(crate) fn discovering_operator() -> Operator {
    use pilothouse::{client::RestMapper, operator::Setup};

    Operator::new("publisher").dynamic_controller_with(async |setup: Setup| {
        let kinds = RestMapper::new(setup.client());
        let found = kinds.find("albums.media.example.com").await?;
        Ok((found.resource.clone(), Publisher))
    })
}
// ANCHOR_END: discovered
