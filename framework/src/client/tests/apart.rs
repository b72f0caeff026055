//! Clients made of one another: on connections of their own, or behind a fence.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;

use super::server::{OBJECT, Server, Site, in_memory, json};
use crate::{
    client::{Api, Client, Config, Deadlines, Error, PostParams},
    metrics::Metrics,
};

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

#[tokio::test]
async fn a_client_apart_has_the_same_settings_and_connections_of_its_own() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let metrics = Metrics::new();
    let passed = Arc::new(AtomicUsize::new(0));
    let count = passed.clone();
    let client = Client::builder(
        server
            .config()
            .with_token("t0ken")
            .with_default_namespace("n"),
    )
    .user_agent("website/1.2.0")
    .metrics(metrics.clone())
    .layer(tower::util::MapRequestLayer::new(
        move |request: http::Request<crate::client::Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            request
        },
    ))
    .build()
    .unwrap();
    let apart = client.apart(Deadlines::default());
    for client in [&client, &apart, &client, &apart] {
        maps(client).get("a").await.unwrap();
    }
    let seen = site.seen();
    let connections: Vec<_> = seen.iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 1, 0, 1]);
    assert_eq!(seen[0].headers, seen[1].headers);
    assert_eq!(seen[1].header("authorization"), "Bearer t0ken");
    assert_eq!(
        (apart.default_namespace(), apart.server()),
        ("n", client.server())
    );
    assert_eq!(passed.load(Ordering::SeqCst), 4);
    let counted = metrics.encode();
    assert!(counted.contains("method=\"GET\"} 4"), "{counted}");
}

#[tokio::test(start_paused = true)]
async fn a_client_apart_has_deadlines_of_its_own() {
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(in_memory(&Site::silent()));
    let client = client.build().unwrap();
    let apart = client.apart(Deadlines::default().total(Duration::from_secs(5)));
    let (apart, client) = (maps(&apart), maps(&client));
    let (first, second) = tokio::join!(apart.get("a"), client.get("a"));
    let seconds = |outcome: Result<ConfigMap, Error>| match outcome {
        Err(Error::Timeout { after, .. }) => after.as_secs(),
        other => panic!("{other:?}"),
    };
    assert_eq!((seconds(first), seconds(second)), (5, 65));
}

#[tokio::test]
async fn behind_a_closed_fence_nothing_is_sent_and_others_go_on() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let client = Client::new(server.config()).unwrap();
    let leads = Arc::new(AtomicBool::new(true));
    let fence = leads.clone();
    let fenced = client.fenced(move || match fence.load(Ordering::SeqCst) {
        true => Ok(()),
        false => Err("this process does not lead any more".into()),
    });
    let twice = fenced.fenced(|| Ok(()));
    maps(&fenced).get("a").await.unwrap();
    maps(&client).get("a").await.unwrap();
    leads.store(false, Ordering::SeqCst);
    for fenced in [fenced, twice] {
        let error = maps(&fenced)
            .create(&PostParams::default(), &ConfigMap::default())
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Fenced { .. }) && !error.is_outcome_unknown());
        assert_eq!(
            error.to_string(),
            "create configmaps in default: not sent: this process does not lead any more"
        );
    }
    maps(&client).get("a").await.unwrap();
    assert_eq!((site.seen().len(), site.connections()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_fence_that_closes_while_the_connection_is_opened_keeps_the_request_back() {
    let site = Site::new(|_| json(200, OBJECT));
    let leads = Arc::new(AtomicBool::new(true));
    let (connect, lost) = (in_memory(&site), leads.clone());
    let connector = move || {
        lost.store(false, Ordering::SeqCst);
        futures_util::FutureExt::now_or_never(connect.connect()).unwrap()
    };
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(Arc::new(connector));
    let fenced = client.build().unwrap().fenced(move || {
        let leads = leads.load(Ordering::SeqCst);
        leads.then_some(()).ok_or_else(|| "lost".into())
    });
    let error = maps(&fenced).get("a").await.unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
    assert_eq!(site.seen().len(), 0);
}
