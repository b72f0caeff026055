use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::update::Change;
use super::*;
use crate::Sandbox;
use crate::registry::GroupResource;

fn gadgets() -> GroupResource {
    GroupResource::new("example.com", "gadgets")
}

fn definition() -> Value {
    let version = |name: &str, field: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {field: {"type": "string"}}}}}}})
    };
    json!({
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [version("v1", "color", true), version("v2", "paint", false)],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "default", "name": "convert"}},
            }},
        },
    })
}

fn gadget(version: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Gadget",
        "metadata": {"name": name, "labels": {"a": "b"}}, "spec": spec,
    })
}

/// What a webhook does with a converted object before it returns it.
type Spoil = fn(&mut Value);

struct World {
    sandbox: Sandbox,
    /// The number of objects in each review.
    asked: Arc<Mutex<Vec<usize>>>,
}

impl World {
    async fn new(spoil: Spoil) -> Self {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
        let seen = asked.clone();
        sandbox.webhook("default/convert", move |request: Request<Bytes>| {
            let review: Value = serde_json::from_slice(request.body()).unwrap();
            let request = &review["request"];
            let objects = request["objects"].as_array().unwrap();
            seen.lock().push(objects.len());
            let converted = objects.iter().map(|object| {
                let mut object = object.clone();
                let (from, to) = match request["desiredAPIVersion"] == "example.com/v2" {
                    true => ("color", "paint"),
                    false => ("paint", "color"),
                };
                let value = object["spec"].as_object_mut().unwrap().remove(from).unwrap();
                object["spec"][to] = value;
                object["apiVersion"] = request["desiredAPIVersion"].clone();
                spoil(&mut object);
                object
            });
            let converted: Vec<Value> = converted.collect();
            let refused = converted.iter().any(|object| object["spec"]["refuse"] == true);
            let result = match refused {
                true => json!({"status": "Failed", "message": "no such color"}),
                false => json!({"status": "Success"}),
            };
            let answer = json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": {
                "uid": request["uid"], "convertedObjects": converted, "result": result}});
            async move { Response::new(answer.to_string().into()) }
        });
        let handle = Handle::new(sandbox.core(), "test");
        let definitions = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
        handle.create(&definitions, definition()).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        Self { sandbox, asked }
    }

    fn target(&self, version: &str) -> Target {
        let registry = self.sandbox.core().registry();
        let kind = registry.find("example.com", version, "gadgets").unwrap();
        Target::new(kind, Some("default"))
    }

    async fn create(&self, version: &str, name: &str, spec: Value) -> Result<Value, ApiError> {
        let object = gadget(version, name, spec);
        let options = WriteOptions::default();
        let target = self.target(version);
        let created = create(self.sandbox.core(), &target, object, &options, false).await;
        created.map(|created| Arc::unwrap_or_clone(created.object))
    }

    fn stored(&self, name: &str) -> Option<Arc<Value>> {
        let handle = Handle::new(self.sandbox.core(), "test");
        handle.get(&gadgets(), Some("default"), name)
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_is_stored_in_one_version_and_read_in_each() {
    let world = World::new(|_| ()).await;
    let (two, options) = (world.target("v2"), WriteOptions::default());
    let core = world.sandbox.core();
    let created = world
        .create("v2", "one", json!({"paint": "red"}))
        .await
        .unwrap();
    assert_eq!(created["spec"], json!({"paint": "red"}));
    assert_eq!(created["apiVersion"], "example.com/v2");
    let stored = world.stored("one").unwrap();
    assert_eq!(
        (&stored["apiVersion"], &stored["spec"]),
        (&json!("example.com/v1"), &json!({"color": "red"}))
    );

    world.asked.lock().clear();
    let read = get(core, &world.target("v1"), "one", "", None)
        .await
        .unwrap();
    assert_eq!(read.value()["spec"], json!({"color": "red"}));
    assert!(
        world.asked.lock().is_empty(),
        "the stored version needs no call"
    );
    let changed = update(core, &two, "one", "", &options, |current| {
        assert_eq!(current["spec"], json!({"paint": "red"}));
        let mut new = current.clone();
        new["spec"]["paint"] = "blue".into();
        Ok(Change::Plain(new))
    });
    assert_eq!(
        changed.await.unwrap().object["spec"],
        json!({"paint": "blue"})
    );
    assert_eq!(
        world.stored("one").unwrap()["spec"],
        json!({"color": "blue"})
    );
    let same = update(core, &two, "one", "", &options, |current| {
        Ok(Change::Plain(current.clone()))
    });
    let same = same.await.unwrap().object;
    assert_eq!(
        same["metadata"]["resourceVersion"],
        world.stored("one").unwrap()["metadata"]["resourceVersion"]
    );
    let deleted = delete(core, &two, "one", &DeleteOptions::default())
        .await
        .unwrap();
    assert_eq!(deleted.object["spec"], json!({"paint": "blue"}));
    assert!(world.stored("one").is_none());
}

/// Kubernetes converts and prunes an object before it is stored, and prunes again what it reads.
#[tokio::test(start_paused = true)]
async fn an_object_has_only_the_fields_of_its_stored_version_and_of_the_one_that_is_read() {
    let world = World::new(|_| ()).await;
    let core = world.sandbox.core();
    let definitions = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
    let handle = Handle::new(core, "test");
    let define = |spec: &dyn Fn(&mut Value)| {
        let change = |definition: &mut Value| spec(&mut definition["spec"]);
        let name = "gadgets.example.com";
        handle.update(&definitions, None, name, "", change).unwrap();
    };
    define(&|spec| {
        spec["conversion"] = json!({"strategy": "None"});
        let fields = "/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        *spec.pointer_mut(fields).unwrap() =
            json!({"size": {"type": "integer"}, "color": {"type": "string"}});
        let fields = fields.replace('0', "1");
        *spec.pointer_mut(&fields).unwrap() =
            json!({"size": {"type": "integer"}, "paint": {"type": "string"}});
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let spec = json!({"size": 1, "paint": "red"});
    let created = world.create("v2", "two", spec).await.unwrap();
    assert_eq!(created["spec"], json!({"size": 1}));
    assert_eq!(world.stored("two").unwrap()["spec"], json!({"size": 1}));
    let spec = json!({"size": 1, "color": "red"});
    world.create("v1", "one", spec.clone()).await.unwrap();
    let read = async |version: &str| {
        let target = world.target(version);
        let stored = get(core, &target, "one", "", None).await.unwrap();
        target.read(&stored.value())["spec"].clone()
    };
    assert_eq!(read("v1").await, spec);
    assert_eq!(read("v2").await, json!({"size": 1}));
    // The definition loses a field that an object has.
    define(&|spec| {
        let fields = "/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        *spec.pointer_mut(fields).unwrap() = json!({"size": {"type": "integer"}});
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(read("v1").await, json!({"size": 1}));
    let target = world.target("v1");
    let stored = get(core, &target, "one", "", None).await.unwrap();
    assert!(!target.reads_as_stored(&stored));
}

#[tokio::test(start_paused = true)]
async fn a_list_is_converted_at_once_and_a_watch_event_by_event() {
    let world = World::new(|_| ()).await;
    let core = world.sandbox.core();
    let request = WatchRequest {
        selection: crate::store::selector::Selection::default(),
        start: Start::Now,
        initial_end: false,
    };
    let mut watch = Watch::open(core, world.target("v2"), request, None).unwrap();
    for name in ["one", "two"] {
        world
            .create("v1", name, json!({"color": "red"}))
            .await
            .unwrap();
    }
    assert!(world.asked.lock().is_empty());
    let listed = list(core, &world.target("v2"), &ListRequest::default())
        .await
        .unwrap();
    let entries = listed.entries.iter();
    let specs = entries.map(|(_, object)| object.value()["spec"].clone());
    let specs: Vec<Value> = specs.collect();
    assert_eq!(specs, [json!({"paint": "red"}), json!({"paint": "red"})]);
    assert_eq!(*world.asked.lock(), [2]);
    let events = watch.take(10, None).unwrap();
    let events = convert_events(core, &world.target("v2"), events).await;
    assert!(
        matches!(&events[0], Event::Added(object) if object.value()["spec"] == json!({"paint": "red"}))
    );
}

#[tokio::test(start_paused = true)]
async fn a_webhook_may_change_labels_and_nothing_else_of_the_metadata() {
    let world = World::new(|object| {
        object["metadata"]["labels"] = json!({"c": "d"});
        object["metadata"]["finalizers"] = json!(["example.com/x"]);
    })
    .await;
    let created = world
        .create("v1", "one", json!({"color": "red"}))
        .await
        .unwrap();
    let read = get(world.sandbox.core(), &world.target("v2"), "one", "", None)
        .await
        .unwrap();
    let read = read.value();
    assert_eq!(read["metadata"]["labels"], json!({"c": "d"}));
    assert!(read["metadata"].get("finalizers").is_none());
    assert_eq!(read["metadata"]["uid"], created["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_conversion_has_the_text_of_a_real_server() {
    let table: [(Spoil, &str); 4] = [
        (
            |object| object["metadata"]["name"] = "other".into(),
            "returned invalid object: must have the same name: one != other",
        ),
        (
            |object| object["kind"] = "Other".into(),
            "returned invalid object at index 0: invalid kind (expected Gadget, received Other)",
        ),
        (
            |object| object["spec"]["refuse"] = true.into(),
            "failed: no such color",
        ),
        (
            |object| object["metadata"]["labels"] = json!({"a": 1}),
            "returned invalid metadata: metadata.labels[a] must be a string in converted object",
        ),
    ];
    for (spoil, text) in table {
        let world = World::new(spoil).await;
        world
            .create("v1", "one", json!({"color": "red"}))
            .await
            .unwrap();
        let error = get(world.sandbox.core(), &world.target("v2"), "one", "", None)
            .await
            .unwrap_err();
        let begin = "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /example.com/gadgets/default/one, \
                     ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=";
        let end = format!(": conversion webhook for example.com/v1, Kind=Gadget {text}");
        let message = &error.message;
        assert!(
            message.starts_with(begin) && message.ends_with(&end),
            "{message}"
        );
        assert_eq!(error.code, 500);
    }
}

#[test]
fn an_answer_that_is_no_object_is_no_response() {
    for answer in ["[]", "1", "\"x\"", "null", "{}", r#"{"response": []}"#] {
        let read = super::convert::read_answer(answer.as_bytes(), "v1beta1", "a");
        assert_eq!(read, Err("no response provided".to_owned()), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn controllers_delete_objects_of_each_version() {
    let world = World::new(|_| ()).await;
    let handle = Handle::new(world.sandbox.core(), "test");
    let namespace = json!({"metadata": {"name": "gone"}});
    let namespaces = GroupResource::new("", "namespaces");
    handle.create(&namespaces, namespace).unwrap();
    let registry = world.sandbox.core().registry();
    let kind = registry.find("example.com", "v2", "gadgets").unwrap();
    let target = Target::new(kind, Some("gone"));
    let object = gadget("v2", "one", json!({"paint": "red"}));
    let options = WriteOptions::default();
    create(world.sandbox.core(), &target, object, &options, false)
        .await
        .unwrap();
    handle
        .delete(&namespaces, None, "gone", &DeleteOptions::default())
        .unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(handle.get(&namespaces, None, "gone").is_none());
}
