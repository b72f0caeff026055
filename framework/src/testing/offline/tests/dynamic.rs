//! A reconciler of a kind that is known only at run time.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::block_on;
use crate::{
    controller::{Action, Child, Cleanup, Context, Controller, Owned, Reconciler, Result},
    events::NewEvent,
    resource::{ApiResource, DynamicObject, Object, Status},
    testing::Offline,
};

fn kind(name: &'static str, plural: &'static str, namespaced: bool) -> ApiResource {
    ApiResource {
        group: "example.dev".into(),
        version: "v1".into(),
        kind: name.into(),
        plural: plural.into(),
        namespaced,
    }
}

fn widgets() -> ApiResource {
    kind("Widget", "widgets", true)
}

fn parts() -> ApiResource {
    kind("Part", "parts", true)
}

/// Keeps a ConfigMap and a Part for each widget.
struct Assembler;

impl Reconciler for Assembler {
    type Resource = DynamicObject;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller.owns::<ConfigMap>();
        controller
            .watch(Owned::<DynamicObject>::dynamic(parts()))
            .finalizer("example.dev/assembler")
    }

    async fn reconcile(&self, widget: Arc<DynamicObject>, cx: &Context<DynamicObject>) -> Result {
        assert_eq!(widget.types.kind, "Widget");
        cx.apply(ConfigMap::named(widget.name())).await?;
        let part = DynamicObject::new(&parts(), widget.name());
        cx.apply_child(Child::dynamic(&parts(), part)).await?;
        cx.update_status(json!({"size": widget.field::<i32>("size")?}))
            .await?;
        Ok(Action::wait())
    }
}

impl Cleanup for Assembler {
    async fn cleanup(&self, _: Arc<DynamicObject>, cx: &Context<DynamicObject>) -> Result {
        cx.event(NewEvent::normal("Taken", "Disassemble"));
        Ok(Action::wait())
    }
}

fn widget(size: serde_json::Value) -> DynamicObject {
    let mut widget = DynamicObject::new(&widgets(), "a");
    widget.types = Default::default();
    widget.data.insert("size".into(), size);
    widget
}

#[test]
fn a_dynamic_kind_is_seeded_reconciled_read_and_deleted() {
    let offline = Offline::dynamic(widgets(), Assembler);
    let seeded = offline.seed_of(&widgets(), widget(json!(3)));
    assert_eq!(seeded.namespace(), Some("default"));
    offline.fail_next_of(&parts(), "apply", Status::from_code(503, "not now"));
    let failure = block_on(offline.reconcile("a")).unwrap_err();
    let expected = "apply Part default/a: service unavailable: not now";
    assert_eq!(failure.to_string(), expected);

    let _ = block_on(offline.reconcile("a")).unwrap();
    let kept = offline.get_of::<DynamicObject>(&widgets(), "a").unwrap();
    assert_eq!(kept.data["status"], json!({"size": 3}));
    let finalizers = kept.metadata.finalizers.unwrap();
    assert_eq!(finalizers, ["example.dev/assembler"]);
    let written = offline.written_of::<DynamicObject>(&parts());
    let owner = &written[0].metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((&*owner.kind, Some(&*owner.uid)), ("Widget", seeded.uid()));
    assert_eq!(offline.written::<ConfigMap>()[0].name(), "a");

    offline.restart();
    offline.forget_writes();
    let _ = block_on(offline.reconcile("a")).unwrap();
    assert_eq!(offline.writes(), []);

    assert!(offline.delete_of(&widgets(), "a"));
    let _ = block_on(offline.reconcile("a")).unwrap();
    assert!(offline.get_of::<DynamicObject>(&widgets(), "a").is_none());
    let event = offline.events().pop().unwrap();
    let regarding = event.regarding.unwrap();
    assert_eq!(regarding.kind.as_deref(), Some("Widget"));
    assert_eq!(regarding.uid.as_deref(), seeded.uid());
    assert_eq!(event.reason.as_deref(), Some("Taken"));
    let missing = block_on(offline.reconcile("a")).unwrap_err().to_string();
    let expected = "reconcile Widget default/a: no such object: add it with `seed` first";
    assert_eq!(missing, expected);
}

#[test]
fn a_field_that_does_not_fit_is_a_failure_that_names_its_path() {
    let offline = Offline::dynamic(widgets(), Assembler);
    offline.seed_of(&widgets(), widget(json!("large")));
    let failure = block_on(offline.reconcile("a")).unwrap_err().to_string();
    let expected = "read Widget default/a: size: expected i32, found a string";
    assert_eq!(failure, expected);
}

#[test]
fn an_object_of_a_cluster_scoped_dynamic_kind_has_no_namespace() {
    let regions = kind("Region", "regions", false);
    let offline = Offline::dynamic(regions.clone(), Assembler);
    let region = DynamicObject::new(&regions, "north");
    let seeded = offline.seed_of(&regions, region);
    assert_eq!(seeded.namespace(), None);
    assert_eq!(offline.context("north").key().as_str(), "north");
}
