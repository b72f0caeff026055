use std::fs;

use pilothouse::{resource::Scheme, testing};

use super::{cargo_pilothouse, is_kept, kept, kept::shelf, package, stderr, stdout};

fn before() -> String {
    fs::read_to_string(kept("before.txt")).unwrap()
}

fn shelves() -> tempfile::TempDir {
    package(&[
        ("src/lib.rs", "mod shelf;\n\npub use shelf::Shelf;\n"),
        ("src/shelf.rs", &before()),
    ])
}

#[test]
fn todays_types_become_an_older_version() {
    let package = shelves();
    let read = |path: &str| fs::read_to_string(package.path().join(path)).unwrap();
    let said = stdout(&cargo_pilothouse(package.path(), "add version Shelf v2"));
    let begin = "wrote src/shelf/v1.rs\nwrote tests/shelf_versions.rs\nchanged src/shelf.rs\n\nShelf is v2 now, and the API server stores it in this version. It serves v1, too.\nNext:\n";
    assert!(said.starts_with(begin), "{said}");
    is_kept(&read("src/shelf.rs"), "shelf.rs");
    is_kept(&read("src/shelf/v1.rs"), "shelf/v1.rs");
    assert!(read("tests/shelf_versions.rs").contains("use shelves::Shelf;"));

    // A second time, and a version that is there, change nothing.
    let kept = [read("src/shelf.rs"), read("src/shelf/v1.rs")];
    for version in ["v2", "v1"] {
        let said = stderr(&cargo_pilothouse(
            package.path(),
            &format!("add version Shelf {version}"),
        ));
        assert!(
            said.contains(&format!("Shelf has the version {version} already")),
            "{said}"
        );
    }
    assert_eq!([read("src/shelf.rs"), read("src/shelf/v1.rs")], kept);

    // A third version serves both others, and the test stays.
    fs::write(package.path().join("tests/shelf_versions.rs"), "// mine\n").unwrap();
    let said = stdout(&cargo_pilothouse(package.path(), "add version Shelf v3"));
    assert!(
        said.contains("tests/shelf_versions.rs exists and stays as it is"),
        "{said}"
    );
    assert!(read("src/shelf.rs").contains("served(v1::Shelf, v2::Shelf)"));
    assert!(read("src/shelf.rs").contains("version = \"v3\""));
    assert!(!read("src/shelf/v2.rs").contains("served("));
    assert_eq!(read("tests/shelf_versions.rs"), "// mine\n");
}

/// The example is read as a test of webhooks reads it: with the types that the tool has written.
#[test]
fn an_example_is_one_of_the_new_version() {
    let object = |version: &str| {
        format!(
            "# A shelf.\napiVersion: library.example.com/{version}\nkind: Shelf\nmetadata: {{name: a}}\nspec:\n  books: []\n  place: {{type: Room, number: 1}}\n"
        )
    };
    let package = package(&[
        ("src/lib.rs", "mod shelf;\n\npub use shelf::Shelf;\n"),
        ("src/shelf.rs", &before()),
        ("example/shelf.yaml", &object("v1")),
    ]);
    let said = stdout(&cargo_pilothouse(package.path(), "add version Shelf v2"));
    assert!(said.contains("changed example/shelf.yaml\n"), "{said}");
    let example = fs::read_to_string(package.path().join("example/shelf.yaml")).unwrap();
    assert_eq!(example, object("v2"));
    let scheme = || Scheme::new().with::<shelf::Shelf>();
    scheme().decode(&example).remove(0).unwrap();
    assert!(scheme().decode(&object("v1")).remove(0).is_err());
}

#[test]
fn a_source_that_is_not_formatted_keeps_its_layout() {
    let text = before().replace("pub length: i32,", "pub   length:i32,");
    let package = package(&[("src/lib.rs", "mod shelf;\n"), ("src/shelf.rs", &text)]);
    stdout(&cargo_pilothouse(package.path(), "add version Shelf v2"));
    let changed = fs::read_to_string(package.path().join("src/shelf.rs")).unwrap();
    let attribute = "    plural = \"shelves\",\n    namespaced,\n    served(v1::Shelf)\n)]\n";
    assert!(changed.contains(attribute), "{changed}");
    assert!(changed.contains("pub   length:i32,"), "{changed}");
}

#[test]
fn the_users_comments_and_the_byte_order_mark_stay() {
    let text = before().replace(
        "    namespaced\n)]",
        "    // how many\n    namespaced, // one per team, or none\n)]",
    );
    let package = package(&[
        ("src/lib.rs", "pub mod shelf;\n"),
        ("src/shelf.rs", &format!("\u{feff}{text}")),
    ]);
    let read = |path: &str| fs::read_to_string(package.path().join(path)).unwrap();
    stdout(&cargo_pilothouse(package.path(), "add version Shelf v2"));
    let changed = read("src/shelf.rs");
    assert!(changed.starts_with("\u{feff}//! Shelves.\n"), "{changed}");
    let file = syn::parse_file(&changed).unwrap();
    assert!(changed.contains("namespaced, // one per team, or none"));
    assert!(changed.contains("served(v1::Shelf)"), "{changed}");
    assert!(!file.items.is_empty());
    assert!(read("tests/shelf_versions.rs").contains("use shelves::shelf::Shelf;"));

    // A comment before `served`, which is now the last entry.
    let commented = changed.replace("served(v1::Shelf)", "// older, ones\n    served(v1::Shelf)");
    fs::write(package.path().join("src/shelf.rs"), commented).unwrap();
    stdout(&cargo_pilothouse(package.path(), "add version Shelf v3"));
    let copy = read("src/shelf/v2.rs");
    assert!(!copy.contains("served("), "{copy}");
    assert!(copy.contains("pub struct Shelf {"), "{copy}");
    syn::parse_file(&copy).unwrap();
    assert!(read("src/shelf.rs").contains("served(v1::Shelf, v2::Shelf)"));
}

#[test]
fn types_that_both_versions_share_are_named() {
    let text = before()
        .replace(
            "use pilothouse::prelude::*;",
            "use pilothouse::prelude::*;\n\nuse crate::all::*;\n\ntype Books = Vec<Book>;",
        )
        .replace(
            "pub books: Vec<Book>,",
            "pub books: Books,\n    pub lamp: crate::parts::Lamp,\n    pub door: Option<Door>,",
        );
    let package = package(&[("src/lib.rs", "pub mod shelf;\n"), ("src/shelf.rs", &text)]);
    let said = stdout(&cargo_pilothouse(package.path(), "add version Shelf v2"));
    for name in ["Lamp", "Door"] {
        let note = format!(
            "{name} is not in this source, so v1 and the new version share it: copy it, before you change it\n"
        );
        assert!(said.contains(&note), "{note}: {said}");
    }
    let note = "Books is another name of a type, so v1 and the new version share that type: write the type itself in v1, before you change it\n";
    assert!(said.contains(note), "{said}");
    assert_eq!(said.matches(" share ").count(), 3, "{said}");
}

#[test]
fn nothing_is_written_over_a_file_or_for_a_kind_that_is_not_there() {
    let resource = |more: &str| format!("#[resource(group = \"a.dev\", version = \"v1\"{more})]");
    let others = format!(
        "pub mod v1 {{\n    {}\n    pub struct Deep;\n}}\n{}\npub struct Imported;\n",
        resource(""),
        resource(", foreign")
    );
    let package = package(&[
        (
            "src/lib.rs",
            "mod shelf;\nmod others;\n\npub use shelf::Shelf;\n",
        ),
        ("src/shelf.rs", &before()),
        ("src/others.rs", &others),
    ]);
    let folder = package.path();
    fs::create_dir_all(folder.join("src/shelf")).unwrap();
    fs::write(folder.join("src/shelf/v1.rs"), "// mine\n").unwrap();
    for (line, expected) in [
        (
            "add version Shelf v2",
            "v1.rs exists already, and stays as it is",
        ),
        ("add version Chair v2", "there is no kind `Chair`"),
        (
            "add version Shelf v1beta1",
            "v1beta1 is older than v1, which Shelf has, and the new version becomes the stored one",
        ),
        (
            "add version Imported v2",
            "Imported is a kind of another program",
        ),
        (
            "add version Deep v2",
            "Deep stands in the module `v1` of this file: move the module into a file of its own",
        ),
        ("add version Shelf 2", "`2` is not a version of a kind"),
    ] {
        let said = stderr(&cargo_pilothouse(folder, line));
        assert!(said.contains(expected), "{line}: {said}");
    }
    assert_eq!(
        fs::read_to_string(folder.join("src/shelf.rs")).unwrap(),
        before()
    );
    assert_eq!(
        fs::read_to_string(folder.join("src/shelf/v1.rs")).unwrap(),
        "// mine\n"
    );
    assert!(!folder.join("tests").exists());
}

#[test]
fn the_written_conversions_lose_nothing() {
    testing::round_trips::<shelf::Shelf>().check().unwrap();
}
