//! Methods of a context that return an error, without a server.

use futures_util::future::BoxFuture;
use pilothouse::{
    controller::{Child, Owned},
    k8s::api::{core::v1::Namespace, rbac::v1::ClusterRole},
    prelude::*,
    resource::{ApiResource, DynamicObject, set_controller},
    testing::Offline,
};

use super::{Mistake, error, mistake};

type Wire = fn(Controller<Website>) -> Controller<Website>;
type Act = for<'a> fn(&'a Context<ConfigMap>) -> BoxFuture<'a, Result<()>>;

/// A reconciler whose methods are functions of the test.
struct Website {
    wire: Wire,
    act: Act,
}

impl Reconciler for Website {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        (self.wire)(controller)
    }

    async fn reconcile(&self, _: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        (self.act)(cx).await?;
        Ok(Action::wait())
    }
}

impl Cleanup for Website {}

fn secret(name: &str, namespace: Option<&str>) -> Secret {
    let mut secret = Secret::named(name);
    secret.metadata.namespace = namespace.map(str::to_owned);
    secret
}

fn owned_by(uid: &str) -> Secret {
    let mut secret = secret("page", Some("default"));
    let mut owner = ConfigMap::named("other");
    owner.metadata.namespace = Some("default".to_owned());
    owner.metadata.uid = Some(uid.to_owned());
    set_controller(&owner, &mut secret).unwrap();
    secret
}

async fn seen(wire: Wire, act: Act, seed: Option<Secret>) -> String {
    let offline = Offline::new(Website { wire, act });
    offline.seed(ConfigMap::named("web"));
    if let Some(secret) = seed {
        offline.seed(secret);
    }
    error(offline.reconcile("web").await)
}

pub(super) async fn all() -> Vec<Mistake> {
    let owns: Wire = |controller| controller.owns::<Secret>();
    let bare: Wire = |controller| controller;
    let rows: [(&'static str, Wire, Act, Option<Secret>); 17] = [
        (
            "`wire` does not declare a kind that is applied.",
            bare,
            |cx| {
                Box::pin(async {
                    let _ = cx.apply(secret("page", None)).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "`wire` does not declare a kind that is read.",
            bare,
            |cx| {
                Box::pin(async {
                    let _ = cx.get::<Secret>("page")?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "`wire` does not declare a kind that is listed.",
            bare,
            |cx| {
                Box::pin(async {
                    let _ = cx.list::<Secret>()?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "`wire` does not declare a kind that is known only at run time.",
            bare,
            |cx| {
                Box::pin(async {
                    let secrets = ApiResource::of::<Secret>();
                    let _ = cx.get_of::<DynamicObject>(&secrets, "page")?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "`wire` only reads a kind that is applied.",
            |controller| controller.reads::<Secret>(),
            |cx| {
                Box::pin(async {
                    let _ = cx.apply(secret("page", None)).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "A child has no name.",
            owns,
            |cx| {
                Box::pin(async {
                    let _ = cx.apply(Secret::default()).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "A child is in another namespace than its owner.",
            owns,
            |cx| {
                Box::pin(async {
                    let _ = cx.apply(secret("page", Some("other"))).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "A detached child is applied, and `wire` does not declare it so.",
            owns,
            |cx| {
                Box::pin(async {
                    let child = Child::new(secret("page", Some("other"))).detached();
                    let _ = cx.apply_child(child).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "A detached child is applied without a finalizer.",
            |controller| controller.watch(Owned::<Secret>::new().detached()),
            |cx| {
                Box::pin(async {
                    let child = Child::new(secret("page", Some("other"))).detached();
                    let _ = cx.apply_child(child).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "A namespaced object applies a cluster-scoped child of a kind that is known only at run time.",
            |controller| {
                let roles = ApiResource::of::<ClusterRole>();
                controller.watch(Owned::<DynamicObject>::dynamic(roles).detached())
            },
            |cx| {
                Box::pin(async {
                    let roles = ApiResource::of::<ClusterRole>();
                    let role = DynamicObject::new(&roles, "readers");
                    let _ = cx.apply_child(Child::dynamic(&roles, role)).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "A child names another kind than its resource.",
            |controller| {
                let namespaces = ApiResource::of::<Secret>();
                controller.watch(Owned::<DynamicObject>::dynamic(namespaces))
            },
            |cx| {
                Box::pin(async {
                    let object = DynamicObject::new(&ApiResource::of::<Namespace>(), "page");
                    let secrets = ApiResource::of::<Secret>();
                    let _ = cx.apply_child(Child::dynamic(&secrets, object)).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "An object with the child's name exists and belongs to nobody.",
            owns,
            |cx| {
                Box::pin(async {
                    let _ = cx.apply(secret("page", None)).await?;
                    Ok(())
                })
            },
            Some(secret("page", Some("default"))),
        ),
        (
            "An object with the child's name exists and belongs to another object.",
            owns,
            |cx| {
                Box::pin(async {
                    let _ = cx.apply(secret("page", None)).await?;
                    Ok(())
                })
            },
            Some(owned_by("another")),
        ),
        (
            "An object is deleted, and `wire` does not allow it.",
            owns,
            |cx| Box::pin(async { Ok(cx.delete(&secret("page", Some("default"))).await?) }),
            Some(secret("page", Some("default"))),
        ),
        (
            "An object is created, and `wire` does not allow it.",
            bare,
            |cx| {
                Box::pin(async {
                    let _ = cx.create(secret("page", Some("default"))).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "An object is updated that does not exist.",
            |controller| controller.writes::<Secret>(),
            |cx| {
                Box::pin(async {
                    let _ = cx.update(&secret("page", Some("default"))).await?;
                    Ok(())
                })
            },
            None,
        ),
        (
            "An object is adopted that was not read.",
            owns,
            |cx| {
                Box::pin(async {
                    let _ = cx.adopt(&secret("page", Some("default"))).await?;
                    Ok(())
                })
            },
            None,
        ),
    ];
    let mut all = Vec::new();
    for (did, wire, act, seed) in rows {
        all.push(mistake(did, seen(wire, act, seed).await));
    }
    all
}
