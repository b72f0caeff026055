//! Lists in one answer and in pages, with a scripted service.

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::verbs::{MAPS, client, lines, map, maps, status};
use crate::{
    client::{Api, ErrorKind, ListParams, WatchParams},
    resource::{ApiResource, DynamicObject, Object},
};

#[tokio::test]
async fn pages_and_items_are_fetched_on_demand() {
    let (client, sent) = client(|count, _| match count % 3 {
        0 => (
            200,
            json!({"metadata": {"continue": "t", "resourceVersion": "7", "remainingItemCount": 3},
                   "items": [map("1"), {"metadata": {"name": "odd"}, "data": []}]}),
        ),
        1 => (
            200,
            json!({"metadata": {"continue": "u", "resourceVersion": "7"}, "items": [map("2")]}),
        ),
        _ => {
            let mut gone = status(410, "Expired");
            gone.1["metadata"] = json!({"continue": "newest"});
            gone
        }
    });
    let maps = maps(&client);
    let mut pages = maps.pages(&ListParams::default().limit(2).any_version());
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!((first.items.len(), first.remaining()), (1, Some(3)));
    assert_eq!(lines(&sent).len(), 1);
    assert_eq!(pages.next().await.unwrap().unwrap().items.len(), 1);
    let error = pages.next().await.unwrap().unwrap_err();
    let token = error.status().unwrap().inconsistent_continue_token();
    assert_eq!((error.is_expired(), token), (true, Some("newest")));
    assert!(pages.next().await.is_none());
    assert_eq!(
        lines(&sent),
        [
            format!("GET {MAPS}?limit=2&resourceVersion=0"),
            format!("GET {MAPS}?limit=2&continue=t"),
            format!("GET {MAPS}?limit=2&continue=u"),
        ]
    );
    let items = maps.items(&ListParams::default()).collect::<Vec<_>>().await;
    let told: Vec<_> = items
        .iter()
        .map(|item| match item {
            Ok(map) => map.resource_version().unwrap().to_owned(),
            Err(error) => error.to_string(),
        })
        .collect();
    assert_eq!(
        told,
        [
            "1",
            "list ConfigMap odd cannot be decoded: data: expected a map, found a list",
            "2",
            "list configmaps in default: Expired",
        ]
    );
}

#[tokio::test]
async fn only_the_request_for_the_first_page_names_a_resource_version() {
    let (client, sent) = client(|count, _| match count {
        0 => (
            200,
            json!({"metadata": {"continue": "t"}, "items": [map("1")]}),
        ),
        _ => (200, json!({"items": [map("2")]})),
    });
    let exactly = ListParams::default().exactly("7");
    maps(&client).list_all(&exactly).await.unwrap();
    assert_eq!(
        lines(&sent),
        [
            format!("GET {MAPS}?limit=500&resourceVersion=7&resourceVersionMatch=Exact"),
            format!("GET {MAPS}?limit=500&continue=t"),
        ]
    );
}

#[tokio::test]
async fn a_list_in_pages_that_does_not_end_is_an_error() {
    type Token = fn(usize) -> String;
    let table: [(Token, usize, &str); 2] = [
        (
            |_| "t".into(),
            2,
            "the server gave the same continue token twice",
        ),
        (
            |count| count.to_string(),
            101,
            "100 pages in a row brought no new object",
        ),
    ];
    for (token, asked, reason) in table {
        let endless = move |count: usize, _: &str| match count {
            0..1000 => (
                200,
                json!({"metadata": {"continue": token(count), "resourceVersion": "7"}, "items": [map("1")]}),
            ),
            _ => status(500, "TooMuch"),
        };
        let text = format!(
            "list configmaps in default: the list does not end: {reason}: check the server of this kind, and proxies on the way"
        );
        let (server, sent) = client(endless);
        let error = maps(&server).list_all(&ListParams::default()).await;
        assert_eq!(error.unwrap_err().to_string(), text);
        assert_eq!(lines(&sent).len(), asked);

        let (server, sent) = client(endless);
        let pages: Vec<_> = maps(&server).pages(&ListParams::default()).collect().await;
        assert_eq!(pages.len(), asked);
        let error = pages.into_iter().next_back().unwrap().unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::NoProgress { .. }),
            "{error}"
        );
        assert_eq!(lines(&sent).len(), asked);
    }
}

#[tokio::test]
async fn a_list_may_have_empty_pages() {
    let (client, _) = client(|count, _| match count {
        99 => (200, json!({"metadata": {}, "items": [map("1")]})),
        _ => (
            200,
            json!({"metadata": {"continue": count.to_string(), "remainingItemCount": 1}, "items": []}),
        ),
    });
    let all = maps(&client)
        .list_all(&ListParams::default())
        .await
        .unwrap();
    assert_eq!((all.items.len(), all.remaining()), (1, None));
}

#[tokio::test]
async fn objects_of_a_list_get_their_api_version_and_kind() {
    let (client, _) = client(|_, _| (200, json!({"kind": "ConfigMapList", "items": [map("1")]})));
    let resource = ApiResource::of::<ConfigMap>();
    let maps = Api::<DynamicObject>::of(&client, resource.clone(), Some("default"));
    let params = ListParams::default();
    let (own, shared) = (
        maps.list(&params).await,
        maps.list_shared(&params, true).await,
    );
    let (own, shared) = (own.unwrap(), shared.unwrap());
    for object in [&own.items[0], &*shared.items[0].object] {
        let types = (&*object.types.api_version, &*object.types.kind);
        assert_eq!(types, ("v1", "ConfigMap"));
    }
}

#[tokio::test]
async fn an_item_of_another_kind_makes_the_list_an_error() {
    let (client, _) = client(|_, _| {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
        (200, json!({"items": [map("1"), pod]}))
    });
    let maps = ApiResource::of::<ConfigMap>();
    let maps = Api::<DynamicObject>::of(&client, maps, Some("default"));
    let error = maps.list(&ListParams::default()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "list configmaps in default: the answer cannot be decoded: items: kind: expected `ConfigMap` of `v1`, found `Pod` of `v1`"
    );
    assert!(
        maps.list_shared(&ListParams::default(), true)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_list_or_a_watch_with_an_object_of_another_namespace_is_an_error() {
    let named = |namespace: &str, data| json!({"metadata": {"name": "a", "namespace": namespace}, "data": data});
    for data in [json!({}), json!([])] {
        let (client, _) = client(move |count, _| match count % 2 {
            0 => (
                200,
                json!({"metadata": {}, "items": [named("default", json!({})), named("kube-system", data.clone())]}),
            ),
            _ => (
                200,
                json!({"type": "ADDED", "object": named("kube-system", data.clone())}),
            ),
        });
        let listed = maps(&client).list(&ListParams::default()).await;
        let mut watch = maps(&client).watch(&WatchParams::default()).await.unwrap();
        let watched = watch.next().await.unwrap();
        let reason = "the answer cannot be decoded: metadata.namespace: expected `default`, found `kube-system`";
        for error in [listed.unwrap_err(), watched.unwrap_err()] {
            assert!(error.to_string().ends_with(reason), "{error}");
        }
        // A list of all namespaces may have it.
        let all = Api::<ConfigMap>::all(&client);
        let all = all.list(&ListParams::default()).await.unwrap();
        assert_eq!(all.items.len() + all.undecodable.len(), 2);
    }
}
