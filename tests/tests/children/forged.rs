//! Objects that look like children and are none, and children that lost what shows their owner.

use std::{sync::Arc, time::Duration};

use pilothouse::{
    client::{Body, DeleteParams, ListParams, Patch},
    controller::{Action, Context, Controller, OWNER_ANNOTATION, Reconciler, Result},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap, events::v1::Event},
    operator::Operator,
    resource::{Object, owner_reference},
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;

use crate::children::{Copies, World, deployment, orphans::child, script::Script};

fn reads(world: &World, prefix: &str) -> usize {
    let requests = world.cluster.requests();
    let reads = requests.iter().filter(|one| one.verb == "get");
    reads.filter(|one| one.name.starts_with(prefix)).count()
}

#[tokio::test(start_paused = true)]
async fn forged_marks_of_a_missing_owner_are_read_once_per_version() {
    let world = World::start(&Copies::default()).await;
    let there = world.cluster.in_namespace("team-b");
    for number in 0..40 {
        let forged = child(&format!("forged-{number}"), "ghost", "1");
        there.create(&forged).await.unwrap();
    }
    world.cluster.settle().await;
    assert_eq!(reads(&world, "forged-"), 40);
    world.cluster.forget_requests();
    for number in 0..5 {
        let change = json!({"data": {"number": number.to_string()}});
        there.patch::<ConfigMap>("forged-0", change).await.unwrap();
        world.cluster.settle().await;
    }
    assert_eq!(reads(&world, "forged-"), 5);
    world.cluster.forget_requests();
    there.delete::<ConfigMap>("forged-1").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(reads(&world, "ghost"), 0, "no child can be left");
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_reported_once_on_the_object_that_it_names() {
    let world = World::start(&Copies::default()).await;
    world.create("web").await;
    let web = world.cluster.get::<Deployment>("web").await.unwrap();
    let copy = child("copy", "web", web.unwrap().uid().unwrap());
    let there = world.cluster.in_namespace("team-b");
    there.create(&copy).await.unwrap();
    world.cluster.settle().await;
    for number in 0..3 {
        let change = json!({"data": {"number": number.to_string()}});
        there.patch::<ConfigMap>("copy", change).await.unwrap();
        world.touch("web").await;
    }
    let events = world.cluster.api::<Event>();
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let notes: Vec<_> = events
        .iter()
        .filter_map(|event| event.note.as_deref())
        .collect();
    assert_eq!(
        notes,
        [
            "ConfigMap team-b/copy has the label pilothouse.dev/owner-uid, but the field manager \"copies\" did not apply it. The \
          object is not a child and is not deleted. Remove the label from a copy"
        ]
    );
    assert_eq!(world.maps().await, ["team-b/copy"]);
}

#[tokio::test(start_paused = true)]
async fn managed_fields_that_cannot_be_read_hold_up_no_owner() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    let mut fields = json!({});
    for _ in 0..200 {
        fields = json!({ "f:deep": fields });
    }
    let mut forged = json!(child("forged", "web", "1"));
    forged["metadata"]["managedFields"] = json!([{
        "manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": fields},
    }]);
    let request = http::Request::post("/api/v1/namespaces/team-b/configmaps")
        .header("content-type", "application/json")
        .body(Body::from(forged.to_string().into_bytes()))
        .unwrap();
    world.cluster.client().send(request).await.unwrap();
    copies.take_log();
    world.touch("web").await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.until_gone::<Deployment>("web").await.unwrap();
    assert_eq!(world.maps().await, ["team-b/forged"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_makes_no_child_foreign() {
    let copies = Copies::default();
    copies.wants(&["team-b/page"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    assert_eq!(world.maps().await, ["team-b/page"]);
    // A status instead of the object, as a broken proxy may send it.
    let reads = RequestMatcher::any().verb("get").resource("configmaps");
    let faults = world.cluster.faults();
    faults.answer(reads, Answer::status(200, "Success"), 6);
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.until_gone::<Deployment>("web").await.unwrap();
    assert_eq!(world.maps().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_reference_from_another_namespace_makes_no_child() {
    let script = Script::pruning();
    let world = World::of(script.clone()).await;
    world.create("web").await;
    let web = world.cluster.get::<Deployment>("web").await.unwrap();
    let mut reference = owner_reference(&web.unwrap()).unwrap();
    reference.controller = Some(true);
    let mut foreign = ConfigMap::named("foreign");
    foreign.metadata.owner_references = Some(vec![reference]);
    // It stays even if a garbage collector deletes it.
    foreign.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    let there = world.cluster.in_namespace("team-b");
    there.create(&foreign).await.unwrap();
    world.cluster.settle().await;
    world.cluster.forget_requests();
    script
        .run(&world, "web", |cx| {
            Box::pin(async move { Ok(cx.list_owned::<ConfigMap>()?.items.len().to_string()) })
        })
        .await;
    assert_eq!(script.results(), ["0"]);
    assert_eq!(
        world
            .cluster
            .writes()
            .iter()
            .filter(|one| one.verb == "delete")
            .count(),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_the_operator_only_patched_is_not_its_child() {
    let script = Script::default();
    let world = World::of(script.clone()).await;
    world.create("web").await;
    let theirs = ConfigMap::named("theirs");
    world.cluster.create(&theirs).await.unwrap();
    world.cluster.settle().await;
    script
        .run(&world, "web", |cx| {
            Box::pin(async move {
                let key = cx.get::<ConfigMap>("theirs")?.unwrap().key();
                let note = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "labels": {"seen": "yes"}}});
                cx.patch::<ConfigMap>(&key, &Patch::Apply(note)).await?;
                let refused = cx.apply(ConfigMap::named("theirs")).await.unwrap_err();
                Ok(refused.to_string())
            })
        })
        .await;
    let [refused] = &script.results()[..] else {
        panic!("one call")
    };
    assert!(
        refused.contains("does not belong to Deployment default/web"),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_detached_child_that_lost_its_annotation_gets_it_back() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    let there = world.cluster.in_namespace("team-a");
    let lost = json!({"metadata": {"annotations": {OWNER_ANNOTATION: null}}});
    there.patch::<ConfigMap>("page", lost).await.unwrap();
    world.touch("web").await;
    let page = there.get::<ConfigMap>("page").await.unwrap().unwrap();
    assert!(page.annotation(OWNER_ANNOTATION).is_some());
}

/// Applies one child.
struct OnePage;

impl Reconciler for OnePage {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        cx.apply(ConfigMap::named("page")).await?;
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_leaves_the_children_is_no_failure() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let operator = Operator::new("pages").controller(OnePage);
    let running = cluster.run(operator).await.unwrap();
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    cluster.create(&web).await.unwrap();
    cluster.settle().await;
    cluster.forget_requests();
    let deployments = cluster.api::<Deployment>();
    let orphan = DeleteParams::orphan();
    deployments.delete("web", &orphan).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let sent = cluster.writes();
    let events = sent.iter().filter(|one| one.path.contains("/events"));
    assert_eq!(events.count(), 0, "{sent:?}");
    running.stop().await;
}
