//! The writes after a restart of the program.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret},
};
use parking_lot::Mutex;

use super::{Offline, block_on};
use crate::{
    controller::{APPLIED_ANNOTATION, Action, Context, Controller, Reconciler, Result},
    resource::{Object, PartialObject},
};

/// Applies these ConfigMaps for each Deployment.
#[derive(Default)]
struct Notes {
    wanted: Mutex<Vec<ConfigMap>>,
    /// Whether each is deleted first.
    deletes: bool,
}

impl Reconciler for Notes {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller.owns::<ConfigMap>();
        controller.deletes::<ConfigMap>()
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let wanted = self.wanted.lock().clone();
        for map in wanted {
            if self.deletes
                && let Some(present) = cx.get::<ConfigMap>(map.name())?
            {
                cx.delete(&*present).await?;
            }
            cx.apply(map).await?;
        }
        Ok(Action::wait())
    }
}

fn map(data: &[(&str, &str)]) -> ConfigMap {
    let mut map = ConfigMap::named("note");
    let data = data.iter();
    map.data = Some(
        data.map(|(key, value)| ((*key).into(), (*value).into()))
            .collect(),
    );
    map
}

fn offline(notes: Notes) -> Offline<Notes> {
    let offline = Offline::new(notes);
    offline.seed(Deployment::named("web"));
    offline
}

fn noted(data: &[(&str, &str)]) -> Offline<Notes> {
    let offline = offline(Notes::default());
    wants(&offline, map(data));
    assert_eq!(restarted(&offline), ["apply"]);
    offline
}

fn wants(offline: &Offline<Notes>, map: ConfigMap) {
    *offline.reconciler().wanted.lock() = vec![map];
}

/// The writes of the first reconcile of a new process.
fn restarted<R: Reconciler>(offline: &Offline<R>) -> Vec<&'static str> {
    offline.restart();
    offline.forget_writes();
    let _ = block_on(offline.reconcile("web")).unwrap();
    offline.writes().iter().map(|sent| sent.verb).collect()
}

fn change(offline: &Offline<Notes>, change: impl FnOnce(&mut ConfigMap)) {
    let mut note = offline.get::<ConfigMap>("note").unwrap();
    change(&mut note);
    offline.seed(note);
}

#[test]
fn a_restart_with_nothing_changed_sends_nothing() {
    let offline = noted(&[("a", "1"), ("b", "2")]);
    let none: [&str; 0] = [];
    assert_eq!(restarted(&offline), none);
    change(&offline, |note| {
        let labels = note.metadata.labels.get_or_insert_default();
        labels.insert("theirs".into(), "1".into());
    });
    assert_eq!(restarted(&offline), none);
}

#[test]
fn a_restart_repairs_what_others_changed() {
    let offline = noted(&[("a", "1")]);
    change(&offline, |note| note.data = map(&[("a", "2")]).data);
    assert_eq!(restarted(&offline), ["apply"]);
    let note = offline.get::<ConfigMap>("note").unwrap();
    assert_eq!(note.data, map(&[("a", "1")]).data);
    change(&offline, |note| note.metadata.owner_references = None);
    assert_eq!(restarted(&offline), ["apply"]);
    let note = offline.get::<ConfigMap>("note").unwrap();
    assert_eq!(note.metadata.owner_references.map(|all| all.len()), Some(1));
}

#[test]
fn a_restart_removes_a_field_that_the_program_does_not_write_any_more() {
    let offline = noted(&[("a", "1"), ("b", "2")]);
    wants(&offline, map(&[("a", "1")]));
    assert_eq!(restarted(&offline), ["apply"]);
    let note = offline.get::<ConfigMap>("note").unwrap();
    assert_eq!(note.data, map(&[("a", "1")]).data);
    assert!(restarted(&offline).is_empty());
}

#[test]
fn a_missing_or_wrong_annotation_leads_to_one_apply() {
    let offline = noted(&[("a", "1")]);
    let before = offline.get::<ConfigMap>("note").unwrap();
    let mark = before.annotation(APPLIED_ANNOTATION).unwrap().to_owned();
    for value in [None, Some("forged")] {
        change(&offline, |note| {
            let annotations = note.metadata.annotations.get_or_insert_default();
            annotations.remove(APPLIED_ANNOTATION);
            annotations.extend(value.map(|value| (APPLIED_ANNOTATION.into(), value.into())));
        });
        assert_eq!(restarted(&offline), ["apply"], "{value:?}");
        assert!(restarted(&offline).is_empty());
        let note = offline.get::<ConfigMap>("note").unwrap();
        assert_eq!(note.annotation(APPLIED_ANNOTATION), Some(&*mark));
    }
    // A copy of an object with an annotation gets its own annotation.
    let mut copy = map(&[("a", "1")]);
    copy.metadata.annotations = Some([(APPLIED_ANNOTATION.into(), "copied".into())].into());
    wants(&offline, copy);
    let _ = restarted(&offline);
    let note = offline.get::<ConfigMap>("note").unwrap();
    assert_ne!(note.annotation(APPLIED_ANNOTATION), Some("copied"));
    assert!(restarted(&offline).is_empty());
    // Without the copied annotation it is the same child.
    wants(&offline, map(&[("a", "1")]));
    assert!(restarted(&offline).is_empty());
}

#[test]
fn no_annotation_is_written_if_the_child_has_no_room_for_it() {
    let offline = offline(Notes::default());
    let mut large = map(&[("a", "1")]);
    large.metadata.annotations = Some([("large".into(), "x".repeat((256 << 10) - 10))].into());
    wants(&offline, large);
    assert_eq!(restarted(&offline), ["apply"]);
    let note = offline.get::<ConfigMap>("note").unwrap();
    assert_eq!(note.annotation(APPLIED_ANNOTATION), None);
    assert_eq!(restarted(&offline), ["apply"]);
}

#[test]
fn a_child_that_the_same_run_deleted_is_applied() {
    let offline = offline(Notes {
        deletes: true,
        ..Notes::default()
    });
    wants(&offline, map(&[("a", "1")]));
    assert_eq!(restarted(&offline), ["apply"]);
    let before = offline.get::<ConfigMap>("note").unwrap();
    assert_eq!(restarted(&offline), ["delete", "apply"]);
    let after = offline.get::<ConfigMap>("note").unwrap();
    assert_ne!(before.uid(), after.uid());
}

#[test]
fn a_child_that_the_same_run_changed_is_applied() {
    let offline = noted(&[("a", "1")]);
    offline.restart();
    offline.forget_writes();
    let cx = offline.context("web");
    block_on(cx.apply(map(&[("a", "2")]))).unwrap();
    block_on(cx.apply(map(&[("a", "1")]))).unwrap();
    assert_eq!(offline.writes().len(), 2);
    let note = offline.get::<ConfigMap>("note").unwrap();
    assert_eq!(note.data, map(&[("a", "1")]).data);
}

#[test]
fn a_change_of_other_fields_needs_no_apply() {
    let offline = noted(&[("a", "1")]);
    change(&offline, |note| {
        let labels = note.metadata.labels.get_or_insert_default();
        labels.insert("theirs".into(), "1".into());
    });
    offline.forget_writes();
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert!(offline.writes().is_empty());
    change(&offline, |note| note.data = None);
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert_eq!(offline.writes().len(), 1);
}

/// Caches only the metadata of the Secrets that it owns.
struct Blind;

impl Reconciler for Blind {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<PartialObject<Secret>>()
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        cx.apply(Secret::named(web.name())).await?;
        Ok(Action::wait())
    }
}

#[test]
fn a_child_whose_metadata_alone_is_cached_is_applied_once_after_a_restart() {
    let offline = Offline::new(Blind);
    offline.seed(Deployment::named("web"));
    assert_eq!(restarted(&offline), ["apply"]);
    assert_eq!(restarted(&offline), ["apply"]);
    offline.forget_writes();
    let _ = block_on(offline.reconcile("web")).unwrap();
    assert!(offline.writes().is_empty());
}
