//! The scenarios that both servers run.

mod admission;
mod apply;
mod audit;
mod autoscalers;
mod cbor;
mod component_statuses;
mod controllers;
mod conversion;
mod crud;
mod deadlines;
mod definitions;
mod discovery;
mod faults;
mod forms;
mod gadget;
mod hook_server;
mod kinds;
mod kubectl;
mod kubelets;
mod limits;
mod lists;
mod patches;
mod pod_security;
mod policies;
mod protobuf;
mod proxies;
mod ratcheting;
mod refusals;
mod reviews;
mod selectable_fields;
mod services;
mod sizes;
mod status;
mod stored_versions;
mod subresources;
mod unusual;
mod validation;
mod watch_lists;
mod watch_paths;
mod webhooks;

use std::{future::Future, pin::Pin, sync::Arc};

use crate::{run::Run, servers::Beside};

/// Steps that run in order, in a new namespace.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) run: Arc<Steps>,
}

/// The function of a scenario: it returns its run with the answers.
type Steps = dyn Fn(Run) -> Pin<Box<dyn Future<Output = Run> + Send>> + Send + Sync;

impl Scenario {
    fn new<F: Future<Output = Run> + Send + 'static>(
        name: String,
        steps: impl Fn(Run) -> F + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            run: Arc::new(move |run| Box::pin(steps(run))),
        }
    }

    /// Returns the name of the scenario's namespace.
    pub(crate) fn namespace(&self) -> String {
        const LONGEST: usize = 63;
        let name = self.name.replace(['/', '.'], "-");
        let mut namespace = format!("conformance-{name}");
        namespace.truncate(LONGEST);
        namespace.trim_end_matches('-').into()
    }

    /// Which servers the scenario needs.
    pub(crate) fn beside(&self) -> Beside {
        match self.name.split('-').next() {
            Some("controllers") => Beside::Workloads,
            Some("cbor") => Beside::Cbor,
            Some("kubelet") => Beside::Kubelet,
            _ => Beside::Few,
        }
    }

    /// Whether the scenario makes the server treat the objects of others differently: by admission, or by a default class.
    pub(crate) fn affects_others(&self) -> bool {
        let default_classes = self.name.starts_with("admission");
        // Annotations count the webhooks of all configurations.
        let counts_webhooks = self.name == "audit";
        default_classes
            || counts_webhooks
            || ["kinds/storageclasses", "admissionregistration.k8s.io"]
                .iter()
                .any(|kind| self.name.contains(kind))
    }
}

macro_rules! scenarios {
    ($($name:literal => $module:ident::$function:ident,)*) => {
        /// Returns all scenarios.
        pub(crate) fn all() -> Vec<Scenario> {
            let mut all = vec![$(Scenario::new($name.into(), |mut run: Run| async move {
                $module::$function(&mut run).await;
                run
            })),*];
            all.extend(kinds::of_each());
            all.extend(faults::of_each());
            all
        }
    };
}

scenarios! {
    "definitions" => definitions::accepted,
    "definitions-refused" => definitions::refused,
    "expression-limits" => definitions::with_large_rules,
    "validation" => validation::of_values,
    "pruning" => validation::of_unknown_fields,
    "rules" => validation::of_transitions,
    "ratcheting" => ratcheting::of_stored_objects,
    "apply-custom" => apply::custom,
    "apply-deployment" => apply::deployment,
    "patches" => patches::deployment,
    "patches-custom" => patches::custom,
    "status" => status::subresources,
    "job-status" => status::of_jobs,
    "pods" => subresources::pods,
    "admission" => admission::of_pods,
    "admission-of-claims" => admission::of_claims,
    "admission-of-ingresses" => admission::of_ingresses,
    "limit-ranges" => limits::of_ranges,
    "quotas" => limits::of_quotas,
    "sizes-of-objects" => sizes::of_objects,
    "sizes-of-requests" => sizes::of_requests,
    "nulls" => unusual::nulls,
    "texts" => unusual::texts,
    "autoscaler-status" => autoscalers::of_status,
    "autoscaler-versions" => autoscalers::of_two_versions,
    "runtime-classes" => limits::of_runtime_classes,
    "webhooks" => webhooks::of_admission,
    "deadlines" => deadlines::of_requests,
    "audit" => audit::of_requests,
    "services" => services::of_allocation,
    "service-addresses" => services::of_addresses,
    "pod-security" => pod_security::of_namespaces,
    "stored-versions" => stored_versions::of_definitions,
    "stored-versions-pruned" => stored_versions::with_other_fields,
    "controllers-endpoints" => controllers::of_services,
    "controllers-written-endpoints" => controllers::of_written_endpoints,
    "controllers-roles" => controllers::of_roles,
    "controllers-budgets" => controllers::of_budgets,
    "controllers-service-ranges" => services::of_more_ranges,
    "policies" => policies::of_admission,
    "mutating-policies" => policies::of_mutation,
    "conversion" => conversion::of_custom_resources,
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
    "selectable-fields" => selectable_fields::of_custom_resources,
    "watches" => lists::watches,
    "forms" => forms::of_answers,
    "watch-lists" => watch_lists::beginnings,
    "watch-paths" => watch_paths::of_watches,
    "component-statuses" => component_statuses::of_components,
    "proxies" => proxies::of_pods_and_services,
    "tables" => lists::tables,
    "discovery" => discovery::documents,
    "protobuf" => protobuf::objects,
    "protobuf-refused" => protobuf::refused,
    "protobuf-forms" => protobuf::forms,
    "cbor" => cbor::objects,
    "cbor-forms" => cbor::forms,
    "kubectl-create" => kubectl::create,
    "kubectl-run" => kubectl::run_and_expose,
    "kubectl-get" => kubectl::get,
    "kubectl-describe" => kubectl::describe,
    "kubectl-discovery" => kubectl::discovery,
    "kubectl-auth" => kubectl::access,
    "kubectl-jobs" => kubectl::jobs,
    "kubectl-pods" => kubectl::pods,
    "kubectl-nodes" => kubectl::nodes,
    "kubectl-apply" => kubectl::apply,
    "kubectl-patch" => kubectl::patches,
    "kubectl-label" => kubectl::attributes,
    "kubectl-scale" => kubectl::scale,
    "kubectl-rollout" => kubectl::rollout,
    "kubectl-set" => kubectl::set,
    "kubectl-delete" => kubectl::delete,
    "kubectl-wait" => kubectl::wait,
    "kubelet-logs" => kubelets::logs,
    "kubelet-processes" => kubelets::processes,
    "kubelet-copies" => kubelets::copies,
    "kubelet-ports" => kubelets::ports,
    "kubelet-streams" => kubelets::streams,
    "discovery-kinds" => kinds::every_kind_is_tested,
}
