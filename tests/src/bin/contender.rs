//! An operator that contends for a Lease, for tests with several processes. `CONTENDER` contains its name, its action for
//! each ConfigMap, and the three times of the election in milliseconds: `CONTENDER="a writes 15000 10000 2000"`.
//!
//! * `writes` writes a Secret with its name again and again, each time with other content.
//! * `waits` waits for ever.
//! * `blocks` blocks its thread for ever; `blocks-one` does so only for the ConfigMap `one`.
//! * `fails` does nothing, but one of its runnables fails after a second.

use std::{env, time::Duration};

use pilothouse::{
    controller::Failure,
    election::ElectionSettings,
    k8s::api::core::v1::{ConfigMap, Secret},
    prelude::*,
};

struct Contender {
    name: String,
    work: String,
}

impl Reconciler for Contender {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Secret>().concurrency(1000)
    }

    async fn reconcile(&self, object: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        println!("reconciling {}", object.name());
        let endless = Duration::from_secs(3600);
        match self.work.as_str() {
            "waits" => tokio::time::sleep(endless).await,
            "blocks" => std::thread::sleep(endless),
            "blocks-one" if object.name() == "one" => std::thread::sleep(endless),
            "writes" => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let mut secret = Secret::default();
                secret.metadata.name = Some(object.name().into());
                let now = std::time::SystemTime::now();
                let data = [
                    ("by".into(), self.name.clone()),
                    ("at".into(), format!("{now:?}")),
                ];
                secret.string_data = Some(data.into());
                cx.apply(secret).await?;
                return Ok(Action::requeue_after(Duration::from_millis(100)));
            }
            _ => {}
        }
        Ok(Action::wait())
    }
}

fn main() -> ExitCode {
    let told = env::var("CONTENDER").unwrap();
    let mut told = told.split_whitespace();
    let (name, work) = (told.next().unwrap(), told.next().unwrap().to_owned());
    let mut time = || Duration::from_millis(told.next().unwrap().parse().unwrap());
    let settings = ElectionSettings::new("contended")
        .identity(name)
        .times(time(), time(), time());
    let contender = Contender {
        name: name.to_owned(),
        work: work.clone(),
    };
    let mut operator = Operator::new(name).controller(contender).election(settings);
    if work == "fails" {
        operator = operator.runnable("short", |_, _| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err(Failure::new("on purpose"))
        });
    }
    operator.main()
}
