//! The smallest operator: one custom resource, one owned ConfigMap.
use std::{process::ExitCode, sync::Arc};

use pilothouse::{k8s::api::core::v1::ConfigMap, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
struct Note {
    metadata: ObjectMeta,
    spec: NoteSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct NoteSpec {
    text: String,
}

struct Notes;

impl Reconciler for Notes {
    type Resource = Note;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, note: Arc<Note>, cx: &Context<Note>) -> Result<Action> {
        let mut page = ConfigMap::default();
        page.metadata.name = Some(note.name().to_owned());
        page.data = Some([("text".to_owned(), note.spec.text.clone())].into());
        cx.apply(page).await?;
        Ok(Action::wait())
    }
}

fn main() -> ExitCode {
    Operator::new("notes").controller(Notes).main()
}
