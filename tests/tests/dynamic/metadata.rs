//! Controllers that reconcile only the metadata of their kind.

use parking_lot::Mutex;
use pilothouse::resource::PartialObject;

use super::*;

/// A reconciler that keeps a ConfigMap with the name in the annotation `note`, and notes what its calls say.
macro_rules! notes {
    ($name:ident, $resource:ty) => {
        #[derive(Clone, Default)]
        struct $name(Arc<Mutex<Vec<String>>>);

        impl Reconciler for $name {
            type Resource = $resource;

            fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
                controller
                    .owns::<ConfigMap>()
                    .prunes::<ConfigMap>()
                    .finalizer("media.example.com/notes")
            }

            async fn reconcile(
                &self,
                object: Arc<$resource>,
                cx: &Context<$resource>,
            ) -> Result<Action> {
                self.0.lock().push(format!("reconcile {}", object.name()));
                if let Some(note) = object.annotation("note") {
                    cx.apply(ConfigMap::named(note)).await?;
                }
                cx.event(NewEvent::normal("Noted", "Note"));
                Ok(Action::wait())
            }
        }

        impl Cleanup for $name {
            async fn cleanup(&self, object: Arc<$resource>, _: &Context<$resource>) -> Result {
                self.0.lock().push(format!("clean up {}", object.name()));
                Ok(Action::wait())
            }
        }
    };
}

notes!(DeploymentNotes, PartialObject<Deployment>);
notes!(AlbumNotes, PartialObject);

/// Follows an object of `kind` from its creation to its deletion.
async fn follow(cluster: &Cluster, kind: &ApiResource, spec: Value, calls: &Mutex<Vec<String>>) {
    create(cluster, kind, "a", spec).await;
    let note = |name: &str| json!({"metadata": {"annotations": {"note": name}}});
    change(cluster, kind, "a", note("one")).await;
    assert_eq!(maps(cluster).await, ["one"]);
    change(cluster, kind, "a", note("two")).await;
    assert_eq!(maps(cluster).await, ["two"]);
    let object = read(cluster, kind, "a").await.unwrap();
    let finalizers = object.metadata.finalizers.as_deref();
    assert_eq!(finalizers, Some(&["media.example.com/notes".into()][..]));
    let events = events(cluster).await;
    let noted = format!("{} {} a Noted", kind.api_version(), kind.kind);
    assert!(events.contains(&noted), "{events:?}");

    delete(cluster, kind, "a").await;
    assert!(read(cluster, kind, "a").await.is_none());
    cluster.settle().await;
    assert!(maps(cluster).await.is_empty());
    let mut calls = calls.lock().clone();
    calls.dedup();
    assert_eq!(calls, ["reconcile a", "clean up a"]);
}

#[tokio::test(start_paused = true)]
async fn the_metadata_of_a_kind_with_a_rust_type_is_reconciled() {
    let cluster = start();
    let notes = DeploymentNotes::default();
    let operator = Operator::new("notes").controller(notes.clone());
    let running = cluster.run(operator).await.unwrap();
    let spec = json!({
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        },
    });
    follow(&cluster, &ApiResource::of::<Deployment>(), spec, &notes.0).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_metadata_of_a_dynamic_kind_is_reconciled() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let notes = AlbumNotes::default();
    let operator = Operator::new("notes").dynamic_controller(albums(), notes.clone());
    let running = cluster.run(operator).await.unwrap();
    follow(&cluster, &albums(), json!({"pages": []}), &notes.0).await;
    // It may not write a status that it does not read.
    let access = running.access().to_string();
    assert!(access.contains("albums.media.example.com/finalizers"));
    assert!(!access.contains("/status"), "{access}");
    running.stop().await;
}
