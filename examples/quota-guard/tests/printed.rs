//! What the program prints for a cluster is on record, so that a change shows in review.

#[path = "../../recorded/mod.rs"]
mod recorded;

#[test]
fn all_output_for_a_cluster_is_as_recorded() {
    recorded::check(env!("CARGO_BIN_EXE_quota-guard"));
}

#[test]
fn kustomize_builds_what_manifests_prints() {
    recorded::check_kustomize(env!("CARGO_BIN_EXE_quota-guard"));
}

#[test]
fn the_chart_makes_what_manifests_prints() {
    recorded::check_helm(env!("CARGO_BIN_EXE_quota-guard"));
}

#[test]
fn the_commands_of_its_page_work() {
    recorded::check_page(
        env!("CARGO_BIN_EXE_quota-guard"),
        "examples/quota-guard/README.md",
    );
}
