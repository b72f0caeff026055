//! The access that a program declares for `rbac`.

use std::sync::Arc;

use k8s_openapi::api::{
    core::v1::{ConfigMap, Node, Secret},
    rbac::v1::PolicyRule,
};

use crate::{
    client::{Client, Config},
    controller::{Action, Cleanup, Context, Controller, Reconciler, Result},
    operator::{
        NoFlags, Operator, OperatorError, Serving,
        command_line::{CommandAction, CommandLine},
        settings::Defaults,
    },
    resource::{AccessRule, ApiResource, DynamicObject},
    webhook::{Admission, Change, Denied, Reads, Validate, Warnings},
};

struct Mirror;

impl Reconciler for Mirror {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Secret>().finalizer("example.com/mirror")
    }

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result {
        Ok(Action::wait())
    }
}

impl Cleanup for Mirror {}

struct Any;

impl Reconciler for Any {
    type Resource = DynamicObject;

    async fn reconcile(&self, _: Arc<DynamicObject>, _: &Context<DynamicObject>) -> Result {
        Ok(Action::wait())
    }
}

/// A mirror that a function builds.
fn built() -> Operator {
    Operator::new("mirror").controller_with(async |_| Ok(Mirror))
}

async fn started(operator: Operator) -> Result<(), OperatorError> {
    let client = Client::new(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    operator.start(client).await.map(drop)
}

#[test]
fn a_declared_wiring_gives_the_same_roles_as_the_reconciler() {
    let expected = Operator::new("mirror")
        .controller(Mirror)
        .roles("ops")
        .unwrap();
    let declared = built().wiring::<ConfigMap>(|controller| {
        controller.owns::<Secret>().finalizer("example.com/mirror")
    });
    assert_eq!(declared.roles("ops").unwrap(), expected);
}

#[test]
fn without_a_declared_wiring_the_error_says_what_to_write() {
    let error = built().roles("ops").unwrap_err().to_string();
    let expected = "the access of the controller of configmaps: a function builds its reconciler, and only `run` and `dev` call it, so \
                    what `wire` declares is not known here: declare the same with `.wiring::<ConfigMap>(|controller| controller..)` after \
                    `.controller_with(..)`";
    assert_eq!(error, expected);

    let unknown = || {
        let build = async |_| Ok((ApiResource::of::<Node>(), Any));
        Operator::new("any").dynamic_controller_with(build)
    };
    let error = unknown().roles("ops").unwrap_err().to_string();
    assert!(
        error.ends_with("declare its access with `Operator::access`"),
        "{error}"
    );
    let declared = unknown().access(AccessRule::of::<Node>(["list"]));
    let roles = declared.roles("ops").unwrap();
    assert_eq!(roles.cluster_roles.len(), 1);
}

#[test]
fn what_is_printed_for_a_cluster_needs_no_reconciler() {
    let operator = || {
        let build = async |_| -> Result<Mirror> { panic!("a reconciler is built") };
        let operator = Operator::new("mirror").controller_with(build);
        operator.wiring::<ConfigMap>(|controller| {
            controller.owns::<Secret>().finalizer("example.com/mirror")
        })
    };
    for line in [
        "rbac",
        "rbac --namespace blue,green",
        "manifests --image x --service-monitor --prometheus-rule",
        "alerts",
        "dashboard",
    ] {
        let words = ["mirror"].into_iter().chain(line.split(' '));
        let line = CommandLine::parse::<NoFlags>("mirror", &Defaults::default(), words, &|_| None);
        let printed = match line.unwrap().action {
            CommandAction::Rbac(options) => operator().roles_as_yaml(options),
            CommandAction::Manifests(options) => operator()
                .manifests_source(options)
                .and_then(|source| source.to_yaml()),
            CommandAction::Alerts { format, .. } => operator().alerts_as_yaml(format),
            CommandAction::Dashboard { .. } => operator().dashboard_as_json(),
            _ => unreachable!("it does not print"),
        };
        assert!(!printed.unwrap().is_empty());
    }
}

#[tokio::test]
async fn an_operator_whose_declared_wiring_differs_from_wire_does_not_start() {
    let right = built().wiring::<ConfigMap>(|controller| {
        controller.finalizer("example.com/mirror").owns::<Secret>()
    });
    started(right).await.unwrap();
    for (operator, expected) in [
        (
            built().wiring::<ConfigMap>(|controller| controller.owns::<Secret>()),
            "the access of the controller of configmaps: `.wiring::<ConfigMap>(..)` lacks configmaps: patch: declare there what `wire` declares",
        ),
        (
            built().wiring::<ConfigMap>(|controller| {
                let more = controller.owns::<Secret>().finalizer("example.com/mirror");
                more.deletes::<Secret>()
            }),
            "the access of the controller of configmaps: `.wiring::<ConfigMap>(..)` has too much: secrets: delete: declare there what `wire` declares",
        ),
        (
            built().wiring::<ConfigMap>(|controller| {
                let patch = AccessRule::of::<ConfigMap>(["patch"]);
                controller.owns::<Secret>().access(patch)
            }),
            "the access of the controller of configmaps: `.wiring::<ConfigMap>(..)` lacks the finalizer example.com/mirror: declare there what \
             `wire` declares",
        ),
        (
            Operator::new("mirror")
                .controller(Mirror)
                .wiring::<ConfigMap>(|controller| controller),
            "the access of the controller of configmaps: no `.controller_with(..)` builds a controller of this kind: remove the call of `.wiring`",
        ),
    ] {
        let error = started(operator).await.unwrap_err().to_string();
        assert_eq!(error, expected);
    }
}

#[test]
fn reviews_are_allowed_only_if_metrics_are_served_to_authorized_users() {
    let operator = || {
        Operator::new("mirror")
            .controller(Mirror)
            .serving(Serving::http().authorized())
    };
    let names = |operator: Operator| -> Vec<String> {
        let roles = operator.roles("ops").unwrap().cluster_roles.into_iter();
        roles.filter_map(|role| role.metadata.name).collect()
    };
    assert_eq!(names(operator()), ["mirror"]);
    let served = operator().metrics_address(":8080".parse().unwrap());
    assert_eq!(names(served), ["mirror", "mirror-metrics-reader"]);
}

/// Refuses nothing, and reads ConfigMaps.
struct Reading;

impl Validate for Reading {
    type Resource = Secret;

    fn reads(&self, reads: Reads) -> Reads {
        reads.kind::<ConfigMap>()
    }

    async fn validate(
        &self,
        _: &Change<Secret>,
        _: &Admission,
    ) -> std::result::Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

#[test]
fn events_about_objects_that_only_a_webhook_reads_are_allowed() {
    let operator = Operator::new("mirror").validates(Reading);
    let roles = operator.roles("ops").unwrap().cluster_roles;
    let rules = roles[0].rules.iter().flatten();
    let allows = |rule: &PolicyRule| {
        let groups = rule.api_groups.iter().flatten();
        let resources = rule.resources.iter().flatten();
        let mut names = groups.zip(resources);
        let is_about_events =
            names.any(|(group, resource)| group == "events.k8s.io" && resource == "events");
        is_about_events && rule.verbs.iter().any(|verb| verb == "create")
    };
    assert!(rules.into_iter().any(allows), "{roles:?}");
}
