//! What a webhook is told of the request beside the objects.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde::Deserialize;
use serde_json::json;

use super::{
    Admission, Change, Denied, Operation, Rules, Validate, Warnings,
    tests::{World, page, request, review},
};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateOptions {
    field_manager: Option<String>,
}

/// Writes what it is told into a warning.
struct Told;

impl Validate for Told {
    type Resource = ConfigMap;

    async fn validate(&self, _: &Change<ConfigMap>, cx: &Admission) -> Result<Warnings, Denied> {
        let user = cx.user().username.as_deref().unwrap_or_default();
        let part = cx.subresource().unwrap_or("the object");
        let options = cx.options::<CreateOptions>()?.unwrap_or_default();
        let manager = options.field_manager.unwrap_or_default();
        Ok(Warnings::from(&*format!(
            "{user} writes {part} as {manager}"
        )))
    }
}

#[tokio::test]
async fn a_webhook_knows_the_user_the_subresource_and_the_options() {
    let world = World::validating(Told);
    let mut seen = request("CREATE", json!(null), page(json!({})));
    let (_, answer) = world.post(review(&seen)).await;
    let told = |text: &str| json!([text]);
    assert_eq!(
        answer["response"]["warnings"],
        told("jane writes the object as test")
    );
    seen["subResource"] = json!("status");
    seen["options"] = json!(null);
    let (_, answer) = world.post(review(&seen)).await;
    assert_eq!(
        answer["response"]["warnings"],
        told("jane writes status as ")
    );
    // Options that do not fit their type deny the request, without a value of them.
    seen["options"] = json!({"fieldManager": ["hunter2"]});
    let (_, answer) = world.post(review(&seen)).await;
    let message = answer["response"]["status"]["message"].as_str().unwrap();
    assert_eq!(
        message,
        "the field `options` of the request does not fit the type that the operator has for it: fieldManager: expected a string, found a list"
    );
}

/// Lets nobody run a shell in a Pod.
struct NoShell;

impl Validate for NoShell {
    type Resource = Pod;

    fn rules(&self, rules: Rules) -> Rules {
        rules
            .subresources(["exec"])
            .operations([Operation::Connect])
    }

    async fn validate(&self, change: &Change<Pod>, cx: &Admission) -> Result<Warnings, Denied> {
        assert_eq!((change.new_object(), change.old_object()), (None, None));
        let Change::Connect { options } = change else {
            panic!("{change:?}");
        };
        match options.data["command"][0].as_str() {
            Some("sh") => {
                let pod = cx.name().unwrap_or_default();
                Err(Denied::new(format!("no shell in {pod}")))
            }
            _ => Ok(Warnings::none()),
        }
    }
}

#[tokio::test]
async fn a_connection_shows_its_options_and_can_be_denied() {
    let world = World::validating(NoShell);
    let connect = |command: &str| {
        let options = json!({"apiVersion": "v1", "kind": "PodExecOptions", "command": [command], "stdin": true});
        let mut request = request("CONNECT", json!(null), options);
        request["kind"] = json!({"group": "", "version": "v1", "kind": "PodExecOptions"});
        request["subResource"] = json!("exec");
        review(&request)
    };
    let (_, answer) = world.post(connect("ls")).await;
    assert_eq!(answer["response"]["allowed"], true, "{answer}");
    let (_, answer) = world.post(connect("sh")).await;
    assert_eq!(answer["response"]["status"]["message"], "no shell in page");
}
