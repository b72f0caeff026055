//! The client against API servers. Each scenario is written once and gone through twice: with the sandbox, over HTTPS,
//! and with a real API server where there is one (see [`pilothouse_tests::real`]). What differs is a bug of the
//! sandbox, or a line with its reason in `differences.rs`.
//!
//! `PILOTHOUSE_SCENARIO` picks those whose names contain it.

mod differences;
mod kubectl;
mod kubelet;
mod programs;
mod suite;
mod target;

use target::Target;

/// Lists the scenarios, module by module, and makes of each a test on the sandbox.
macro_rules! scenarios {
    ($($module:ident: [$($name:ident),* $(,)?],)*) => {
        $(mod $module;)*

        /// Every scenario, by its name.
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
        an_object_is_deleted_only_as_the_one_that_was_meant,
        a_dry_run_changes_nothing,
        owned_objects_go_with_their_owner_or_stay_as_asked,
        names_with_colons_reach_their_object,
    ],
    patches: [
        applies_of_two_managers_meet_and_are_forced,
        the_four_kinds_of_patch_do_what_they_are_for,
        unknown_fields_are_refused_warned_of_or_ignored,
    ],
    subresources: [
        an_eviction_waits_for_its_budget,
        a_pod_is_bound_once,
        a_token_makes_its_bearer_the_service_account,
        a_deployment_is_scaled,
        metadata_alone_is_read_watched_and_patched,
        what_is_made_of_several_verbs_holds_together,
    ],
    lists: [
        everything_is_read_in_pages,
        selectors_choose,
        a_list_at_a_version_and_the_watch_after_it_miss_nothing,
        a_collection_is_deleted_by_its_labels,
    ],
    watches: [
        a_watch_tells_of_everything_that_happens,
        a_watch_from_a_version_that_is_gone_says_so,
        a_selecting_watch_sees_objects_come_and_go,
    ],
    errors: [
        errors_say_what_was_tried_and_why_it_failed,
        an_invalid_object_is_told_with_all_its_causes,
        a_kind_that_is_not_served_is_no_object_that_is_missing,
        who_is_not_known_is_told_so,
    ],
    custom: [
        a_custom_kind_is_installed_used_and_scaled,
        kinds_that_come_and_go_are_noticed,
    ],
    deep: [
        deep_objects_are_read_and_written_like_others,
        a_cache_holds_what_is_not_too_deep_for_its_type,
        what_is_deeper_than_any_object_is_refused,
    ],
    streams: [
        a_log_is_read_line_by_line_and_as_a_whole,
        a_log_is_followed_as_it_is_written,
        what_has_no_log_says_why,
        a_process_gives_its_outputs_and_its_exit_code,
        a_processs_input_ends_when_it_is_shut_down,
        output_that_nobody_reads_is_thrown_away,
        a_terminal_hears_of_its_size,
        who_attaches_sees_what_is_written_from_then_on,
        what_cannot_be_run_says_why,
        who_may_not_is_told_so,
        a_port_is_reached_through_the_server,
        a_local_port_stands_for_a_pods,
    ],
    encodings: [
        every_verb_is_spoken_in_cbor,
        bytes_and_dynamic_objects_are_the_same_in_cbor_and_json,
        metadata_alone_comes_in_cbor_too,
    ],
    identity: [
        a_token_from_a_file_an_executable_and_the_configuration_is_taken,
        someone_else_is_impersonated,
    ],
    compression: [what_is_long_comes_compressed_and_is_the_same],
    network: [requests_and_watches_go_through_a_proxy],
    informers: [
        a_cache_follows_what_happens,
        a_late_listener_begins_with_what_is_there,
        a_scope_holds_what_its_selectors_choose,
        a_custom_kind_is_held_back_until_it_is_served,
        a_cache_goes_on_after_its_connection_was_cut,
    ],
    events: [
        events_are_recorded_repeated_and_lost,
        what_an_event_may_say_and_what_of_it_may_change,
    ],
    examples: [
        a_task_runs_again_and_again,
        settings_are_where_they_are_wanted_and_nowhere_else,
    ],
}

/// Goes through all of them with a real API server.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_api_server() {
    suite::on_a_real_server(all()).await;
}

#[test]
fn every_line_of_the_differences_names_a_scenario() {
    let names: Vec<_> = all().iter().map(|scenario| scenario.name).collect();
    for (name, _, _) in differences::DIFFERENCES {
        assert!(names.contains(name), "{name}");
    }
}
