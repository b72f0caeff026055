//! What the program prints for a cluster is on record, so that a change shows in review.

#[path = "../../recorded/mod.rs"]
mod recorded;

#[test]
fn all_output_for_a_cluster_is_as_recorded() {
    recorded::check(env!("CARGO_BIN_EXE_bucket"));
}
