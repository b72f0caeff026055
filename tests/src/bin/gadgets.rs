//! An operator with webhooks for every operation on ConfigMaps, for tests with several processes. Its calls take 10 ms, so that some
//! run at any time.

use pilothouse::{
    k8s::api::core::v1::ConfigMap,
    operator::WebhookServing,
    prelude::*,
    webhook::{Admission, Change, Denied, Mutate, Operation, Rules, Validate, Warnings},
};

/// How long a call takes.
const WORK: Duration = Duration::from_millis(10);

/// Refuses a ConfigMap that the mutation has not seen.
struct Seen;

impl Validate for Seen {
    type Resource = ConfigMap;

    fn rules(&self, rules: Rules) -> Rules {
        rules.operations([Operation::Create, Operation::Update, Operation::Delete])
    }

    async fn validate(
        &self,
        change: &Change<ConfigMap>,
        _: &Admission,
    ) -> Result<Warnings, Denied> {
        tokio::time::sleep(WORK).await;
        let seen = change
            .new_object()
            .is_none_or(|new| new.label("seen").is_some());
        let refused = change
            .new_object()
            .is_some_and(|new| new.name() == "refused");
        match seen && !refused {
            true => Ok(Warnings::none()),
            false => Err(Denied::new("on purpose")),
        }
    }
}

struct Label;

impl Mutate for Label {
    type Resource = ConfigMap;

    async fn mutate(&self, map: &mut ConfigMap, _: &Admission) -> Result<Warnings, Denied> {
        tokio::time::sleep(WORK).await;
        let labels = map.metadata.labels.get_or_insert_default();
        labels.insert("seen".into(), "yes".into());
        Ok(Warnings::none())
    }
}

struct Maps;

impl Reconciler for Maps {
    type Resource = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        Ok(Action::wait())
    }
}

fn main() -> ExitCode {
    let serving = WebhookServing::new().check_every(Duration::from_secs(1));
    Operator::new("gadgets")
        .controller(Maps)
        .validates(Seen)
        .mutates(Label)
        .webhook_serving(serving)
        .main()
}
