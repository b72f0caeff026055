use std::time::Duration;

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use pilothouse_sandbox::RequestMatcher;
use serde_json::{Value, json};

use super::world::{FINALIZER, Note, World};
use crate::{
    client::{Api, Patch, PatchParams},
    controller::APPLIED_ANNOTATION,
    resource::{ApiResource, controller_reference},
};

const OLD: &str = "example.com/old";

impl World {
    /// A note and its ConfigMap, as a former operator with the field manager `manager` left them: it updated some fields, and
    /// applied others.
    async fn former(&self, name: &str, manager: &str, finalizers: &[&str]) -> Note {
        let note = self.note(name, finalizers).await;
        let page = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": [controller_reference(&note).unwrap()]},
            "data": {"text": "before"},
        });
        let params = PatchParams::apply(manager);
        let patch = Patch::Apply(page);
        self.maps().patch(name, &params, &patch).await.unwrap();
        let title = json!({"metadata": {"labels": {"tier": "web"}}, "data": {"title": "before"}});
        self.update(&self.maps(), name, manager, title).await;
        let status = Patch::Merge(json!({"status": {"url": "http://before", "published": false}}));
        let params = PatchParams::default().field_manager(manager);
        let notes = self.notes();
        notes.patch_status(name, &params, &status).await.unwrap();
        note
    }

    async fn data(&self, name: &str) -> Vec<String> {
        let map = self.maps().get(name).await.unwrap();
        map.data.unwrap_or_default().into_keys().collect()
    }

    async fn url(&self, note: &str) -> Option<String> {
        let note = self.notes().get(note).await.unwrap();
        note.status.unwrap_or_default().url
    }

    /// The managers of an object with operation and subresource.
    async fn managers(&self, name: &str) -> Vec<String> {
        let map = self.maps().with_managed_fields().get(name).await.unwrap();
        let entries = map.metadata.managed_fields.unwrap_or_default();
        entries
            .into_iter()
            .map(|entry| {
                let (manager, operation) = (entry.manager, entry.operation);
                format!("{} {}", manager.unwrap(), operation.unwrap())
            })
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_adoption_the_operator_removes_fields_that_it_does_not_want() {
    let world = World::start().await;
    world.former("adopted", "manager", &[]).await;
    world.former("control", "elsewhere", &[]).await;
    let printed = world.command("adopt-from manager --yes").await.printed();
    assert!(printed.contains("Changed objects: 2"), "{printed}");
    assert_eq!(world.managers("adopted").await, ["notes Apply"]);
    assert_eq!(world.data("adopted").await, ["text", "title"]);
    world.work().await;
    assert_eq!(world.data("adopted").await, ["text"]);
    let map = world.maps().get("adopted").await.unwrap();
    assert_eq!(map.metadata.labels, None);
    assert_eq!(world.url("adopted").await, None);
    // Without the adoption they stay.
    assert_eq!(world.data("control").await, ["text", "title"]);
    assert_eq!(world.url("control").await.as_deref(), Some("http://before"));
}

#[tokio::test(start_paused = true)]
async fn an_adoption_after_the_operator_has_worked_also_removes_the_fields() {
    let world = World::start().await;
    world.former("late", "manager", &[]).await;
    world.work().await;
    assert_eq!(world.data("late").await, ["text", "title"]);
    world.command("adopt-from manager --yes").await.printed();
    // What the operator has applied so far is not all that it owns now.
    let map = world.maps().get("late").await.unwrap();
    let annotations = map.metadata.annotations.unwrap_or_default();
    assert!(!annotations.contains_key(APPLIED_ANNOTATION));
    world.work().await;
    assert_eq!(world.data("late").await, ["text"]);
}

#[tokio::test(start_paused = true)]
async fn without_yes_an_adoption_is_only_shown_and_a_second_one_has_nothing_to_do() {
    let world = World::start().await;
    world.former("a", "manager", &[OLD]).await;
    let before = world.maps().with_managed_fields().get("a").await.unwrap();
    let line = "adopt-from manager --finalizer example.com/old";
    let printed = world.command(line).await.printed();
    let expected = "\
note: without `--lease NAMESPACE/NAME` this does not notice whether the former operator runs: stop it first
KIND                    OBJECT     CHANGE
configmaps              default/a  applied fields, updated fields
notes.demo.example.com  default/a  updated fields of status, finalizer example.com/old becomes example.com/note

Nothing was changed. With --yes the command makes these changes: the fields of `manager` become those of `notes`.
";
    assert_eq!(printed, expected);
    let after = world.maps().with_managed_fields().get("a").await.unwrap();
    assert_eq!(before, after);
    let writes = world.sandbox.requests();
    let mut writes = writes.iter().filter(|one| one.method != "GET");
    assert!(!writes.any(|one| one.user_agent.starts_with("command")));

    world.command(&format!("{line} --yes")).await.printed();
    world.sandbox.clear_requests();
    let printed = world.command(&format!("{line} --yes")).await.printed();
    assert!(
        printed.contains("Nothing to do: no object of this operator has fields of `manager`, and none has a finalizer to replace."),
        "{printed}"
    );
    assert!(
        world
            .sandbox
            .requests()
            .iter()
            .all(|one| one.method == "GET")
    );
}

#[tokio::test(start_paused = true)]
async fn finalizers_that_nothing_would_remove_are_named() {
    let world = World::start().await;
    world.note("a", &[OLD, "foregroundDeletion"]).await;
    let note = "note: objects also have the finalizers example.com/old: add `--finalizer NAME` for each that the former operator has set, \
                because nothing else removes it\n";
    let printed = world.command("adopt-from manager").await.printed();
    assert!(printed.ends_with(note), "{printed}");
    let line = "adopt-from manager --finalizer example.com/old --yes";
    let printed = world.command(line).await.printed();
    assert!(!printed.contains("also have"), "{printed}");
    // Now it is one of this operator.
    let printed = world.command("adopt-from manager").await.printed();
    assert!(!printed.contains("also have"), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn fields_that_stay_with_the_former_manager_are_not_denied() {
    let world = World::start().await;
    world.note("a", &[]).await;
    let spec = json!({"spec": {"text": "by manager"}});
    world.update(&world.notes(), "a", "manager", spec).await;
    let printed = world
        .command("adopt-from manager --namespace default,shop")
        .await;
    let printed = printed.printed();
    let expected = "note: there is no namespace shop\n\
                    Nothing to do: no object of this operator has fields of `manager` that this operator writes.\n";
    assert!(printed.contains(expected), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn nothing_but_owners_and_finalizers_of_an_object_changes() {
    let world = World::start().await;
    world.former("a", "manager", &[]).await;
    let params = PatchParams::apply("someone");
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"theirs": "x"}});
    let maps = world.maps().with_managed_fields();
    maps.patch("a", &params, &Patch::Apply(theirs))
        .await
        .unwrap();
    let mut before: ConfigMap = maps.get("a").await.unwrap();
    world.command("adopt-from manager --yes").await.printed();
    let mut after = maps.get("a").await.unwrap();
    let theirs = |map: &ConfigMap| {
        let entries = map.metadata.managed_fields.clone().unwrap_or_default();
        let theirs = entries.into_iter();
        theirs
            .filter(|one| one.manager.as_deref() == Some("someone"))
            .collect::<Vec<_>>()
    };
    assert_eq!(theirs(&before), theirs(&after));
    for map in [&mut before, &mut after] {
        map.metadata.managed_fields = None;
        map.metadata.resource_version = None;
    }
    assert_eq!(before, after);
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_is_replaced_in_its_place_by_one_write() {
    let world = World::start().await;
    world
        .note("a", &["example.com/first", OLD, "example.com/last"])
        .await;
    world.note("both", &[OLD, FINALIZER]).await;
    world.sandbox.clear_requests();
    let line = "adopt-from manager --finalizer example.com/old --yes";
    world.command(line).await.printed();
    assert_eq!(
        world.finalizers("a").await,
        ["example.com/first", FINALIZER, "example.com/last"]
    );
    assert_eq!(world.finalizers("both").await, [FINALIZER]);
    let requests = world.sandbox.requests();
    let writes = requests.iter().filter(|one| one.method != "GET");
    assert_eq!(writes.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_being_deleted_keeps_its_former_finalizer_and_is_reported() {
    let world = World::start().await;
    world.note("dying", &[OLD]).await;
    world.note("alive", &[OLD]).await;
    world.delete("dying").await;
    let line = "adopt-from manager --finalizer example.com/old --yes";
    let error = world.command(line).await.error();
    assert!(
        error.starts_with("not all objects could be changed:\n  Note default/dying: the object is being deleted, and then"),
        "{error}"
    );
    assert_eq!(world.finalizers("dying").await, [OLD]);
    assert_eq!(world.finalizers("alive").await, [FINALIZER]);
}

#[tokio::test(start_paused = true)]
async fn flags_that_do_not_fit_the_operator_are_refused() {
    let world = World::start().await;
    for (flags, expected) in [
        (
            "--finalizer example.com/note",
            "cannot adopt: example.com/note is a finalizer of this operator already: leave out `--finalizer example.com/note`",
        ),
        (
            "--finalizer example.com/old=example.com/none",
            "cannot adopt: no controller declares the finalizer example.com/none: write one of example.com/note",
        ),
        (
            "--lease old-system/gone",
            "cannot adopt: there is no Lease old-system/gone: correct `--lease NAMESPACE/NAME`, or leave it out if the former operator \
             is gone",
        ),
    ] {
        let error = world.command(&format!("adopt-from manager {flags}")).await;
        assert_eq!(error.error(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_adoption_is_refused_while_the_former_operator_renews_its_lease() {
    let world = World::start().await;
    world.former("a", "manager", &[]).await;
    let refused = world
        .while_renewed("default", "old", "adopt-from manager --lease old --yes")
        .await;
    assert_eq!(
        refused.error(),
        "pod-1 holds the Lease default/old: it would write the fields again: stop the former operator first"
    );
    assert_eq!(
        world.managers("a").await,
        ["manager Apply", "manager Update"]
    );
    world.lease("default", "old", "", Duration::ZERO).await;
    let printed = world
        .command("adopt-from manager --lease default/old --yes")
        .await
        .printed();
    assert!(printed.contains("Changed objects: 2"), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_stopped_process_did_not_release_is_free_after_its_duration() {
    let world = World::start().await;
    world.former("a", "manager", &[]).await;
    let now = Duration::ZERO;
    world.lease("default", "old", "old-pod", now).await;
    let leases = Api::<Lease>::namespaced(&world.client, "default");
    let duration = async |seconds: u64| {
        let patch = json!({"spec": {"leaseDurationSeconds": seconds}});
        world.update(&leases, "old", "test", patch).await;
    };
    let command = "adopt-from manager --lease default/old --yes";
    duration(3600).await;
    let error = world.command(command).await.error();
    assert!(error.starts_with("old-pod holds the Lease"), "{error}");
    duration(15).await;
    let printed = world.command(command).await.printed();
    assert!(
        printed.starts_with("old-pod has not released the Lease default/old: watching for 15s whether it renews it …"),
        "{printed}"
    );
    assert!(printed.contains("Changed objects: 2"), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn objects_of_others_are_left_out_unless_the_selector_matches_them() {
    let world = World::start().await;
    let labels = json!({"app": "notes"});
    for (name, labels) in [("labelled", labels), ("plain", json!({}))] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "b"}});
        let params = PatchParams::apply("manager");
        world
            .maps()
            .patch(name, &params, &Patch::Apply(map))
            .await
            .unwrap();
    }
    let printed = world.command("adopt-from manager --yes").await.printed();
    assert!(printed.contains("Nothing to do"), "{printed}");
    assert!(
        printed.contains("The field managers of these objects are manager."),
        "{printed}"
    );
    assert!(
        printed.contains("note: 2 more configmaps have fields of `manager`, but no object of this operator owns them"),
        "{printed}"
    );
    let line = "adopt-from manager --selector app=notes --yes";
    world.command(line).await.printed();
    assert_eq!(world.managers("labelled").await, ["notes Apply"]);
    assert_eq!(world.managers("plain").await, ["manager Apply"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_another_client_meanwhile_is_kept() {
    let world = World::start().await;
    world.former("a", "manager", &[]).await;
    let patch = RequestMatcher::any()
        .verb("patch")
        .resource("configmaps")
        .user_agent("command");
    let faults = world.sandbox.faults();
    faults.delay_requests(patch, Duration::from_secs(5), 1);
    let others = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let patch = json!({"data": {"meanwhile": "x"}});
        world.update(&world.maps(), "a", "someone", patch).await;
    };
    let (outcome, ()) = tokio::join!(world.command("adopt-from manager --yes"), others);
    outcome.printed();
    assert_eq!(world.managers("a").await, ["notes Apply", "someone Update"]);
    assert_eq!(world.data("a").await, ["meanwhile", "text", "title"]);
}

#[tokio::test(start_paused = true)]
async fn entries_in_several_api_versions_become_one_entry_with_the_fields_that_exist() {
    let world = World::start().await;
    world.former("a", "manager", &[]).await;
    let maps = world.maps().with_managed_fields();
    let map = maps.get("a").await.unwrap();
    let mut entries = json!(map.metadata.managed_fields);
    for entry in entries.as_array_mut().unwrap() {
        if entry["operation"] == "Update" {
            entry["apiVersion"] = "v0".into();
            entry["fieldsV1"]["f:data"]["f:renamed"] = json!({});
        }
    }
    let patch = json!({"metadata": {"managedFields": entries}});
    world.update(&world.maps(), "a", "test", patch).await;
    world.command("adopt-from manager --yes").await.printed();
    let map = maps.get("a").await.unwrap();
    let entry = json!(map.metadata.managed_fields.unwrap()[0]);
    assert_eq!(
        entry["apiVersion"],
        ApiResource::of::<ConfigMap>().api_version()
    );
    let fields: Vec<&String> = entry["fieldsV1"]["f:data"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(fields, ["f:text", "f:title"]);
    let labels: &Value = &entry["fieldsV1"]["f:metadata"]["f:labels"];
    assert!(labels.get("f:tier").is_some());
    assert_eq!(map.metadata.name.as_deref(), Some("a"));
}
