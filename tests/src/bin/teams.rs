//! An operator with webhooks. The book shows it.

// ANCHOR: webhooks
use pilothouse::{
    admission::AdmissionRule,
    k8s::api::core::v1::ConfigMap,
    prelude::*,
    webhook::{Admission, Change, Denied, Mutate, Reads, Rules, Validate, Warnings},
};

/// Nobody but an administrator changes a paused Deployment.
struct Paused;

impl Validate for Paused {
    type Resource = Deployment;

    async fn validate(
        &self,
        change: &Change<Deployment>,
        cx: &Admission,
    ) -> Result<Warnings, Denied> {
        let Change::Update { old, new } = change else {
            return Ok(Warnings::none());
        };
        let is_paused = old.spec.paused == Some(true);
        if is_paused && old.spec.template != new.spec.template && !cx.user_is_in("admins") {
            let problem = "must not change while spec.paused is true";
            return Err(Denied::invalid("spec.template", problem));
        }
        Ok(Warnings::none())
    }
}

/// A Deployment belongs to the team that the ConfigMap `team` of its namespace names, or else to that of the namespace's name.
struct Team;

impl Mutate for Team {
    type Resource = Deployment;

    // ANCHOR: rules
    fn rules(&self, rules: Rules) -> Rules {
        rules.timeout(Duration::from_secs(3)).only_if(
            "unpaused",
            "!has(object.spec.paused) || !object.spec.paused",
        )
    }
    // ANCHOR_END: rules

    // ANCHOR: reads
    fn reads(&self, reads: Reads) -> Reads {
        reads.kind::<ConfigMap>()
    }
    // ANCHOR_END: reads

    async fn mutate(&self, object: &mut Deployment, cx: &Admission) -> Result<Warnings, Denied> {
        let settings = cx.get::<ConfigMap>("team").await?;
        let named = settings.and_then(|settings| settings.data.as_ref()?.get("name").cloned());
        let team = named.unwrap_or_else(|| cx.namespace().unwrap_or_default().to_owned());
        let labels = object.metadata.labels.get_or_insert_default();
        labels.entry("team".into()).or_insert(team);
        Ok(Warnings::none())
    }
}

/// The ConfigMap `team` of a namespace has the name of its team. The API server decides this by itself.
fn named() -> AdmissionRule {
    AdmissionRule::on::<ConfigMap>("named")
        .only_if("is-team", "object.metadata.name == 'team'")
        .check(
            "has(object.data) && 'name' in object.data",
            "data.name must be the name of the team",
        )
}

fn main() -> ExitCode {
    Operator::new("teams")
        .validates(Paused)
        .mutates(Team)
        .admission_rule(named())
        .main()
}
// ANCHOR_END: webhooks

#[cfg(test)]
mod tests {
    use super::*;
    // ANCHOR: test
    use pilothouse::testing::OfflineAdmission;

    #[tokio::test]
    async fn a_deployment_gets_the_label_of_its_team() {
        let pods = Labels::from_iter([("app", "web")]);
        let mut web = Deployment::named("web");
        web.metadata.namespace = Some("blue".into());
        web.spec.selector = pods.selector();
        web.spec.template = PodTemplateSpec {
            metadata: Some(pods.metadata()),
            spec: Some(PodSpec {
                containers: vec![Container {
                    name: "web".into(),
                    image: Some("nginx".into()),
                    ..Container::default()
                }],
                ..PodSpec::default()
            }),
        };
        let admission = || OfflineAdmission::new().mutates(Team).validates(Paused);
        let (stored, _) = admission().create(&web).await.unwrap();
        assert_eq!(stored.label("team"), Some("blue"));

        let mut settings = ConfigMap::named("team");
        settings.metadata.namespace = Some("blue".into());
        settings.data = Some([("name".into(), "ocean".into())].into());
        let admission = admission().cached(&settings);
        let (stored, _) = admission.create(&web).await.unwrap();
        assert_eq!(stored.label("team"), Some("ocean"));
    }
    // ANCHOR_END: test
}
