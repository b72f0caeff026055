//! Discovery and the mapper against the kinds that the sandbox serves.

use std::time::Duration;

use pilothouse::{
    Resource, Schema,
    client::{ListParams, Patch, PatchParams, PostParams, RestMapper},
    crd::CustomResourceDefinition,
    resource::{DynamicObject, Object, ObjectMeta},
    testing::Cluster,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A probe of the deep sea.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "sea.pilothouse.dev",
    version = "v1",
    namespaced,
    short_names("pr"),
    categories("all")
)]
struct Probe {
    metadata: ObjectMeta,
    spec: ProbeSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct ProbeSpec {
    depth: i64,
}

fn cluster() -> Cluster {
    Cluster::start().expect("a sandbox")
}

/// Returns the discovery requests so far.
fn asked(cluster: &Cluster) -> Vec<String> {
    let requests = cluster.requests().into_iter();
    requests.map(|request| request.path).collect()
}

async fn quiet() {
    tokio::time::sleep(Duration::from_secs(4)).await;
}

#[tokio::test(start_paused = true)]
async fn discovery_takes_two_requests_and_matches_the_documents_of_each_group() {
    let cluster = cluster();
    let client = cluster.client();
    let discovery = client.discover().await.unwrap();
    assert_eq!(asked(&cluster).len(), 2);
    assert_eq!(discovery.failures().count(), 0);
    assert!(discovery.groups().len() > 5);
    for group in discovery.groups() {
        let alone = client.discover_group(group.name()).await.unwrap().unwrap();
        let both = [group, &alone].map(|group| {
            let versions = group.versions();
            let versions =
                versions.map(|version| (version.name().to_owned(), version.kinds().to_vec()));
            versions.collect::<Vec<_>>()
        });
        assert_eq!(both[0], both[1], "{}", group.name());
    }
    let all = discovery.category("all").map(|kind| kind.to_string());
    assert!(
        all.collect::<Vec<_>>()
            .contains(&"deployments.apps/v1".into())
    );
}

#[tokio::test(start_paused = true)]
async fn discovery_returns_the_release_of_the_server() {
    let version = cluster().client().server_version().await.unwrap();
    let (major, minor) = version.release().expect("numbers");
    assert_eq!(major, 1);
    assert!(version.to_string().starts_with(&format!("v1.{minor}.")));
}

#[tokio::test(start_paused = true)]
async fn the_mapper_resolves_names_that_people_and_manifests_use() {
    let cluster = cluster();
    let mapper = RestMapper::new(cluster.client());
    for (name, expected) in [
        ("po", "pods/v1"),
        ("Pod", "pods/v1"),
        ("pods.v1", "pods/v1"),
        ("deploy", "deployments.apps/v1"),
        ("deployment.apps", "deployments.apps/v1"),
        ("deployments.v1.apps", "deployments.apps/v1"),
        ("ns", "namespaces/v1"),
        ("events", "events/v1"),
        ("crds", "customresourcedefinitions.apiextensions.k8s.io/v1"),
    ] {
        assert_eq!(mapper.find(name).await.unwrap().to_string(), expected);
    }
    let deployments = mapper.kind("apps/v1", "Deployment").await.unwrap();
    assert!(deployments.can("watch") && deployments.subresource("scale").is_some());
    assert_eq!(asked(&cluster).len(), 2, "hits ask nothing");
    for (error, expected) in [
        (
            mapper.kind_in_group("bar.dev", "Foo").await.unwrap_err(),
            "no kind \"Foo\" in group \"bar.dev\": the server does not serve the group: install its definition, or check the spelling",
        ),
        (
            mapper.kind("apps/v9", "Deployment").await.unwrap_err(),
            "no kind \"Deployment\" in apps/v9: the server serves it in v1: use that, or install a definition with the version",
        ),
    ] {
        assert!(error.is_not_found());
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_installed_later_is_found_and_usable() {
    let cluster = cluster();
    let mapper = RestMapper::new(cluster.client());
    assert!(mapper.find("pr").await.unwrap_err().is_not_found());
    cluster.install::<Probe>().await.unwrap();
    quiet().await;
    cluster.forget_requests();
    let probe: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "sea.pilothouse.dev/v1", "kind": "Probe",
        "metadata": {"name": "one"}, "spec": {"depth": 3},
    }))
    .unwrap();
    let probes = mapper.api_for(&probe).await.unwrap();
    assert_eq!(
        asked(&cluster),
        ["/apis/sea.pilothouse.dev", "/apis/sea.pilothouse.dev/v1"],
        "only the group was read again"
    );
    assert_eq!(probes.namespace(), Some("default"));

    probes.create(&PostParams::default(), &probe).await.unwrap();
    let deeper = Patch::Merge(json!({"spec": {"depth": 4}}));
    let patched = probes.patch("one", &PatchParams::default(), &deeper).await;
    assert_eq!(patched.unwrap().data["spec"]["depth"], 4);
    let everywhere = mapper.api("pr", None).await.unwrap();
    let list = everywhere.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items[0].name(), "one");
    let nodes = mapper.api("nodes", Some("default")).await.unwrap();
    nodes.list(&ListParams::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_removed_definition_is_dropped_when_its_group_is_read_again() {
    let cluster = cluster();
    cluster.install::<Probe>().await.unwrap();
    let mapper = RestMapper::new(cluster.client());
    mapper.find("probes").await.unwrap();
    let name = "probes.sea.pilothouse.dev";
    cluster
        .delete::<CustomResourceDefinition>(name)
        .await
        .unwrap();
    cluster
        .until_gone::<CustomResourceDefinition>(name)
        .await
        .unwrap();
    mapper.refresh_group("sea.pilothouse.dev").await.unwrap();
    assert!(mapper.find("probes").await.unwrap_err().is_not_found());
    let known = mapper.discovery().await.unwrap();
    assert!(known.group("sea.pilothouse.dev").is_none());
}

#[tokio::test(start_paused = true)]
async fn the_best_version_of_a_definition_is_preferred() {
    let cluster = cluster();
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        })
    };
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "tubes.sea.pilothouse.dev"},
        "spec": {
            "group": "sea.pilothouse.dev", "scope": "Cluster",
            "names": {"plural": "tubes", "kind": "Tube"},
            "versions": [version("v1beta1", true), version("v1", false), version("v2alpha1", false)],
        },
    }))
    .unwrap();
    let client = cluster.client();
    pilothouse::crd::install(client, &[definition], "test")
        .await
        .unwrap();
    let mapper = RestMapper::new(client);
    let tube = mapper.find("tube").await.unwrap();
    assert_eq!(tube.to_string(), "tubes.sea.pilothouse.dev/v1");
    assert!(!tube.resource.namespaced);
    let alpha = mapper
        .find("tubes.v2alpha1.sea.pilothouse.dev")
        .await
        .unwrap();
    assert_eq!(alpha.resource.version, "v2alpha1");
    let known = mapper.discovery().await.unwrap();
    let group = known.group("sea.pilothouse.dev").unwrap();
    let names: Vec<_> = group.versions().map(|version| version.name()).collect();
    assert_eq!(names, ["v1", "v1beta1", "v2alpha1"]);
}

/// Installs the definition of probes with this scope.
async fn install(cluster: &Cluster, scope: &str) {
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "tubes.sea.pilothouse.dev"},
        "spec": {
            "group": "sea.pilothouse.dev", "scope": scope,
            "names": {"plural": "tubes", "kind": "Tube"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    }))
    .unwrap();
    pilothouse::crd::install(cluster.client(), &[definition], "test")
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn discovery_follows_added_changed_and_removed_definitions() {
    let cluster = cluster();
    let mapper = RestMapper::new(cluster.client());
    let scenario = async {
        quiet().await;
        install(&cluster, "Namespaced").await;
        quiet().await;
        cluster.forget_requests();
        assert!(mapper.find("tubes").await.unwrap().resource.namespaced);
        assert_eq!(asked(&cluster), [""; 0], "it is known already");

        let name = "tubes.sea.pilothouse.dev";
        cluster
            .delete::<CustomResourceDefinition>(name)
            .await
            .unwrap();
        cluster
            .until_gone::<CustomResourceDefinition>(name)
            .await
            .unwrap();
        install(&cluster, "Cluster").await;
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert!(!mapper.find("tubes").await.unwrap().resource.namespaced);

        cluster
            .delete::<CustomResourceDefinition>(name)
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert!(mapper.find("tubes").await.unwrap_err().is_not_found());
    };
    tokio::select! {
        never = mapper.follow_definitions() => match never {},
        () = scenario => {}
    }
}

#[tokio::test(start_paused = true)]
async fn the_schemas_of_each_version_can_be_read() {
    let cluster = cluster();
    cluster.install::<Probe>().await.unwrap();
    let client = cluster.client();
    let known = client.open_api().await.unwrap();
    assert!(known.versions().any(|version| version == "v1"));
    let document = client
        .open_api_of(&known, "sea.pilothouse.dev/v1")
        .await
        .unwrap();
    assert!(
        document["components"]["schemas"]
            .to_string()
            .contains("depth")
    );
    let error = client.open_api_of(&known, "bar.dev/v1").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "discover the schemas of \"bar.dev/v1\": the server has none: check the spelling, or read `Client::open_api` again"
    );
}
