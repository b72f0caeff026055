//! The encodings of requests and answers, and what happens if a server refuses one.

use futures_util::StreamExt;
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use super::server::{Answer, OBJECT, Seen, Server, Site, json as json_answer};
use crate::{
    client::{
        Api, Client, Encoding, EventFrame, ListParams, ObjectCodec, Patch, PatchParams, PostParams,
        WatchEvent, WatchParams,
    },
    resource::{ApiResource, DynamicObject, Object},
};

/// Answers with `value` in the first encoding of `Accept`.
fn accepted(seen: &Seen, code: u16, value: &Value) -> Option<Answer> {
    let first = seen.header("accept").split(',').next().unwrap();
    let encoding = Encoding::of(first).unwrap();
    let is_watch = seen.uri.contains("watch=true");
    let mut body = encoding.write(value).unwrap().to_vec();
    let media_type = match encoding {
        Encoding::Json => {
            body.push(b'\n');
            "application/json;stream=watch"
        }
        #[cfg(feature = "cbor")]
        Encoding::Cbor if is_watch => "application/cbor-seq",
        Encoding::Framed if is_watch => {
            let length = u32::try_from(body.len()).unwrap().to_be_bytes();
            body.splice(0..0, length);
            "application/framed"
        }
        other => other.media_type(),
    };
    let answer = http::Response::builder()
        .status(code)
        .header("content-type", media_type);
    Some(answer.body(Full::from(body).boxed_unsync()).unwrap())
}

fn object() -> Value {
    serde_json::from_str(OBJECT).unwrap()
}

fn map() -> ConfigMap {
    serde_json::from_str(OBJECT).unwrap()
}

/// A kind like ConfigMap in another group.
fn in_group(group: &'static str) -> ApiResource {
    ApiResource {
        group: group.into(),
        ..ApiResource::of::<ConfigMap>()
    }
}

async fn client(site: &Site, encoding: Encoding) -> (Server, Client) {
    let server = Server::start(site).await;
    let client = Client::builder(server.config()).encoding(encoding);
    let client = client.build().unwrap();
    (server, client)
}

fn sent(site: &Site) -> Vec<String> {
    let line = |seen: &Seen| {
        let [accept, content_type] = ["accept", "content-type"].map(|name| seen.header(name));
        format!("{} {content_type} → {accept}", seen.method)
    };
    site.seen().iter().map(line).collect()
}

#[tokio::test]
async fn all_answers_come_in_the_chosen_encoding() {
    let site = Site::new(|seen| {
        let list = json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": "7"}, "items": [object(), {"data": 3, "metadata": {"name": "b"}}]});
        match seen.uri.rsplit('/').next().unwrap() {
            "configmaps" => accepted(seen, 200, &list),
            "missing" => accepted(
                seen,
                404,
                &json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "it is not there", "details": {"name": "missing"}}),
            ),
            watch if watch.contains("watch=true") => {
                accepted(seen, 200, &json!({"type": "ADDED", "object": object()}))
            }
            _ => accepted(seen, 200, &object()),
        }
    });
    for encoding in crate::client::codec::ALL_ENCODINGS {
        let (_server, client) = client(&site, *encoding).await;
        let maps = Api::<ConfigMap>::namespaced(&client, "default");
        assert_eq!(maps.get("a").await.unwrap(), map());
        let list = maps.list(&ListParams::default()).await.unwrap();
        assert_eq!((list.items.len(), list.undecodable.len()), (1, 1));
        assert_eq!(
            maps.get("missing").await.unwrap_err().to_string(),
            "get ConfigMap default/missing: not found: it is not there"
        );
        let mut watch = maps.watch(&WatchParams::default()).await.unwrap();
        let event = watch.next().await.unwrap().unwrap();
        assert_eq!(event, WatchEvent::Added(map()));
        assert!(watch.next().await.is_none());
        let replaced = maps.replace("a", &PostParams::default(), &map()).await;
        assert_eq!(replaced.unwrap().name(), "a");
    }
}

#[tokio::test]
async fn protobuf_is_the_default_encoding() {
    let site = Site::new(|seen| in_protobuf(seen, &object()));
    let server = Server::start(&site).await;
    let client = Client::new(server.config()).unwrap();
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    let created = maps.create(&PostParams::default(), &map()).await;
    assert_eq!(created.unwrap(), map());
    assert_eq!(sent(&site), [format!("POST application/json → {PROTOBUF}")]);
}

/// A refused body is sent again as JSON, and the next one is JSON at once. Another group may accept the encoding.
#[tokio::test]
async fn a_refused_body_is_sent_again_as_json() {
    let site = Site::new(|seen| match seen.header("content-type") {
        "application/framed" => json_answer(415, "{\"code\": 415}"),
        _ => json_answer(200, OBJECT),
    });
    let (_server, client) = client(&site, Encoding::Framed).await;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    maps.create(&PostParams::default(), &map()).await.unwrap();
    maps.create(&PostParams::default(), &map()).await.unwrap();
    let leases = in_group("coordination.k8s.io");
    let leases = Api::<ConfigMap>::of(&client, leases, Some("default"));
    leases.create(&PostParams::default(), &map()).await.unwrap();
    let framed = "POST application/framed → application/framed, application/json;q=0.9";
    let json = "POST application/json → application/framed, application/json;q=0.9";
    assert_eq!(sent(&site), [framed, json, json, framed, json]);
    let bodies: Vec<_> = site.seen().iter().map(|seen| seen.body.clone()).collect();
    assert_eq!(bodies[1], serde_json::to_vec(&map()).unwrap());
}

#[tokio::test]
async fn after_406_the_answer_is_requested_as_json() {
    let site = Site::new(|seen| match seen.header("accept") {
        "application/json" => json_answer(200, OBJECT),
        _ => json_answer(406, "{\"code\": 406}"),
    });
    let (_server, client) = client(&site, Encoding::Framed).await;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    maps.get("a").await.unwrap();
    maps.get("a").await.unwrap();
    assert_eq!(
        sent(&site),
        [
            "GET  → application/framed, application/json;q=0.9",
            "GET  → application/json",
            "GET  → application/json",
        ]
    );
}

#[tokio::test]
async fn a_refusal_of_json_is_an_error_and_the_request_is_not_repeated() {
    let site = Site::new(|_| json_answer(415, "{\"code\": 415}"));
    for encoding in crate::client::codec::ALL_ENCODINGS {
        let (_server, client) = client(&site, *encoding).await;
        let maps = Api::<ConfigMap>::namespaced(&client, "default");
        let before = site.seen().len();
        let strategic = Patch::Strategic(json!({}));
        let patched = maps.patch("a", &PatchParams::default(), &strategic).await;
        assert!(patched.is_err_and(|error| error.status().is_some()));
        assert_eq!(site.seen().len(), before + 1);
    }
}

#[tokio::test]
async fn a_kind_that_a_codec_does_not_know_is_sent_as_json() {
    let site = Site::new(|seen| accepted(seen, 200, &object()));
    let (_server, client) = client(&site, Encoding::Framed).await;
    let sites = in_group("demo.dev");
    let object = DynamicObject::new(&sites, "a");
    let sites = Api::<DynamicObject>::of(&client, sites, Some("default"));
    sites.create(&PostParams::default(), &object).await.unwrap();
    assert_eq!(sent(&site), ["POST application/json → application/json"]);
}

#[tokio::test]
async fn other_kinds_have_an_encoding_of_their_own_until_the_server_refuses_it() {
    let site = Site::new(|seen| match seen.method.as_str() {
        "PUT" => json_answer(415, "{\"code\": 415}"),
        _ => accepted(seen, 200, &object()),
    });
    let server = Server::start(&site).await;
    let client = Client::builder(server.config()).encoding_of_other_kinds(Encoding::Framed);
    let client = client.build().unwrap();
    let sites = in_group("demo.k8s.io");
    let object = DynamicObject::new(&sites, "a");
    let sites = Api::<DynamicObject>::of(&client, sites, Some("default"));
    sites.create(&PostParams::default(), &object).await.unwrap();
    let refused = sites.replace("a", &PostParams::default(), &object).await;
    assert!(refused.is_err());
    sites.create(&PostParams::default(), &object).await.unwrap();
    let unknown = in_group("demo.dev");
    let unknown = Api::<DynamicObject>::of(&client, unknown, Some("default"));
    let _ = unknown.get("a").await;
    let framed = "application/framed, application/json;q=0.9";
    assert_eq!(
        sent(&site),
        [
            format!("POST application/framed → {framed}"),
            format!("PUT application/framed → {framed}"),
            format!("PUT application/json → {framed}"),
            format!("POST application/json → {framed}"),
            // The other encoding does not have this kind either.
            "GET  → application/json".to_owned(),
        ]
    );
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    let _ = maps.get("a").await;
    assert_eq!(sent(&site)[5], format!("GET  → {PROTOBUF}"));
}

#[tokio::test]
async fn an_apply_has_the_chosen_encoding_and_other_patches_are_json() {
    let site = Site::new(|seen| accepted(seen, 200, &object()));
    for encoding in crate::client::codec::ALL_ENCODINGS {
        let (_server, client) = client(&site, *encoding).await;
        let maps = Api::<ConfigMap>::namespaced(&client, "default");
        let before = site.seen().len();
        let apply = PatchParams::apply("me");
        for patch in [Patch::Apply(object()), Patch::apply(&map()).unwrap()] {
            maps.patch("a", &apply, &patch).await.unwrap();
        }
        let merge = Patch::Merge(json!({}));
        maps.patch("a", &PatchParams::default(), &merge)
            .await
            .unwrap();
        let [one, two, three] = &site.seen()[before..] else {
            panic!("{:?}", sent(&site))
        };
        let media_type = match encoding {
            #[cfg(feature = "cbor")]
            Encoding::Cbor => "application/apply-patch+cbor",
            _ => "application/apply-patch+yaml",
        };
        for seen in [one, two] {
            assert_eq!(seen.header("content-type"), media_type);
            let encoding = match encoding {
                Encoding::Framed => Encoding::Json,
                other => *other,
            };
            let sent = crate::client::codec::Encoded {
                encoding,
                bytes: seen.body.clone(),
            };
            let sent: Value = crate::client::decode::decode_object(&sent, true).unwrap();
            assert_eq!(sent["metadata"]["name"], "a");
        }
        let media_type = three.header("content-type");
        assert_eq!(media_type, "application/merge-patch+json");
    }
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf, application/json;q=0.9";

/// A value in protobuf if the client accepts it, as the sandbox writes it.
fn in_protobuf(seen: &Seen, value: &Value) -> Option<Answer> {
    let accepts = seen
        .header("accept")
        .starts_with("application/vnd.kubernetes.protobuf");
    let (body, media_type) = match accepts {
        true => {
            let body = pilothouse_sandbox::internals::protobuf::encode(value).unwrap();
            (body, "application/vnd.kubernetes.protobuf")
        }
        false => (value.to_string().into_bytes(), "application/json"),
    };
    let answer = http::Response::builder().header("content-type", media_type);
    Some(answer.body(Full::from(body).boxed_unsync()).unwrap())
}

#[tokio::test]
async fn protobuf_is_asked_for_and_bodies_are_json() {
    let site = Site::new(|seen| in_protobuf(seen, &object()));
    let (_server, client) = client(&site, Encoding::Protobuf).await;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    assert_eq!(maps.get("a").await.unwrap(), map());
    let created = maps.create(&PostParams::default(), &map()).await;
    assert_eq!(created.unwrap(), map());
    assert_eq!(
        sent(&site),
        [
            format!("GET  → {PROTOBUF}"),
            format!("POST application/json → {PROTOBUF}")
        ]
    );
}

#[tokio::test]
async fn protobuf_is_not_asked_for_custom_kinds_and_subresources_of_unknown_content() {
    let site = Site::new(|seen| in_protobuf(seen, &object()));
    let (_server, client) = client(&site, Encoding::Protobuf).await;
    let sites = in_group("demo.k8s.io");
    let sites = Api::<DynamicObject>::of(&client, sites, Some("default"));
    // The answer is about another kind.
    let _ = sites.get("a").await;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    let _ = maps.get_subresource::<Value>("a", "other").await;
    let json = "GET  → application/json";
    assert_eq!(sent(&site), [json, json]);
}

/// So that a newer server's fields come back when the object is written.
#[tokio::test]
async fn protobuf_is_not_asked_for_objects_with_all_fields() {
    let site = Site::new(|seen| in_protobuf(seen, &object()));
    let (_server, client) = client(&site, Encoding::Protobuf).await;
    let maps = ApiResource::of::<ConfigMap>();
    let maps = Api::<DynamicObject>::of(&client, maps, Some("default"));
    maps.get("a").await.unwrap();
    assert_eq!(sent(&site), ["GET  → application/json"]);
}

#[tokio::test]
async fn a_server_that_refuses_protobuf_is_asked_for_json_from_then_on() {
    let site = Site::new(|seen| match seen.header("accept") {
        "application/json" => in_protobuf(seen, &object()),
        _ => json_answer(
            406,
            r#"{"kind": "Status", "code": 406, "reason": "NotAcceptable", "message": "only JSON"}"#,
        ),
    });
    let (_server, client) = client(&site, Encoding::Protobuf).await;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    for _ in 0..2 {
        assert_eq!(maps.get("a").await.unwrap(), map());
    }
    let json = "GET  → application/json";
    let protobuf = format!("GET  → {PROTOBUF}");
    assert_eq!(sent(&site), [&*protobuf, json, json]);
}

#[tokio::test]
async fn a_server_may_answer_in_json_instead_of_protobuf() {
    let site = Site::new(|_| json_answer(200, OBJECT));
    let (_server, client) = client(&site, Encoding::Protobuf).await;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    assert_eq!(maps.get("a").await.unwrap(), map());
    assert_eq!(sent(&site), [format!("GET  → {PROTOBUF}")]);
}

/// A proxy that loses the body of an answer must not make an empty object of it.
#[tokio::test]
async fn an_answer_without_an_envelope_is_an_error() {
    let site = Site::new(|_| {
        let answer = http::Response::builder();
        let answer = answer.header("content-type", "application/vnd.kubernetes.protobuf");
        Some(answer.body(Full::default().boxed_unsync()).unwrap())
    });
    let (_server, client) = client(&site, Encoding::Protobuf).await;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    let list = maps.list(&ListParams::default()).await;
    assert!(list.is_err(), "{list:?}");
    assert!(maps.create(&PostParams::default(), &map()).await.is_err());
}

/// JSON whose bytes come in the other order. An event has a zero after it.
#[derive(Debug)]
struct Reversed;

impl ObjectCodec for Reversed {
    fn media_type(&self) -> &'static str {
        "application/vnd.example.reversed"
    }

    fn has(&self, resource: &ApiResource) -> bool {
        resource.kind == "ConfigMap" && resource.version == "v1"
    }

    fn decode(&self, document: &[u8]) -> Result<Vec<u8>, String> {
        match document.ends_with(b"{") {
            true => Ok(document.iter().rev().copied().collect()),
            false => Err("not in the other order".to_owned()),
        }
    }

    fn has_writer(&self) -> bool {
        true
    }

    fn encode(&self, json: &[u8]) -> Result<Vec<u8>, String> {
        Ok(json.iter().rev().copied().collect())
    }

    fn event(&self, body: &[u8]) -> Result<Option<EventFrame>, String> {
        let end = body.iter().position(|byte| *byte == 0);
        Ok(end.map(|end| EventFrame {
            document: 0..end,
            length: end + 1,
        }))
    }
}

#[tokio::test]
async fn a_program_may_add_an_encoding() {
    let answer = |code: u16, value: &Value, end: &[u8]| {
        let body = Reversed.encode(value.to_string().as_bytes()).unwrap();
        let answer = http::Response::builder().status(code);
        let answer = answer.header("content-type", Reversed.media_type());
        let body = Full::from([&body, end].concat()).boxed_unsync();
        Some(answer.body(body).unwrap())
    };
    let site = Site::new(move |seen| {
        if seen.header("accept") == "application/json" {
            return json_answer(200, OBJECT);
        }
        let gone = json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "it is not there", "details": {"name": "missing"}});
        match seen.uri.rsplit('/').next().unwrap() {
            "missing" => answer(404, &gone, b""),
            "broken" => answer(200, &object(), b"x"),
            watch if watch.contains("watch=true") => {
                let event = json!({"type": "ADDED", "object": object()});
                let one = Reversed.encode(event.to_string().as_bytes()).unwrap();
                answer(200, &event, &[b"\0", &*one, b"\0x\0"].concat())
            }
            _ => answer(200, &object(), b""),
        }
    });
    let (_server, client) = client(&site, Encoding::added(&Reversed)).await;
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    assert_eq!(maps.get("a").await.unwrap(), map());
    let replaced = maps.replace("a", &PostParams::default(), &map()).await;
    assert_eq!(replaced.unwrap(), map());
    assert_eq!(
        maps.get("missing").await.unwrap_err().to_string(),
        "get ConfigMap default/missing: not found: it is not there"
    );
    let broken = maps.get("broken").await.unwrap_err().to_string();
    assert!(broken.contains("not in the other order"), "{broken}");
    let mut watch = maps.watch(&WatchParams::default()).await.unwrap();
    for _ in 0..2 {
        let event = watch.next().await.unwrap().unwrap();
        assert_eq!(event, WatchEvent::Added(map()));
    }
    assert!(watch.next().await.unwrap().is_err());
    assert!(watch.next().await.is_none());
    // The codec does not have this version.
    let other = ApiResource {
        version: "v2".into(),
        ..ApiResource::of::<ConfigMap>()
    };
    let other = Api::<DynamicObject>::of(&client, other, Some("default"));
    let _ = other.get("a").await;
    let reversed = "application/vnd.example.reversed";
    let accept = format!("{reversed}, application/json;q=0.9");
    let get = format!("GET  → {accept}");
    let put = format!("PUT {reversed} → {accept}");
    let json = "GET  → application/json";
    assert_eq!(sent(&site), [&*get, &put, &get, &get, &get, json]);
}
