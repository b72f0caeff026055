//! The scenarios that both servers run.

mod admission;
mod apply;
mod crud;
mod definitions;
mod discovery;
mod forms;
mod gadget;
mod kinds;
mod lists;
mod patches;
mod protobuf;
mod refusals;
mod reviews;
mod status;
mod subresources;
mod validation;
mod watch_lists;

use std::{future::Future, pin::Pin};

use crate::run::Run;

/// A function that runs its steps in a new namespace.
pub(crate) type Scenario = fn(Run) -> Pin<Box<dyn Future<Output = Run>>>;

macro_rules! scenarios {
    ($($name:literal => $module:ident::$function:ident,)*) => {
        /// Returns all scenarios with their names, in order.
        pub(crate) fn all() -> Vec<(&'static str, Scenario)> {
            vec![$(($name, |mut run| Box::pin(async move {
                $module::$function(&mut run).await;
                run
            }))),*]
        }
    };
}

scenarios! {
    "definitions" => definitions::accepted,
    "definitions-refused" => definitions::refused,
    "validation" => validation::of_values,
    "pruning" => validation::of_unknown_fields,
    "rules" => validation::of_transitions,
    "apply-custom" => apply::custom,
    "apply-deployment" => apply::deployment,
    "patches" => patches::deployment,
    "patches-custom" => patches::custom,
    "status" => status::subresources,
    "pods" => subresources::pods,
    "admission" => admission::of_pods,
    "admission-of-claims" => admission::of_claims,
    "evictions" => subresources::evictions,
    "tokens" => subresources::tokens,
    "token-reviews" => reviews::of_tokens,
    "access-reviews" => reviews::of_access,
    "crud" => crud::objects,
    "finalizers" => crud::finalizers,
    "preconditions" => crud::preconditions,
    "errors" => refusals::of_requests,
    "garbage" => crud::garbage,
    "namespaces" => crud::namespaces,
    "lists" => lists::pages,
    "selectors" => lists::selectors,
    "watches" => lists::watches,
    "forms" => forms::of_answers,
    "watch-lists" => watch_lists::beginnings,
    "tables" => lists::tables,
    "discovery" => discovery::documents,
    "protobuf" => protobuf::objects,
    "protobuf-refused" => protobuf::refused,
    "protobuf-forms" => protobuf::forms,
    "kinds" => kinds::objects,
}
