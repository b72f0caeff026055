//! Built-in kinds that do more than store objects. `tests/tests/conformance` compares all kinds with a real server.

use serde_json::{Value, json};

use crate::client::{APPLY, Client, MERGE};

const PODS: &str = "/api/v1/namespaces/default/pods";
const AUTOSCALERS_V1: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const AUTOSCALERS_V2: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Any sequence in DER, as a certificate request in PEM, in base64.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUFBPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";

fn autoscaler() -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let memory = json!({"type": "Resource", "resource": {"name": "memory",
        "target": {"type": "AverageValue", "averageValue": "1Gi"}}});
    json!({"metadata": {"name": "web"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [memory]}})
}

#[tokio::test(start_paused = true)]
async fn an_autoscaler_is_one_object_in_both_versions() {
    let client = Client::new().await;
    client.post(AUTOSCALERS_V2, &autoscaler()).await.object();
    let one = format!("{AUTOSCALERS_V1}/web");
    let cpu = json!({"spec": {"targetCPUUtilizationPercentage": 70}});
    let old = client.patch(MERGE, &one, &cpu).await.object();
    assert_eq!(old["apiVersion"], "autoscaling/v1");
    let new = client.get(&format!("{AUTOSCALERS_V2}/web")).await.object();
    let metrics: Vec<&Value> = new["spec"]["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|metric| &metric["resource"]["name"])
        .collect();
    assert_eq!(metrics, ["memory", "cpu"]);
    let listed = client.get(AUTOSCALERS_V1).await.object();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_apply_to_an_autoscaler_respects_the_owners_of_its_other_version() {
    let client = Client::new().await;
    let cpu = json!([{"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 60}}}]);
    let mut made = autoscaler();
    made["spec"]["metrics"] = cpu.clone();
    client.post(AUTOSCALERS_V2, &made).await.object();
    let path = format!("{AUTOSCALERS_V1}/web?fieldManager=test");
    let applied = |percent: u32| {
        json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
            "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": percent}})
    };
    let refused = client.patch(APPLY, &path, &applied(50)).await;
    assert_eq!(refused.code, 409, "{}", refused.text);
    assert!(refused.text.contains(".spec.metrics"), "{}", refused.text);
    client.patch(APPLY, &path, &applied(60)).await.object();
    // Two own it: what one leaves out stays.
    let left_out = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}});
    let left = client.patch(APPLY, &path, &left_out).await.object();
    assert_eq!(left["spec"]["targetCPUUtilizationPercentage"], 60);
    let forced = client
        .patch(APPLY, &format!("{path}&force=true"), &applied(50))
        .await;
    forced.object();
    let read = client.get(&format!("{AUTOSCALERS_V2}/web")).await.object();
    let target = &read["spec"]["metrics"][0]["resource"]["target"];
    assert_eq!(target["averageUtilization"], 50);
    let managers = read["metadata"]["managedFields"].as_array().unwrap();
    let mut of_version_2 = managers
        .iter()
        .filter(|one| one["apiVersion"] == "autoscaling/v2");
    assert!(of_version_2.all(|one| one["fieldsV1"]["f:spec"]["f:metrics"].is_null()));
}

#[tokio::test(start_paused = true)]
async fn the_author_and_the_decision_of_a_certificate_request_have_their_own_paths() {
    let client = Client::new().await;
    let request = json!({"metadata": {"name": "a"}, "spec": {"request": REQUEST, "username": "mallory",
        "signerName": "example.com/signer", "usages": ["client auth"]}});
    let made = client.post(REQUESTS, &request).await.object();
    assert_ne!(made["spec"]["username"], "mallory");
    let decision = json!({"status": {"certificate": "YQ==",
        "conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "m"}]}});
    let one = format!("{REQUESTS}/a");
    let ignored = client.patch(MERGE, &one, &decision).await.object();
    assert_eq!(ignored["status"], json!({}));
    let refused = client
        .patch(MERGE, &format!("{one}/status"), &decision)
        .await;
    assert_eq!(refused.code, 422, "{}", refused.text);
    let approved = client
        .patch(MERGE, &format!("{one}/approval"), &decision)
        .await
        .object();
    assert!(approved["status"]["conditions"][0]["lastTransitionTime"].is_string());
    assert!(approved["status"].get("certificate").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_binding_can_be_created_beside_the_pods() {
    let client = Client::new().await;
    let pod =
        json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.post(PODS, &pod).await.object();
    let bindings = PODS.replace("pods", "bindings");
    let binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}});
    client.post(&bindings, &binding).await.object();
    let bound = client.get(&format!("{PODS}/a")).await.object();
    assert_eq!(bound["spec"]["nodeName"], "n");
    assert_eq!(client.get(&bindings).await.code, 405);
}

#[tokio::test]
async fn kinds_that_configure_a_part_of_the_server_are_only_stored() {
    let client = Client::new().await;
    let sandbox = &client.sandbox;
    assert!(sandbox.only_stores("networking.k8s.io", "Ingress"));
    assert!(sandbox.only_stores("networking.k8s.io", "NetworkPolicy"));
    let admission = "admissionregistration.k8s.io";
    assert!(sandbox.only_stores(admission, "ValidatingWebhookConfiguration"));
    assert!(!sandbox.only_stores("storage.k8s.io", "StorageClass"));
}
