use k8s_openapi::api::{
    core::v1::{ConfigMap, Namespace},
    rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject},
};

use super::OfflineAdmission;
use crate::{
    admission::{AdmissionRule, Message, Params, ValidationAction},
    resource::{Object, ObjectMeta},
    webhook::{Admission, Change, Denied, Mutate, Operation, Validate, Warnings},
};

fn page(name: &str, namespace: &str, text: &str) -> ConfigMap {
    let mut page = ConfigMap::named(name);
    page.metadata.namespace = Some(namespace.into());
    page.data = Some([("text".into(), text.into())].into());
    page
}

fn on(name: &str) -> AdmissionRule {
    AdmissionRule::on::<ConfigMap>(name)
}

fn with(rule: AdmissionRule) -> OfflineAdmission<ConfigMap> {
    OfflineAdmission::new().rule(rule)
}

fn text<T>(denied: Result<T, Denied>) -> String {
    match denied {
        Ok(_) => "allowed".into(),
        Err(denied) => format!("{}: {denied}", denied.code()),
    }
}

#[tokio::test]
async fn a_rule_sees_the_old_object() {
    let stays = || {
        on("stays").check(
            "oldObject == null || object.data.text == oldObject.data.text",
            "text stays",
        )
    };
    let (a, b) = (page("a", "blue", "a"), page("a", "blue", "b"));
    assert_eq!(text(with(stays()).create(&b).await), "allowed");
    assert_eq!(text(with(stays()).update(&a, &a).await), "allowed");
    let denied = text(with(stays()).update(&a, &b).await);
    let expected = "422: configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'offline.stays' with binding 'offline.stays' denied request: \
                    text stays";
    assert_eq!(denied, expected);
    let kept = || {
        on("kept")
            .operations([Operation::Delete])
            .check("oldObject.data.text != 'a'", "a stays")
    };
    assert!(text(with(kept()).delete(&a).await).ends_with("denied request: a stays"));
    assert_eq!(text(with(kept()).delete(&b).await), "allowed");
}

#[tokio::test]
async fn a_rule_sees_parameters_and_the_namespace() {
    let most = |params: Params| {
        on("most").params::<ConfigMap>(params).check(
            "object.data.text.size() <= int(params.data.text)",
            Message::expression("'at most ' + params.data.text", "too long"),
        )
    };
    let limits = page("limits", "blue", "3");
    let in_blue = || with(most(Params::named("limits"))).cached(&limits);
    assert_eq!(
        text(in_blue().create(&page("a", "blue", "abc")).await),
        "allowed"
    );
    let denied = text(in_blue().create(&page("a", "blue", "abcd")).await);
    assert!(denied.ends_with("denied request: at most 3"), "{denied}");
    // Other namespaces have none.
    let denied = text(in_blue().create(&page("a", "red", "a")).await);
    assert!(denied.contains("no params found"), "{denied}");
    let optional = with(most(Params::named("limits").optional())).cached(&limits);
    assert_eq!(
        text(optional.create(&page("a", "red", "abcd")).await),
        "allowed"
    );
    let everywhere = with(most(Params::named("limits").in_namespace("blue"))).cached(&limits);
    assert!(text(everywhere.create(&page("a", "red", "abcd")).await).ends_with("at most 3"));

    let mut frozen = Namespace::named("blue");
    frozen.metadata = ObjectMeta {
        labels: Some([("frozen".to_owned(), "yes".to_owned())].into()),
        ..frozen.metadata
    };
    let open = || on("open").check("!('frozen' in namespaceObject.metadata.labels)", "frozen");
    let admission = || with(open()).cached(&frozen);
    assert!(text(admission().create(&page("a", "blue", "a")).await).ends_with("request: frozen"));
    assert_eq!(
        text(admission().create(&page("a", "red", "a")).await),
        "allowed"
    );
}

#[tokio::test]
async fn a_rule_asks_what_the_user_may_do() {
    let asks = || {
        on("publishers").check(
            "authorizer.requestResource.check('publish').allowed()",
            "you may not publish",
        )
    };
    let mut role = Role::named("publishers");
    role.metadata.namespace = Some("blue".into());
    role.rules = Some(vec![PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".into()]),
        verbs: vec!["publish".into()],
        ..PolicyRule::default()
    }]);
    let mut binding = RoleBinding::named("publishers");
    binding.metadata.namespace = Some("blue".into());
    binding.role_ref = RoleRef {
        api_group: Some("rbac.authorization.k8s.io".into()),
        kind: "Role".into(),
        name: "publishers".into(),
    };
    binding.subjects = Some(vec![Subject {
        api_group: Some("rbac.authorization.k8s.io".into()),
        kind: "Group".into(),
        name: "editors".into(),
        namespace: None,
    }]);
    let admission = || with(asks()).cached(&role).cached(&binding);
    let page = page("a", "blue", "a");
    assert!(text(admission().create(&page).await).ends_with("you may not publish"));
    let editor = admission().user("ann", ["editors"]);
    assert_eq!(text(editor.create(&page).await), "allowed");
}

/// Doubles the text.
struct Double;

impl Mutate for Double {
    type Resource = ConfigMap;

    async fn mutate(&self, page: &mut ConfigMap, _: &Admission) -> Result<Warnings, Denied> {
        let data = page.data.get_or_insert_default();
        let text = data.entry("text".into()).or_default();
        *text = format!("{text}{text}");
        Ok(Warnings::none())
    }
}

impl Validate for Double {
    type Resource = ConfigMap;

    async fn validate(
        &self,
        change: &Change<ConfigMap>,
        _: &Admission,
    ) -> Result<Warnings, Denied> {
        let data = change.new_object().and_then(|new| new.data.clone());
        Ok(format!("{data:?}").into())
    }
}

#[tokio::test]
async fn rules_run_between_mutations_and_validations() {
    let rule = on("all")
        .apply("Object{data: {'seen': object.data.text}}")
        .check("object.data.seen != 'aa'", "seen")
        .actions([ValidationAction::Warn]);
    let admission = with(rule).mutates(Double).validates(Double);
    let (stored, warnings) = admission.create(&page("a", "blue", "a")).await.unwrap();
    assert_eq!(stored.data.unwrap()["seen"], "aa");
    let warnings: Vec<_> = warnings.iter().collect();
    assert_eq!(
        warnings,
        [
            "Validation failed for ValidatingAdmissionPolicy 'offline.all' with binding 'offline.all': seen",
            "Some({\"seen\": \"aa\", \"text\": \"aa\"})",
        ]
    );
}

#[tokio::test]
async fn a_dry_run_and_a_wrong_rule_are_what_they_are_in_a_cluster() {
    let dry = on("dry").check("!request.dryRun", "not in a dry run");
    let page = page("a", "blue", "a");
    assert_eq!(text(with(dry.clone()).create(&page).await), "allowed");
    assert!(text(with(dry).dry_run().create(&page).await).ends_with("not in a dry run"));
    let wrong = text(
        with(on("wrong").check("object.dota == {}", "x"))
            .create(&page)
            .await,
    );
    assert!(
        wrong.starts_with("500: ") && wrong.contains("undefined field 'dota'"),
        "{wrong}"
    );
}
