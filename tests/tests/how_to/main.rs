//! The recipes of the book's part "How-to": each module has the code that a page shows, and a test of what the page says.
//!
//! They are one program, because each program of tests is built and linked on its own.

mod adopt;
mod another_cluster;
mod big_clusters;
mod child_deleted;
mod cleanup_deadline;
mod conditions;
mod create_to_apply;
mod dry_run;
mod exec;
mod foreign_kinds;
mod generated_names;
mod immutable_children;
mod leader_only;
mod metadata_only;
mod namespaces;
mod pause;
mod push;
mod quiet_events;
mod requeue_at_time;
mod rolling_changes;
mod secrets_in_logs;
mod server_faults;
mod several_children;
mod share_state;
mod shared_ownership;
mod site;
mod skip_events;
mod stuck_object;
mod upgrade_crd;
mod world;
