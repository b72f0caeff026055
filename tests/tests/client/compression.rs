//! Compressed answers.

use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use pilothouse::{
    client::{Api, Body, Client, ListParams, PostParams},
    k8s::api::core::v1::ConfigMap,
};

use crate::target::{Target, map};

/// Creates an object above the 128 KiB from which API servers compress.
async fn large(target: &Target) {
    let mut large = map("large", &[]);
    let text = "Ahoy. ".repeat(40_000);
    large.data.get_or_insert_default().insert("text".into(), text);
    let maps = target.api::<ConfigMap>();
    maps.create(&PostParams::default(), &large).await.unwrap();
    target.map("small", &[]).await;
}

async fn encoding(target: &Target, path: &str) -> Option<String> {
    let path = format!("/api/v1/namespaces/{}/configmaps{path}", target.namespace);
    let request = http::Request::get(path).header(ACCEPT_ENCODING, "gzip");
    let answer = target.client.send(request.body(Body::empty()).unwrap()).await;
    let headers = answer.unwrap().headers().clone();
    headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap().to_owned())
}

pub(crate) async fn long_answers_are_compressed_and_decode_to_the_same(target: &Target) {
    large(target).await;
    assert_eq!(encoding(target, "/large").await.as_deref(), Some("gzip"));
    assert_eq!(encoding(target, "").await.as_deref(), Some("gzip"));
    assert_eq!(encoding(target, "/small").await, None);
    assert_eq!(encoding(target, "?watch=true").await, None);

    let config = target.config().await.with_compression(true);
    let compressing = Client::new(config).unwrap();
    let maps = Api::<ConfigMap>::namespaced(&compressing, &target.namespace);
    let plain = target.api::<ConfigMap>();
    assert_eq!(maps.get("large").await.unwrap(), plain.get("large").await.unwrap());
    let params = ListParams::default();
    let (one, other) = (maps.list(&params).await.unwrap(), plain.list(&params).await.unwrap());
    assert_eq!(one.items, other.items);
}
