use std::{fs, path::Path};

use super::{
    peer::{Folders, PEERS},
    rebuild::{LINE, changed, manifest},
    workload::Workload,
};

#[test]
fn the_reconcile_of_each_smallest_operator_can_be_changed() {
    let folders = Folders::new(true);
    let mut operators = 0;
    for peer in PEERS.iter().filter(|peer| peer.has(Workload::Rebuild)) {
        let file = folders.smallest(peer).join("src/main.rs");
        let text = fs::read_to_string(&file).expect("a source");
        let (one, two) = (changed(&text, 1), changed(&text, 2));
        assert!(one.is_ok() && one != two, "{}", file.display());
        operators += 1;
    }
    assert_eq!(operators, 3);
    let twice = changed(&format!("{LINE}; {LINE}"), 1);
    assert!(twice.is_err_and(|text| text.ends_with("occurs 2 times")));
}

#[test]
fn a_copy_has_the_path_of_the_framework_and_the_profile_of_new_projects() {
    let text = manifest(
        "pilothouse = { path = \"../../../framework\" }\n",
        Path::new("/x"),
        "[profile.dev]\ndebug = false\n\n[profile.release]\nstrip = true\n",
    );
    assert_eq!(
        text,
        "pilothouse = { path = \"/x/framework\" }\n\n[profile.dev]\ndebug = false\n\n"
    );
}
