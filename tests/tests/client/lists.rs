//! Lists, and deletions of collections.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use pilothouse::{
    client::{Api, DeleteParams, ListParams, VersionMatch, WatchEvent, WatchParams},
    k8s::api::core::v1::{ConfigMap, Namespace},
    resource::Object,
};

use crate::target::Target;

async fn five(target: &Target) {
    for index in 0..5 {
        let colour = if index % 2 == 0 { "red" } else { "blue" };
        target.map(&format!("m{index}"), &[("colour", colour)]).await;
    }
}

fn names<'a>(maps: impl IntoIterator<Item = &'a ConfigMap>) -> BTreeSet<&'a str> {
    // A controller writes the cluster's CA into every namespace.
    let names = maps.into_iter().map(|map| map.name());
    names.filter(|name| *name != "kube-root-ca.crt").collect()
}

pub(crate) async fn a_list_is_read_completely_in_pages(target: &Target) {
    five(target).await;
    let maps = target.api::<ConfigMap>();
    let coloured = ListParams::default().labels("colour");
    let first = maps.list(&coloured.clone().limit(2)).await.unwrap();
    assert_eq!(first.items.len(), 2);
    let token = first.continue_token().unwrap();
    let second = coloured.clone().limit(2).continue_token(token);
    let second = maps.list(&second).await.unwrap();
    assert_eq!(second.items.len(), 2);
    assert_eq!(second.resource_version(), first.resource_version());
    let all = maps.list_all(&coloured.limit(2)).await.unwrap();
    assert_eq!(names(&all.items), BTreeSet::from(["m0", "m1", "m2", "m3", "m4"]));
    assert_eq!(all.continue_token(), None);
}

pub(crate) async fn selectors_filter_lists(target: &Target) {
    five(target).await;
    let maps = target.api::<ConfigMap>();
    for (params, expected) in [
        (ListParams::default().labels("colour=blue"), vec!["m1", "m3"]),
        (ListParams::default().labels("colour in (red), colour!=blue"), vec!["m0", "m2", "m4"]),
        (ListParams::default().labels("!colour"), vec![]),
        (ListParams::default().fields("metadata.name=m3"), vec!["m3"]),
        (ListParams::default().labels("colour=red").fields("metadata.name!=m0"), vec!["m2", "m4"]),
    ] {
        let found = maps.list(&params).await.unwrap();
        assert_eq!(names(&found.items), expected.into_iter().collect(), "{params:?}");
    }
    let error = maps.list(&ListParams::default().fields("data.key=value")).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 400, "{error}");
    let everywhere = Api::<ConfigMap>::all(&target.client);
    let fields = format!("metadata.namespace={},metadata.name=m1", target.namespace);
    let found = everywhere.list(&ListParams::default().fields(fields)).await.unwrap();
    assert_eq!(names(&found.items), BTreeSet::from(["m1"]));
}

pub(crate) async fn a_list_at_a_version_and_the_watch_after_it_miss_no_change(target: &Target) {
    let maps = target.api::<ConfigMap>();
    target.map("before", &[("in", "test")]).await;
    let coloured = ListParams::default().labels("in=test");
    let list = maps.list(&coloured).await.unwrap();
    let version = list.resource_version().unwrap();
    target.map("after", &[("in", "test")]).await;
    let same = coloured.at(version).version_match(VersionMatch::Exact);
    let same = maps.list(&same).await.unwrap();
    assert_eq!(names(&same.items), BTreeSet::from(["before"]));
    let newer = ListParams::default().labels("in=test").at(version);
    let newer = newer.version_match(VersionMatch::NotOlderThan);
    assert!(names(&maps.list(&newer).await.unwrap().items).contains("before"));
    let watch = WatchParams::default().labels("in=test").after(version);
    let mut watch = maps.watch(&watch).await.unwrap();
    let WatchEvent::Added(added) = watch.next().await.unwrap().unwrap() else {
        panic!("an object was added");
    };
    assert_eq!(added.name(), "after");
}

pub(crate) async fn a_collection_is_deleted_by_its_labels(target: &Target) {
    five(target).await;
    let maps = target.api::<ConfigMap>();
    let blue = ListParams::default().labels("colour=blue");
    maps.delete_collection(&DeleteParams::default(), &blue).await.unwrap();
    let rest = maps.list(&ListParams::default().labels("colour")).await.unwrap();
    assert_eq!(names(&rest.items), BTreeSet::from(["m0", "m2", "m4"]));
    // Namespaces do not support deletecollection.
    let namespaces = Api::<Namespace>::all(&target.client);
    let none = ListParams::default().labels("none=none");
    let error = namespaces.delete_collection(&DeleteParams::default(), &none).await;
    assert_eq!(error.unwrap_err().status().unwrap().code, 405);
}
