//! Checks that discovery finds exactly the kinds of its documents, both aggregated and one per version.

use std::collections::HashMap;

use pilothouse::client::RestMapper;
use serde_json::Value;

use crate::{
    answers::{Answer, client_of_paths, now, runtime},
    input,
};

/// The paths whose documents are the parts of an input.
const PATHS: [&str; 6] = [
    "/api",
    "/apis",
    "/api/v1",
    "/apis/g",
    "/apis/g/v1",
    "/apis/apps/v1",
];

pub(crate) fn run(data: &[u8]) {
    let bodies: [_; PATHS.len()] = input::parts(data);
    let documents = PATHS
        .iter()
        .zip(bodies)
        .filter(|(_, body)| !body.is_empty());
    let documents: HashMap<_, _> = documents
        .map(|(path, body)| ((*path).to_owned(), Answer::json(body)))
        .collect();
    let client = client_of_paths(documents);
    // The deadlines of the requests need a runtime.
    let _guard = runtime().enter();
    let mapper = RestMapper::new(&client);
    if let Ok(found) = now(client.discover()) {
        for group in found.groups() {
            for version in group.versions() {
                for kind in version.kinds() {
                    assert_eq!(kind.resource.group, group.name());
                    assert_eq!(kind.resource.version, version.name());
                    assert!(!kind.resource.kind.is_empty());
                    let first = version.resource(&kind.resource.plural);
                    assert!(first.is_some(), "{kind:?}");
                }
            }
            assert_eq!(
                group.preferred_version().is_none(),
                group.versions().count() == 0
            );
        }
        aggregated(bodies[1], &found);
        let kinds: Vec<_> = found.preferred_kinds().take(5).cloned().collect();
        for kind in kinds {
            let version = kind.resource.api_version();
            if let Ok(again) = now(mapper.kind(&version, &kind.resource.kind)) {
                assert_eq!(again.resource.kind, kind.resource.kind);
                assert_eq!(again.resource.api_version(), version);
            }
            let _ = now(mapper.find(&kind.to_string()));
            let _ = now(mapper.find(&kind.singular));
        }
    }
    if let Ok(Some(group)) = now(client.discover_group("g")) {
        group
            .failures()
            .for_each(|failure| assert!(!failure.to_string().is_empty()));
    }
    if let Ok(version) = now(client.discover_version("g", "v1")) {
        listed(bodies[4], version.kinds().len());
    }
    let _ = now(mapper.find("deploy"));
}

/// Checks that an aggregated document gives as many kinds as it has resources with a kind.
fn aggregated(body: &[u8], found: &pilothouse::client::Discovery) {
    let Ok(document) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    if document["kind"] != "APIGroupDiscoveryList" || !input::Unique::is(body) {
        return;
    }
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let has_kind = |resource: &Value| {
        resource["responseKind"]["kind"]
            .as_str()
            .is_some_and(|it| !it.is_empty())
    };
    let groups = list(&document, "items");
    let versions = groups.iter().flat_map(|group| list(group, "versions"));
    let resources = versions.flat_map(|version| list(&version, "resources"));
    let expected = resources.filter(has_kind).count();
    // The kinds of the core group are in another document.
    let groups = found.groups().iter().rev().take(groups.len());
    let kinds = groups
        .flat_map(|group| group.versions())
        .map(|version| version.kinds().len());
    assert_eq!(kinds.sum::<usize>(), expected);
}

/// Checks that the document of a version gives as many kinds as it has resources without subresources.
fn listed(body: &[u8], found: usize) {
    let Ok(document) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    if !input::Unique::is(body) {
        return;
    }
    let resources = document["resources"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |resource: &Value, key: &str| resource[key].as_str().unwrap_or_default().to_owned();
    let is_kind = |resource: &&Value| {
        !text(resource, "kind").is_empty() && !text(resource, "name").contains('/')
    };
    assert_eq!(found, resources.iter().filter(is_kind).count());
}
