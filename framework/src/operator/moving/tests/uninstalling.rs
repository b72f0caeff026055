use std::time::Duration;

use pilothouse_sandbox::RequestMatcher;
use serde_json::json;

use super::world::{FINALIZER, Note, World, notes};
use crate::{
    admission::AdmissionRule,
    client::{Api, DeleteParams, Patch, PatchParams},
    operator::{Operator, moving::uninstall::Consent},
    webhook::{Admission, Change, Denied, Validate, Warnings},
};
use k8s_openapi::{
    api::admissionregistration::v1::ValidatingWebhookConfiguration,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};

const OTHER: &str = "example.com/other";

fn namespace(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A namespace that `manifests` has printed.
fn own_namespace() -> serde_json::Value {
    let mut namespace = namespace("notes-system");
    namespace["metadata"]["labels"] =
        json!({"app.kubernetes.io/name": "notes", "app.kubernetes.io/component": "operator"});
    namespace
}

fn deployment(replicas: i32) -> serde_json::Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "notes", "namespace": "notes-system"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "notes"}},
            "template": {
                "metadata": {"labels": {"app": "notes"}},
                "spec": {"containers": [{"name": "operator", "image": "notes"}]},
            },
        },
    })
}

#[tokio::test(start_paused = true)]
async fn uninstall_removes_only_the_finalizers_of_the_operator() {
    let world = World::start().await;
    world
        .note("kept", &["example.com/first", FINALIZER, OTHER])
        .await;
    world.note("deleted", &[FINALIZER]).await;
    world.note("foreign", &[OTHER]).await;
    world.delete("deleted").await;
    let printed = world.command("uninstall --yes").await.printed();
    assert_eq!(world.finalizers("kept").await, ["example.com/first", OTHER]);
    assert_eq!(world.finalizers("foreign").await, [OTHER]);
    assert!(world.notes().get_opt("deleted").await.unwrap().is_none());
    let table = "\
KIND                    OBJECT           FINALIZERS
notes.demo.example.com  default/deleted  example.com/note
notes.demo.example.com  default/kept     example.com/note
";
    assert!(printed.starts_with(table), "{printed}");
    assert!(printed.contains("Changed objects: 2"), "{printed}");
    let again = world.command("uninstall").await.printed();
    assert!(
        again.starts_with("No object has a finalizer of notes.\n"),
        "{again}"
    );
}

#[tokio::test(start_paused = true)]
async fn uninstall_removes_nothing_without_consent() {
    let world = World::start().await;
    world.note("a", &[FINALIZER]).await;
    let error = world.command("uninstall").await.error();
    assert_eq!(
        error,
        "nothing was removed: `notes uninstall --yes` removes the finalizers, with the other flags of this command"
    );
    let answer = |text: &'static str| Consent::Asked(Box::new(move || Ok(text.to_owned())));
    world.command_with("uninstall", answer("y\n")).await.error();
    assert_eq!(world.finalizers("a").await, [FINALIZER]);
    let agreed = world.command_with("uninstall", answer("yes\n")).await;
    let printed = agreed.printed();
    assert!(
        printed.contains("Remove these finalizers? Type `yes`:"),
        "{printed}"
    );
    assert!(world.finalizers("a").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn uninstall_is_limited_to_the_given_namespaces() {
    let world = World::start().await;
    world.note("a", &[FINALIZER]).await;
    let printed = world
        .command("uninstall --yes --namespace elsewhere")
        .await
        .printed();
    let expected = "note: there is no namespace elsewhere\nNo object in the namespace elsewhere has a finalizer of notes.\n";
    assert!(printed.starts_with(expected), "{printed}");
    assert_eq!(world.finalizers("a").await, [FINALIZER]);
}

#[tokio::test(start_paused = true)]
async fn a_definition_stays_while_objects_in_other_namespaces_have_the_finalizer() {
    let world = World::start().await;
    world.create(namespace("shop")).await;
    world.note("a", &[FINALIZER]).await;
    let definition =
        "kubectl delete customresourcedefinitions.apiextensions.k8s.io notes.demo.example.com\n";
    let stays = "The definition notes.demo.example.com stays: objects in other namespaces have a finalizer of notes, which keeps them from being \
                 deleted. `notes uninstall --namespace default` removes it\n";
    let printed = world
        .command("uninstall --yes --namespace shop")
        .await
        .printed();
    assert!(printed.ends_with(stays), "{printed}");
    assert!(!printed.contains(definition), "{printed}");
    // Now nothing keeps any object.
    let line = "uninstall --yes --namespace default";
    let printed = world.command(line).await.printed();
    assert!(printed.ends_with(definition), "{printed}");
    assert!(!printed.contains("note: "), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn uninstall_is_refused_while_the_operator_runs() {
    let world = World::start().await;
    world.note("a", &[FINALIZER]).await;
    world.create(namespace("notes-system")).await;
    world.create(deployment(2)).await;
    let error = world.command("uninstall --yes").await.error();
    assert_eq!(
        error,
        "the Deployment notes-system/notes has pods: they would add the finalizers again: stop them with `kubectl scale deployment \
         notes --namespace notes-system --replicas 0`, or use --force"
    );
    assert_eq!(world.finalizers("a").await, [FINALIZER]);
    world.command("uninstall --yes --force").await.printed();
    assert!(world.finalizers("a").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn uninstall_is_refused_while_a_process_renews_the_lease() {
    let world = World::start().await;
    world.note("a", &[FINALIZER]).await;
    for (flags, namespace, name) in [
        ("", "default", "notes"),
        ("--operator-namespace ops", "ops", "notes"),
        ("--lease-namespace ops --lease-name other", "ops", "other"),
    ] {
        if namespace == "ops" {
            // The namespace may exist already.
            let api =
                crate::client::Api::<k8s_openapi::api::core::v1::Namespace>::all(&world.client);
            if api.get_opt("ops").await.unwrap().is_none() {
                world.create(self::namespace("ops")).await;
            }
        }
        let refused = world
            .while_renewed(namespace, name, &format!("uninstall --yes {flags}"))
            .await;
        assert_eq!(
            refused.error(),
            format!(
                "pod-1 holds the Lease {namespace}/{name}: it would add the finalizers again: stop the operator, or use --force"
            )
        );
        world.lease(namespace, name, "", Duration::ZERO).await;
    }
    assert_eq!(world.finalizers("a").await, [FINALIZER]);
    world.command("uninstall --yes").await.printed();
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_looks_expired_is_watched_before_it_counts_as_free() {
    let world = World::start().await;
    world.note("a", &[FINALIZER]).await;
    let hour = Duration::from_secs(3600);
    world.lease("default", "notes", "pod-1", hour).await;
    // The clock of this machine is an hour ahead, and the holder renews.
    let renewal = async {
        tokio::time::sleep(Duration::from_secs(8)).await;
        let ago = hour - Duration::from_secs(8);
        world.lease("default", "notes", "pod-1", ago).await;
    };
    let (outcome, ()) = tokio::join!(world.command("uninstall --yes"), renewal);
    let error = outcome.error();
    assert!(
        error.starts_with("pod-1 holds the Lease default/notes: "),
        "{error}"
    );
    let printed = world.command("uninstall --yes").await.printed();
    assert!(
        printed.contains("pod-1 has not released the Lease default/notes: watching for 15s"),
        "{printed}"
    );
    assert!(world.finalizers("a").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_resolved_on_the_newest_object_and_new_objects_are_found() {
    let world = World::start().await;
    world.note("a", &[FINALIZER, OTHER]).await;
    let patch = RequestMatcher::any().verb("patch").user_agent("command");
    let faults = world.sandbox.faults();
    faults.delay_requests(patch, Duration::from_secs(5), 1);
    let others = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let finalizers =
            json!({"metadata": {"finalizers": [OTHER, FINALIZER, "example.com/third"]}});
        world
            .update(&world.notes(), "a", "someone", finalizers)
            .await;
        world.note("late", &[FINALIZER]).await;
    };
    let (outcome, ()) = tokio::join!(world.command("uninstall --yes"), others);
    let printed = outcome.printed();
    assert_eq!(world.finalizers("a").await, [OTHER, "example.com/third"]);
    assert!(world.finalizers("late").await.is_empty());
    assert!(printed.contains("Changed objects: 2"), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_installed_is_skipped() {
    let world = World::empty();
    let printed = world.command("uninstall").await.printed();
    assert_eq!(
        printed,
        "The cluster does not serve notes.demo.example.com/v1: skipped.\nNo object has a finalizer of notes.\nNothing else of the \
         operator is left.\n"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_list_names_the_verb_and_the_resource() {
    let world = World::start().await;
    let list = RequestMatcher::any().verb("list").user_agent("command");
    let forbidden = pilothouse_sandbox::Answer::status(403, "Forbidden");
    world.sandbox.faults().answer(list, forbidden, 1);
    let error = world.command("uninstall --yes").await.error();
    assert!(
        error.starts_with("list notes.demo.example.com in all namespaces: "),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_changed_does_not_keep_the_others_from_being_changed() {
    let world = World::start().await;
    world.note("a", &[FINALIZER]).await;
    world.note("b", &[FINALIZER]).await;
    let patch = RequestMatcher::any()
        .verb("patch")
        .name("a")
        .user_agent("command");
    let refused = pilothouse_sandbox::Answer::status(422, "Invalid");
    world.sandbox.faults().answer(patch, refused, 1);
    let error = world.command("uninstall --yes").await.error();
    assert!(
        error.starts_with(
            "not all objects could be changed:\n  Note default/a: patch Note default/a: "
        ),
        "{error}"
    );
    assert_eq!(world.finalizers("a").await, [FINALIZER]);
    assert!(world.finalizers("b").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn uninstall_prints_the_commands_that_remove_what_is_left() {
    let world = World::start().await;
    world.create(own_namespace()).await;
    world.create(deployment(0)).await;
    world
        .lease("notes-system", "notes", "", Duration::ZERO)
        .await;
    for object in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "notes", "namespace": "notes-system"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "notes"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "notes-view"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "unrelated"}}),
    ] {
        world.create(object).await;
    }
    let printed = world.command("uninstall --context blue").await.printed();
    let expected = "
These commands remove the rest, in this order:

kubectl --context blue delete deployments.apps notes --namespace notes-system
kubectl --context blue delete clusterroles.rbac.authorization.k8s.io notes-view notes
kubectl --context blue delete serviceaccounts notes --namespace notes-system
kubectl --context blue delete leases.coordination.k8s.io notes --namespace notes-system
# This deletes everything in the namespace.
kubectl --context blue delete namespaces notes-system
# Deleting a definition deletes all objects of its kind.
kubectl --context blue delete customresourcedefinitions.apiextensions.k8s.io notes.demo.example.com
";
    let rest = printed.strip_prefix("No object has a finalizer of notes.\n");
    assert_eq!(rest, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn uninstall_does_not_delete_a_namespace_that_others_use() {
    let world = World::start().await;
    world.create(namespace("prod")).await;
    let printed = world
        .command("uninstall --operator-namespace prod")
        .await
        .printed();
    let reason = "The namespace prod stays: it does not have the labels that `manifests` gives to the namespace of notes, so something else made it.";
    assert!(printed.contains(reason), "{printed}");
    assert!(!printed.contains("delete namespaces"), "{printed}");

    world.create(own_namespace()).await;
    world.create(deployment(0)).await;
    let printed = world.command("uninstall").await.printed();
    assert!(
        printed.contains("delete namespaces notes-system\n"),
        "{printed}"
    );
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "notes-system"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    world.create(claim).await;
    let printed = world.command("uninstall").await.printed();
    let reason = "The namespace notes-system stays: the PersistentVolumeClaim data is in it.";
    assert!(printed.contains(reason), "{printed}");
    assert!(!printed.contains("delete namespaces"), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn uninstall_finds_roles_of_flags_that_it_does_not_know() {
    let world = World::start().await;
    world.create(namespace("blue")).await;
    let labels =
        json!({"app.kubernetes.io/name": "notes", "app.kubernetes.io/component": "operator"});
    let group = "rbac.authorization.k8s.io/v1";
    let reference =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "notes"});
    for object in [
        json!({"apiVersion": group, "kind": "Role", "metadata": {"name": "notes", "namespace": "blue", "labels": &labels}}),
        json!({"apiVersion": group, "kind": "RoleBinding", "metadata": {"name": "notes", "namespace": "blue", "labels": &labels}, "roleRef": reference}),
        json!({"apiVersion": group, "kind": "ClusterRole", "metadata": {"name": "notes-debug-reader", "labels": &labels}}),
        // Somebody has copied the labels.
        json!({"apiVersion": group, "kind": "ClusterRole", "metadata": {"name": "others", "labels": &labels}}),
    ] {
        world.create(object).await;
    }
    let printed = world.command("uninstall").await.printed();
    for expected in [
        "delete roles.rbac.authorization.k8s.io notes --namespace blue\n",
        "delete rolebindings.rbac.authorization.k8s.io notes --namespace blue\n",
        "delete clusterroles.rbac.authorization.k8s.io notes-debug-reader\n",
    ] {
        assert!(printed.contains(expected), "{expected} is not in {printed}");
    }
    assert!(!printed.contains("others"), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn uninstall_finds_admission_rules_also_those_of_another_version() {
    let mut world = World::start().await;
    world.operator = || {
        let rule = AdmissionRule::on::<Note>("text").check("object.spec.text != ''", "empty");
        notes().admission_rule(rule)
    };
    (world.operator)().install(&world.client).await.unwrap();
    let older = AdmissionRule::on::<Note>("older").apply("Object{}");
    let older = Operator::new("notes").admission_rule(older);
    older
        .policies()
        .unwrap()
        .apply(&world.client)
        .await
        .unwrap();
    // It is another operator's.
    let other = AdmissionRule::on::<Note>("text").check("true", "x");
    let other = Operator::new("note").admission_rule(other);
    other
        .policies()
        .unwrap()
        .apply(&world.client)
        .await
        .unwrap();
    world.note("a", &[FINALIZER]).await;
    // Unlike webhooks they need no operator.
    let printed = world.command("uninstall --yes").await.printed();
    assert!(world.finalizers("a").await.is_empty());
    for expected in [
        "delete validatingadmissionpolicybindings.admissionregistration.k8s.io notes.text\n",
        "delete validatingadmissionpolicies.admissionregistration.k8s.io notes.text\n",
        "delete mutatingadmissionpolicybindings.admissionregistration.k8s.io notes.older\n",
        "delete mutatingadmissionpolicies.admissionregistration.k8s.io notes.older\n",
    ] {
        assert!(printed.contains(expected), "{expected} is not in {printed}");
    }
    assert!(!printed.contains("note.text"), "{printed}");
}

/// Changes the versions of the definition of notes.
async fn serve(world: &World, versions: serde_json::Value) {
    let definitions = Api::<CustomResourceDefinition>::all(&world.client);
    let change = json!([{"op": "replace", "path": "/spec/versions", "value": versions}]);
    let change = Patch::Json(serde_json::from_value(change).unwrap());
    let name = "notes.demo.example.com";
    let params = PatchParams::default();
    definitions.patch(name, &params, &change).await.unwrap();
}

fn version(name: &str, is_stored: bool, is_served: bool) -> serde_json::Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "name": name, "served": is_served, "storage": is_stored, "schema": {"openAPIV3Schema": schema},
    })
}

#[tokio::test(start_paused = true)]
async fn uninstall_finds_objects_of_a_kind_that_the_cluster_serves_in_another_version() {
    let world = World::start().await;
    world.note("a", &[FINALIZER, OTHER]).await;
    let both = json!([version("v1", false, true), version("v2", true, true)]);
    serve(&world, both).await;
    serve(
        &world,
        json!([version("v1", false, false), version("v2", true, true)]),
    )
    .await;
    let printed = world.command("uninstall --yes").await.printed();
    assert!(printed.contains("Changed objects: 1"), "{printed}");
    serve(
        &world,
        json!([version("v1", false, true), version("v2", true, true)]),
    )
    .await;
    assert_eq!(world.finalizers("a").await, [OTHER]);
}

#[tokio::test(start_paused = true)]
async fn uninstall_deletes_nothing_if_it_cannot_see_the_objects() {
    let world = World::start().await;
    world.note("a", &[FINALIZER]).await;
    serve(&world, json!([version("v1", true, false)])).await;
    let outcome = world.command("uninstall --yes").await;
    assert_eq!(outcome.printed, "");
    assert_eq!(
        outcome.error(),
        "the objects of notes.demo.example.com cannot be listed: its CustomResourceDefinition exists, but serves no version. Some of them \
         may have finalizers of the operator: serve a version of the kind, and run the command again"
    );
}

/// Allows everything, as long as it runs.
struct Anything;

impl Validate for Anything {
    type Resource = Note;

    async fn validate(&self, _: &Change<Note>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

#[tokio::test(start_paused = true)]
async fn uninstall_asks_first_to_delete_the_webhook_configurations() {
    let mut world = World::start().await;
    world.operator = || notes().validates(Anything);
    world.note("a", &[FINALIZER]).await;
    world.create(namespace("notes-system")).await;
    world.create(deployment(0)).await;
    let secret = json!({"name": "notes-webhook-certificates", "namespace": "notes-system"});
    world
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": secret}))
        .await;
    let rule = json!({
        "apiGroups": ["demo.example.com"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["notes"],
    });
    let service = json!({"name": "notes-webhook", "namespace": "notes-system"});
    let webhook = json!({
        "name": "validate.notes.demo.example.com", "rules": [rule], "clientConfig": {"service": service},
        "sideEffects": "None", "admissionReviewVersions": ["v1"],
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "notes"}, "webhooks": [webhook],
    });
    world.create(configuration).await;
    let delete =
        "kubectl delete validatingwebhookconfigurations.admissionregistration.k8s.io notes";
    let error = world.command("uninstall --yes").await.error();
    assert_eq!(
        error,
        format!(
            "the API server still calls the webhooks of the operator: without the operator they refuse changes: remove them first with \
             `{delete}`, or use --force"
        )
    );
    assert_eq!(world.finalizers("a").await, [FINALIZER]);
    // They do refuse it.
    world.command("uninstall --yes --force").await.error();
    assert_eq!(world.finalizers("a").await, [FINALIZER]);
    let configurations = Api::<ValidatingWebhookConfiguration>::all(&world.client);
    let configuration = configurations.get("notes").await.unwrap();
    let params = DeleteParams::default();
    configurations.delete("notes", &params).await.unwrap();
    let printed = world.command("uninstall --yes").await.printed();
    assert!(world.finalizers("a").await.is_empty());
    let secret = "kubectl delete secrets notes-webhook-certificates --namespace notes-system\n";
    assert!(printed.contains(secret), "{printed}");
    // Without finalizers there is nothing that they could refuse, but they still go first.
    let mut again = configuration;
    again.metadata.resource_version = None;
    again.metadata.uid = None;
    configurations
        .create(&Default::default(), &again)
        .await
        .unwrap();
    let printed = world.command("uninstall").await.printed();
    let (first, second) = (
        printed.find(delete),
        printed.find("delete deployments.apps"),
    );
    assert!(first.is_some() && first < second, "{printed}");
}
