//! Authentication: tokens of users and service accounts, and token reviews.

use serde_json::{Value, json};

use super::reviews::{guarded, read, review};

#[tokio::test]
async fn a_token_review_names_the_user_of_a_known_token() {
    let client = guarded().await;
    assert_eq!(
        review(&client, "TokenReview", json!({"token": "ann"})).await,
        json!({
            "authenticated": true, "audiences": ["https://kubernetes.default.svc.cluster.local"],
            "user": {"username": "ann", "groups": ["staff", "system:authenticated"]},
        })
    );
    let nobody = review(&client, "TokenReview", json!({"token": "none"})).await;
    assert!(
        nobody["authenticated"].is_null() && nobody["error"].is_string(),
        "{nobody}"
    );
    let other = review(
        &client,
        "TokenReview",
        json!({"token": "ann", "audiences": ["vault"]}),
    )
    .await;
    assert!(other["authenticated"].is_null(), "{other}");
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    assert_eq!(client.post(path, &json!({"spec": {}})).await.code, 400);
}

#[tokio::test(start_paused = true)]
async fn a_service_account_token_is_valid_for_its_audience_and_lifetime() {
    let client = guarded().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    client
        .post(accounts, &json!({"metadata": {"name": "robot"}}))
        .await
        .object();
    let issue = async |spec: Value| {
        let path = format!("{accounts}/robot/token");
        let issued = client.post(&path, &json!({"spec": spec})).await.object();
        issued["status"]["token"].as_str().unwrap().to_owned()
    };
    let own = issue(json!({"expirationSeconds": 600})).await;
    let vault = issue(json!({"audiences": ["vault", "other"]})).await;
    let status = review(&client, "TokenReview", json!({"token": own})).await;
    assert_eq!(
        status["user"]["username"],
        "system:serviceaccount:default:robot"
    );
    let status = review(
        &client,
        "TokenReview",
        json!({"token": vault, "audiences": ["vault"]}),
    )
    .await;
    assert_eq!(
        (&status["authenticated"], &status["audiences"]),
        (&json!(true), &json!(["vault"]))
    );
    assert!(
        review(&client, "TokenReview", json!({"token": vault})).await["authenticated"].is_null()
    );
    assert_eq!(read(&client, &own, "/version").await, 200);
    assert_eq!(read(&client, &vault, "/version").await, 401);
    tokio::time::sleep(std::time::Duration::from_secs(601)).await;
    assert!(review(&client, "TokenReview", json!({"token": own})).await["authenticated"].is_null());
    assert_eq!(read(&client, &own, "/version").await, 401);
}

#[tokio::test(start_paused = true)]
async fn a_token_ends_with_its_service_account_and_with_the_pod_that_it_is_bound_to() {
    let client = guarded().await;
    let core = "/api/v1/namespaces/default";
    let account = json!({"metadata": {"name": "robot"}});
    let accounts = format!("{core}/serviceaccounts");
    client.post(&accounts, &account).await.object();
    let pod = json!({"metadata": {"name": "one"}, "spec": {
        "serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}});
    client.post(&format!("{core}/pods"), &pod).await.object();
    let issue = async |spec: Value| {
        let path = format!("{accounts}/robot/token");
        let issued = client.post(&path, &json!({"spec": spec})).await.object();
        issued["status"]["token"].as_str().unwrap().to_owned()
    };
    let reference = json!({"kind": "Pod", "apiVersion": "v1", "name": "one"});
    let bound = issue(json!({"boundObjectRef": reference})).await;
    let free = issue(json!({})).await;
    let both = async || {
        [
            read(&client, &bound, "/version").await,
            read(&client, &free, "/version").await,
        ]
    };
    assert_eq!(both().await, [200, 200]);
    client.delete(&format!("{core}/pods/one")).await.object();
    assert_eq!(both().await, [401, 200]);
    let status = review(&client, "TokenReview", json!({"token": bound})).await;
    assert_eq!(
        status["error"],
        "[invalid bearer token, service account token has been invalidated]"
    );
    // Another account of the same name is another account.
    client.delete(&format!("{accounts}/robot")).await.object();
    assert_eq!(both().await, [401, 401]);
    client.post(&accounts, &account).await.object();
    assert_eq!(both().await, [401, 401]);
}

#[tokio::test]
async fn a_token_review_gives_the_reason_for_a_refusal_and_audiences_in_the_requested_order() {
    let client = guarded().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let robot = json!({"metadata": {"name": "robot"}});
    client.post(accounts, &robot).await.object();
    let spec = json!({"spec": {"audiences": ["one", "two"]}});
    let issued = client.post(&format!("{accounts}/robot/token"), &spec).await;
    let token = issued.object()["status"]["token"].clone();
    let of = async |token: &Value, audiences: Value| {
        let spec = json!({"token": token, "audiences": audiences});
        review(&client, "TokenReview", spec).await
    };
    let nobody = of(&json!("nobody"), json!([])).await;
    assert_eq!(nobody["error"], "invalid bearer token");
    let others = of(&token, json!(["three"])).await;
    assert_eq!(
        others["error"],
        "[invalid bearer token, token audiences [\"one\" \"two\"] is invalid for the target audiences [\"three\"]]"
    );
    let both = of(&token, json!(["two", "three", "one"])).await;
    assert_eq!(both["audiences"], json!(["two", "one"]));
}
