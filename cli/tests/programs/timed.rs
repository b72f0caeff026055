//! An operator that time drives: each two seconds it writes another text. It has a webhook, too.

use greeting::Greeting;
use pilothouse::{
    prelude::*,
    webhook::{Admission, Change, Denied, Validate, Warnings},
};

struct Timed;

struct Accepted;

/// The milliseconds between two texts.
const TURN: i64 = 2000;

impl Reconciler for Timed {
    type Resource = Greeting;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, object: Arc<Greeting>, cx: &Context<Greeting>) -> Result<Action> {
        let now = cx.now().as_millisecond();
        cx.apply(ConfigMap {
            data: Some([("turn".into(), (now / TURN).to_string())].into()),
            ..ConfigMap::named(object.name())
        })
        .await?;
        let left = TURN - now % TURN;
        Ok(Action::requeue_after(Duration::from_millis(
            left.unsigned_abs(),
        )))
    }
}

impl Validate for Accepted {
    type Resource = Greeting;

    async fn validate(&self, _: &Change<Greeting>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

pub(super) fn operator() -> Operator {
    Operator::new("greeting")
        .controller(Timed)
        .validates(Accepted)
}
