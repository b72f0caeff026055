//! Predicates: changes that lead to no reconcile.

// ANCHOR: recipe
use pilothouse::{
    controller::{Owned, Predicate},
    prelude::*,
};

use crate::site::{Site, SiteStatus, deployment, ready};

/// Changes of the spec, and of the labels that the Deployment gets.
fn of_sites() -> Predicate<Site> {
    Predicate::generation().or(Predicate::labels())
}

/// A Deployment changes often. This selects the changes of its spec, and those of the number that the status shows.
fn of_deployments() -> Predicate<Deployment> {
    Predicate::new(|old, new| ready(old) != ready(new)).or(Predicate::generation())
}

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .when(of_sites())
            .watch(Owned::<Deployment>::new().when(of_deployments()))
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let mut web = deployment(site.name(), &site);
        web.metadata.labels = site.labels().cloned();
        let web = cx.apply(web).await?;
        let ready = ready(&web);
        cx.modify_status(|status: &mut SiteStatus| status.ready = ready)
            .await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::{controller::Change, testing::Cluster};
    use serde_json::json;

    use super::*;
    use crate::world::site;

    #[test]
    fn a_change_of_an_annotation_does_not_pass_and_one_of_a_label_does() {
        let mut old = site("a");
        old.metadata.generation = Some(1);
        let (mut annotated, mut labelled, mut changed) = (old.clone(), old.clone(), old.clone());
        annotated.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
        labelled.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        changed.metadata.generation = Some(2);
        for (new, expected) in [(&annotated, false), (&labelled, true), (&changed, true)] {
            let change = Change::Updated { old: &old, new };
            assert_eq!(of_sites().judge(&change), Some(expected));
        }
        let deleted = Change::Deleted { object: &old };
        assert_eq!(of_sites().judge(&deleted), None, "a deletion always passes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_label_reaches_the_deployment_and_the_status_counts_its_pods() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Sites))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster
            .until("a", "have a ready Pod", |site: &Site| {
                site.status.as_ref().is_some_and(|status| status.ready == 1)
            })
            .await
            .unwrap();
        let change = json!({"metadata": {"labels": {"team": "shop"}}});
        cluster.patch::<Site>("a", change).await.unwrap();
        cluster
            .until("a", "have the label", |web: &Deployment| {
                web.label("team") == Some("shop")
            })
            .await
            .unwrap();
        running.stop().await;
    }
}
