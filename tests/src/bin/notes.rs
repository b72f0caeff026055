//! An operator that publishes notes in ConfigMaps, for tests of its commands `uninstall` and `adopt-from`.

use pilothouse::prelude::*;

/// A text.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Note {
    metadata: ObjectMeta,
    spec: NoteSpec,
    status: Option<NoteStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct NoteSpec {
    text: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
struct NoteStatus {
    published: Option<bool>,
    url: Option<String>,
}

struct Notes;

impl Reconciler for Notes {
    type Resource = Note;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>().finalizer("example.com/note")
    }

    async fn reconcile(&self, note: Arc<Note>, cx: &Context<Note>) -> Result<Action> {
        let page = ConfigMap {
            data: Some([("text".into(), note.spec.text.clone())].into()),
            ..ConfigMap::named(note.name())
        };
        cx.apply(page).await?;
        let published = Some(true);
        cx.update_status(NoteStatus {
            published,
            url: None,
        })
        .await?;
        Ok(Action::wait())
    }
}

impl Cleanup for Notes {}

fn main() -> ExitCode {
    Operator::new("notes").controller(Notes).main()
}
