//! Subresources, and calls that consist of several requests.

use futures_util::TryStreamExt;
use pilothouse::{
    client::{
        Api, Backoff, Client, DeleteParams, GetOrCreate, ListParams, Patch, PatchParams, PostParams,
        retry_on_conflict,
    },
    k8s::api::{
        apps::v1::Deployment,
        authentication::v1::{SelfSubjectReview, TokenRequest, TokenRequestSpec},
        core::v1::{Binding, ConfigMap, ObjectReference, Pod, ServiceAccount},
        policy::v1::PodDisruptionBudget,
    },
    resource::{ApiResource, Object, Selector},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::target::{Target, map};

fn of<K: DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).unwrap()
}

/// Creates a Pod that no scheduler handles.
async fn pod(target: &Target, name: &str) -> Api<Pod> {
    let accounts = target.api::<ServiceAccount>();
    let default = ServiceAccount::named("default");
    accounts.get_or_create(&PostParams::default(), &default).await.unwrap();
    let pods = target.api::<Pod>();
    let pod: Pod = of(json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "schedulerName": "nobody", "automountServiceAccountToken": false, "nodeName": "far-away",
            "containers": [{"name": "one", "image": "one:1"}],
        },
    }));
    pods.create(&PostParams::default(), &pod).await.unwrap();
    pods
}

pub(crate) async fn an_eviction_waits_for_its_budget(target: &Target) {
    let pods = pod(target, "a").await;
    let plain = PatchParams::default();
    let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    pods.patch_status("a", &plain, &Patch::Merge(running)).await.unwrap();
    let budgets = target.api::<PodDisruptionBudget>();
    let budget = of(json!({"metadata": {"name": "a"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}));
    budgets.create(&PostParams::default(), &budget).await.unwrap();
    // The test writes this status, as the disruption controller does on a cluster that has one.
    let status = |generation: i64, allowed: i32| Patch::Merge(json!({"status": {"observedGeneration": generation, "currentHealthy": 1, "desiredHealthy": 1 - allowed, "expectedPods": 1, "disruptionsAllowed": allowed}}));
    budgets.patch_status("a", &plain, &status(1, 0)).await.unwrap();
    let error = pods.evict("a", &DeleteParams::default()).await.unwrap_err();
    assert!(error.is_too_many_requests() && error.has_cause("DisruptionBudget"), "{error}");
    let none_needed = Patch::Merge(json!({"spec": {"minAvailable": 0}}));
    budgets.patch("a", &plain, &none_needed).await.unwrap();
    budgets.patch_status("a", &plain, &status(2, 1)).await.unwrap();
    let dry_run = DeleteParams::default().dry_run();
    target.until("the budget allows it", async || pods.evict("a", &dry_run).await.ok()).await;
    assert!(!pods.get("a").await.unwrap().is_deleting());
    let grace = DeleteParams::default().grace_period(std::time::Duration::from_secs(7));
    pods.evict("a", &grace).await.unwrap();
    let metadata = pods.get("a").await.unwrap().metadata;
    assert_eq!(metadata.deletion_grace_period_seconds, Some(7));
    let now = DeleteParams::default().grace_period(std::time::Duration::ZERO);
    pods.delete("a", &now).await.unwrap();
    pods.wait_until_deleted("a", metadata.uid.as_deref()).await.unwrap();
}

pub(crate) async fn a_pod_is_bound_once(target: &Target) {
    let pods = pod(target, "a").await;
    let node = ObjectReference {
        name: Some("other".into()),
        ..Default::default()
    };
    let binding = Binding {
        target: node,
        ..Binding::named("a")
    };
    let error = pods.bind("a", &PostParams::default(), &binding).await.unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("already assigned"), "{error}");
    let debug = Patch::Strategic(json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": "debug:1"}]}}));
    let plain = PatchParams::default();
    let pod = pods.patch_ephemeral_containers("a", &plain, &debug).await.unwrap();
    assert_eq!(pod.spec.unwrap().ephemeral_containers.unwrap()[0].name, "debug");
}

pub(crate) async fn a_requested_token_authenticates_as_the_service_account(target: &Target) {
    let accounts = target.api::<ServiceAccount>();
    let post = PostParams::default();
    accounts.create(&post, &ServiceAccount::named("robot")).await.unwrap();
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(600),
            ..Default::default()
        }),
        ..Default::default()
    };
    let answer = accounts.create_token("robot", &post, &request).await.unwrap();
    let token = answer.status.unwrap().token.unwrap();
    let config = target.config_with_token().await.with_token(token);
    let robot = Client::new(config).unwrap();
    let reviews = ApiResource::of::<SelfSubjectReview>();
    let review = robot.request("create").resource(&reviews).body(&SelfSubjectReview::default());
    let known: SelfSubjectReview = review.send().await.unwrap().decode().unwrap();
    let user = known.status.unwrap().user_info.unwrap();
    assert_eq!(
        user.username.unwrap(),
        format!("system:serviceaccount:{}:robot", target.namespace)
    );
}

pub(crate) async fn a_deployment_is_scaled(target: &Target) {
    let deployments = target.api::<Deployment>();
    let web = of(json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        }},
    }));
    let post = PostParams::default();
    deployments.create(&post, &web).await.unwrap();
    let scale = deployments.get_scale("web").await.unwrap();
    assert_eq!(scale.status.as_ref().unwrap().selector.as_deref(), Some("app=web"));
    // A controller may write between the read and the write.
    retry_on_conflict(&Backoff::default(), || async {
        let mut scale = deployments.get_scale("web").await?;
        scale.spec.get_or_insert_default().replicas = Some(2);
        deployments.replace_scale("web", &post, &scale).await
    })
    .await
    .unwrap();
    assert_eq!(deployments.get_scale("web").await.unwrap().spec.unwrap().replicas, Some(2));
    deployments.restart("web").await.unwrap();
}

pub(crate) async fn metadata_only_can_be_read_watched_and_patched(target: &Target) {
    target.map("a", &[("app", "web")]).await;
    let maps = target.api::<ConfigMap>();
    let partial = maps.metadata();
    assert_eq!(partial.get("a").await.unwrap().label("app"), Some("web"));
    let web = ListParams::default().labels(Selector::default().eq("app", "web"));
    assert_eq!(partial.list(&web).await.unwrap().items.len(), 1);
    let label = Patch::Merge(json!({"metadata": {"labels": {"tier": "front"}}}));
    partial.patch("a", &PatchParams::default(), &label).await.unwrap();
    let seen = partial.wait_until("a", |map| map.is_some_and(|map| map.label("tier").is_some()));
    assert!(seen.await.unwrap().is_some());
    assert!(maps.get("a").await.unwrap().data.is_some());
}

pub(crate) async fn helpers_of_several_requests_work(target: &Target) {
    let maps = target.api::<ConfigMap>();
    let post = PostParams::default();
    for name in ["a", "b", "c"] {
        let made = maps.get_or_create(&post, &map(name, &[])).await.unwrap();
        assert!(matches!(made, GetOrCreate::Created(_)));
    }
    let found = maps.get_or_create(&post, &map("a", &[])).await.unwrap();
    assert!(matches!(found, GetOrCreate::Found(_)));
    let mut pages = 0;
    let mut stream = maps.pages(&ListParams::default().limit(1));
    while let Some(page) = stream.try_next().await.unwrap() {
        assert!(page.items.len() <= 1);
        pages += 1;
    }
    assert!(pages >= 3);
    let names: Vec<String> = maps
        .items(&ListParams::default().limit(2).fields("metadata.name!=a"))
        .map_ok(|map| map.name().to_owned())
        .try_collect()
        .await
        .unwrap();
    assert!(!names.contains(&"a".to_owned()) && names.contains(&"c".to_owned()));
    let count = |map: &mut ConfigMap| {
        let data = map.data.get_or_insert_default();
        let count: u32 = data.get("count").map_or(0, |count| count.parse().unwrap());
        data.insert("count".into(), (count + 1).to_string());
    };
    let (one, two, three) = tokio::join!(
        maps.modify("a", &post, count),
        maps.modify("a", &post, count),
        maps.modify("a", &post, count),
    );
    for outcome in [one, two, three] {
        outcome.unwrap();
    }
    let counted = maps.get("a").await.unwrap().data.unwrap();
    assert_eq!(counted["count"], "3");
}
