//! The definitions of an operator's kinds, and what `crd` refuses.

use std::marker::PhantomData;

use pilothouse_sandbox::Sandbox;

use super::world::Process;
use crate::{
    controller::{Action, Context, Reconciler, Result},
    operator::{Operator, OperatorError, definition_check},
    resource::Resource,
};

/// Reconciles any kind, and does nothing.
struct Idle<K>(PhantomData<fn() -> K>);

impl<K: Resource + serde::Serialize + serde::de::DeserializeOwned> Reconciler for Idle<K> {
    type Resource = K;

    async fn reconcile(&self, _: std::sync::Arc<K>, _: &Context<K>) -> Result<Action> {
        Ok(Action::wait())
    }
}

fn idle<K>() -> Idle<K> {
    Idle(PhantomData)
}

/// Declares a kind `Site` whose spec has this field.
macro_rules! site {
    ($module:ident, $version:literal, #[$($attribute:tt)*] $field:ident: $ty:ty) => {
        mod $module {
            use crate::resource::ObjectMeta;

            #[derive(crate::Resource, Clone, Debug)]
            #[resource(crate = "crate", group = "demo.example.com", version = $version, namespaced)]
            pub(super) struct Site {
                pub(super) metadata: ObjectMeta,
                pub(super) spec: SiteSpec,
            }

            #[derive(crate::Schema, Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
            #[schema(crate = "crate")]
            pub(super) struct SiteSpec {
                #[$($attribute)*]
                pub(super) $field: $ty,
            }
        }
    };
}

site!(good, "v1", #[schema(rule("self.size() > 0", "html must not be empty"))] html: String);
site!(newer, "v2", #[schema(max_length = 9)] html: String);
site!(again, "v1", #[schema(max_length = 9)] html: String);
#[cfg(feature = "dev")]
site!(mistyped, "v1", #[schema(rule("self.sise() > 0", "html must not be empty"))] html: String);
#[cfg(feature = "dev")]
site!(keyless, "v1", #[schema(list_type = "map", list_map_keys("id"))] pages: Vec<super::Page>);

#[cfg(feature = "dev")]
#[derive(crate::Schema, Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
#[schema(crate = "crate")]
struct Page {
    name: String,
}

fn operator() -> Operator {
    Operator::new("sites").controller(idle::<good::Site>())
}

/// What `crd` says about the definitions.
fn checked(operator: &Operator) -> std::result::Result<Vec<String>, OperatorError> {
    definition_check::check(&operator.own_definitions()?)
}

#[test]
fn controllers_of_one_type_share_a_definition() {
    let operator = operator().controller(idle::<good::Site>());
    assert_eq!(operator.definitions().unwrap().len(), 1);
}

#[tokio::test]
async fn two_types_of_one_kind_are_an_error_that_names_both() {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    let client = Process::of(&sandbox, "a").client;
    let place = module_path!();
    let versions = || operator().controller(idle::<newer::Site>());
    let expected = format!(
        "sites.demo.example.com is defined by two Rust types of this operator, `{place}::good::Site` (v1) and `{place}::newer::Site` (v2), \
         but only one of the definitions could be installed: let all controllers use the type of the stored version, and name the other type \
         in its `#[resource(served(..))]`"
    );
    for error in [
        versions().definitions().unwrap_err(),
        versions().install(&client).await.unwrap_err(),
        versions().start(client.clone()).await.unwrap_err(),
        checked(&versions()).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), expected);
    }
    let same = operator().controller(idle::<again::Site>());
    let error = same.definitions().unwrap_err().to_string();
    assert!(
        error.contains("let all controllers use one type"),
        "{error}"
    );
}

#[cfg(feature = "dev")]
#[test]
fn crd_refuses_what_an_api_server_would_refuse_and_names_the_rust_type_and_the_path() {
    assert_eq!(checked(&operator()).unwrap(), [""; 0]);
    let refused = |operator: Operator| checked(&operator).unwrap_err().to_string();
    let place = module_path!();
    let line = include_str!("definitions.rs").lines();
    let line = line.take_while(|line| !line.contains("sise() > 0")).count() + 1;
    let error = refused(Operator::new("sites").controller(idle::<mistyped::Site>()));
    let expected = format!(
        "an API server would refuse the definitions:\n  {}:{line}: {place}::mistyped::Site: spec.html: x-kubernetes-validations[0].rule: `self.sise() > 0` does not compile: ",
        file!()
    );
    assert!(error.starts_with(&expected), "{error}");
    assert!(error.contains("undeclared reference to 'sise'"), "{error}");
    let error = refused(Operator::new("sites").controller(idle::<keyless::Site>()));
    let expected = format!("  {place}::keyless::Site: spec.pages");
    assert!(error.contains(&expected), "{error}");
    assert!(error.contains("x-kubernetes-list-map-keys"), "{error}");
}

#[cfg(not(feature = "dev"))]
#[test]
fn without_the_feature_dev_crd_says_that_rules_were_not_checked() {
    let notes = checked(&operator()).unwrap();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("without the feature `dev`"), "{notes:?}");
}
