use std::collections::BTreeMap;

use fastrand::Rng;
use pilothouse::{
    client::{Api, Client, DeleteParams, ListParams, Patch, PatchParams, PostParams},
    k8s::api::core::v1::ConfigMap,
    resource::{Object, ObjectMeta},
};
use pilothouse_tests::soak::{Bundle, BundleSpec, LABEL, TEXT, children};
use serde_json::json;

/// Users that write bundles, and a rival manager that writes and deletes the operator's objects.
pub(crate) struct Churn {
    bundles: Api<Bundle>,
    maps: Api<ConfigMap>,
    random: Rng,
    names: u64,
    /// The number of successful writes.
    pub(crate) writes: usize,
}

impl Churn {
    /// Creates the users with a client that the outages do not affect.
    pub(crate) fn new(client: &Client, random: Rng, names: u64) -> Self {
        Self {
            bundles: Api::namespaced(client, "default"),
            maps: Api::namespaced(client, "default"),
            random,
            names,
            writes: 0,
        }
    }

    /// Creates each bundle.
    pub(crate) async fn fill(&mut self) {
        for number in 0..self.names {
            let bundle = self.bundle(number);
            let params = PostParams::default();
            self.bundles.create(&params, &bundle).await.unwrap();
        }
    }

    fn bundle(&mut self, number: u64) -> Bundle {
        Bundle {
            metadata: ObjectMeta {
                name: Some(format!("bundle-{number}")),
                ..ObjectMeta::default()
            },
            spec: BundleSpec {
                size: self.random.i32(1..8),
                text: format!("text {}", self.random.u64(..1_000_000)),
            },
            status: None,
        }
    }

    /// Makes one write of a user or of the rival. The object may be missing or may already exist.
    pub(crate) async fn step(&mut self) {
        let number = self.random.u64(..self.names);
        let bundle = format!("bundle-{number}");
        let map = format!("{bundle}-{}", self.random.u64(..7));
        let (post, patch) = (PostParams::default(), PatchParams::default());
        let merge = |value| Patch::Merge(value);
        let done = match self.random.u8(..100) {
            0..8 => {
                let params = DeleteParams::default();
                self.bundles.delete(&bundle, &params).await.map(drop)
            }
            8..30 => {
                let object = self.bundle(number);
                self.bundles.create(&post, &object).await.map(drop)
            }
            30..55 => {
                let text = format!("text {}", self.random.u64(..1_000_000));
                let change = merge(json!({"spec": {"text": text}}));
                self.bundles.patch(&bundle, &patch, &change).await.map(drop)
            }
            55..70 => {
                let change = merge(json!({"spec": {"size": self.random.i32(0..8)}}));
                self.bundles.patch(&bundle, &patch, &change).await.map(drop)
            }
            70..80 => {
                let change = merge(json!({"data": {TEXT: "the rival's"}}));
                self.maps.patch(&map, &patch, &change).await.map(drop)
            }
            80..86 => {
                let change = merge(json!({"data": {"rival": "was here"}}));
                self.maps.patch(&map, &patch, &change).await.map(drop)
            }
            86..92 => {
                let change = merge(json!({"metadata": {"labels": {LABEL: null}}}));
                self.maps.patch(&map, &patch, &change).await.map(drop)
            }
            _ => {
                let params = DeleteParams::default();
                self.maps.delete(&map, &params).await.map(drop)
            }
        };
        match done {
            Ok(()) => self.writes += 1,
            Err(error) if error.is_not_found() || error.is_already_exists() => {}
            Err(ref error) if error.status().is_some_and(|status| status.code == 409) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the differences between the bundles and their ConfigMaps. There are none once the operator is done.
    pub(crate) async fn differences(&self) -> Vec<String> {
        let all = ListParams::default();
        let bundles = self.bundles.list_all(&all).await.unwrap().items;
        let maps = self.maps.list_all(&all).await.unwrap().items;
        let mut there: BTreeMap<String, ConfigMap> = maps
            .into_iter()
            .filter(|map| map.name().starts_with("bundle-"))
            .map(|map| (map.name().to_owned(), map))
            .collect();
        let mut differences = Vec::new();
        for bundle in &bundles {
            for wanted in children(bundle) {
                let name = wanted.name();
                let Some(found) = there.remove(name) else {
                    differences.push(format!("{name} is missing"));
                    continue;
                };
                let text =
                    |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get(TEXT).cloned());
                let label = |map: &ConfigMap| {
                    map.metadata
                        .labels
                        .as_ref()
                        .and_then(|labels| labels.get(LABEL).cloned())
                };
                if text(&found) != text(&wanted) || label(&found) != label(&wanted) {
                    differences.push(format!("{name} differs from its bundle"));
                }
                let owners = found.metadata.owner_references.unwrap_or_default();
                if !owners
                    .iter()
                    .any(|owner| Some(&owner.uid) == bundle.metadata.uid.as_ref())
                {
                    differences.push(format!("{name} does not belong to its bundle"));
                }
            }
            let status = bundle.status.clone().unwrap_or_default();
            if (status.applied, &status.text) != (bundle.spec.size, &bundle.spec.text) {
                differences.push(format!("the status of {} is old", bundle.name()));
            }
        }
        differences.extend(there.into_keys().map(|name| format!("{name} is left over")));
        differences
    }
}
