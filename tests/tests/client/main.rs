//! Tests the client against API servers. Each scenario runs twice: against the sandbox over HTTPS, and against a real
//! API server if the environment names one (see [`pilothouse_tests::real`]). A difference is a bug of the sandbox, or a
//! line with its reason in `differences.rs`.
//!
//! `PILOTHOUSE_SCENARIO` selects the scenarios whose names contain its value.

mod differences;
mod kubectl;
mod manifests;
mod suite;
mod target;
mod varied;

use target::Target;

/// Lists the scenarios by module, and defines a test on the sandbox for each.
macro_rules! scenarios {
    ($($module:ident: [$($name:ident),* $(,)?],)*) => {
        $(mod $module;)*

        /// Returns all scenarios with their names.
        fn all() -> Vec<suite::Scenario> {
            vec![$($(suite::Scenario {
                name: concat!(stringify!($module), "::", stringify!($name)),
                run: |target| Box::pin(async move { $module::$name(&target).await }),
            }),*),*]
        }

        mod sandbox {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    crate::suite::on_the_sandbox(concat!(stringify!($module), "::", stringify!($name))).await;
                })*
            })*
        }
    };
}

scenarios! {
    objects: [
        an_object_is_created_read_replaced_and_deleted,
        names_are_generated,
        an_old_version_is_not_replaced,
        an_object_is_deleted_only_with_the_expected_uid_and_version,
        a_dry_run_changes_nothing,
        owned_objects_are_deleted_with_their_owner_or_orphaned_as_requested,
        names_with_colons_reach_their_object,
    ],
    patches: [
        applies_of_two_managers_conflict_and_can_be_forced,
        the_four_kinds_of_patch_work,
        unknown_fields_are_refused_warned_about_or_ignored,
    ],
    subresources: [
        an_eviction_waits_for_its_budget,
        a_pod_is_bound_once,
        a_requested_token_authenticates_as_the_service_account,
        a_deployment_is_scaled,
        metadata_only_can_be_read_watched_and_patched,
        helpers_of_several_requests_work,
    ],
    requests: [
        every_verb_can_be_sent_as_a_request,
        paths_that_are_not_resources_are_read_as_text_and_into_types,
    ],
    lists: [
        a_list_is_read_completely_in_pages,
        selectors_filter_lists,
        a_list_at_a_version_and_the_watch_after_it_miss_no_change,
        a_collection_is_deleted_by_its_labels,
    ],
    watches: [
        a_watch_delivers_all_changes,
        a_watch_from_an_expired_version_reports_it,
        a_watch_with_a_selector_sees_objects_enter_and_leave,
    ],
    errors: [
        errors_name_the_attempt_and_the_reason,
        an_invalid_object_is_reported_with_all_causes,
        an_unserved_kind_differs_from_a_missing_object,
        an_unauthenticated_caller_gets_unauthorized,
    ],
    custom: [
        a_custom_kind_is_installed_used_and_scaled,
        installed_and_removed_kinds_are_noticed,
        a_deprecated_version_warns_its_clients,
    ],
    forms: [
        scalars_come_back_as_they_were,
        lists_and_maps_come_back_as_they_were,
        enums_come_back_as_they_were,
        structs_come_back_as_they_were,
        an_older_name_is_kept_and_read,
        two_appliers_share_the_containers_of_a_template,
    ],
    deep: [
        deep_objects_can_be_read_and_written,
        a_cache_holds_objects_that_are_not_too_deep_for_its_type,
        objects_beyond_the_depth_limit_are_refused,
    ],
    streams: [
        a_log_can_be_read_line_by_line_and_whole,
        a_log_is_followed_as_it_is_written,
        a_missing_log_is_reported_with_the_reason,
        a_process_returns_its_outputs_and_its_exit_code,
        shutting_down_stdin_ends_the_input_of_a_process,
        unread_output_is_discarded,
        a_terminal_receives_its_size,
        attaching_reaches_the_process_of_the_container,
        a_command_that_cannot_run_reports_the_reason,
        an_unauthorized_caller_cannot_open_streams,
        a_port_is_reached_through_the_server,
        a_local_port_forwards_to_a_pod,
    ],
    workloads: [
        a_job_completes_with_its_pods,
        a_job_fails_with_its_pods,
        a_stateful_set_starts_its_pods_with_their_claims,
        a_pod_gets_the_token_of_the_default_service_account,
    ],
    encodings: [
        every_verb_uses_cbor,
        bytes_and_dynamic_objects_are_the_same_in_cbor_and_json,
        metadata_only_uses_cbor_too,
        reads_and_watches_use_protobuf,
        all_objects_are_the_same_in_protobuf_and_json,
        a_cache_is_filled_and_follows_changes_in_protobuf,
    ],
    identity: [
        tokens_from_a_file_an_executable_and_the_configuration_work,
        someone_else_is_impersonated,
    ],
    compression: [long_answers_are_compressed_and_decode_to_the_same],
    network: [requests_and_watches_go_through_a_proxy],
    informers: [
        a_cache_follows_all_changes,
        metadata_and_whole_objects_share_a_watch,
        a_late_listener_first_receives_the_present_objects,
        a_scope_holds_the_objects_that_its_selectors_match,
        the_informer_of_a_custom_kind_waits_until_it_is_served,
        a_cache_continues_after_its_connection_was_cut,
    ],
    events: [
        events_are_recorded_counted_and_created_again,
        the_api_limits_event_fields_and_their_changes,
    ],
    examples: [
        a_scheduled_task_runs_repeatedly,
        config_maps_are_copied_only_where_they_are_wanted,
    ],
}

/// Runs all scenarios against a real API server.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_api_server() {
    suite::on_a_real_server(all()).await;
}

#[test]
fn each_known_difference_names_a_scenario() {
    let names: Vec<_> = all().iter().map(|scenario| scenario.name).collect();
    for (name, _, _) in differences::DIFFERENCES {
        assert!(names.contains(name), "{name}");
    }
}
