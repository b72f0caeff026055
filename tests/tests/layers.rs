//! The framework's modules stand in layers, the submodules of a layer in an order, and each uses only earlier ones.

use std::{collections::BTreeMap, path::Path};

use pilothouse_tests::layers::{LAYERS, ORDERS, Order, read_sources, violations};

#[test]
fn no_module_of_the_framework_uses_a_later_module() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../framework/src");
    let sources = read_sources(&folder).unwrap();
    assert!(sources.contains_key("lib.rs"), "{}", folder.display());
    let found: Vec<String> = violations(&sources, ORDERS)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

const LAYER_ORDER: Order<'_> = Order {
    within: "",
    submodules: LAYERS,
};

/// The framework in small: `cache` (earlier), `queue` in question, `controller` and `operator` (later).
fn with(files: &[(&str, &str)]) -> Vec<String> {
    let mut sources: BTreeMap<String, String> = [
        ("lib.rs", "pub mod cache; pub mod queue; pub mod controller; pub mod prelude; pub use controller::Worker as Laborer;"),
        ("prelude.rs", "pub use crate::{cache::Store, controller::Worker}; pub use crate::controller::worker as later;"),
        ("cache/mod.rs", "pub struct Store;"),
        ("queue/mod.rs", "mod item;"),
        ("queue/item.rs", ""),
        ("controller/mod.rs", "pub mod worker; pub use worker::Worker; use crate::queue::Thing;"),
        ("controller/worker.rs", "pub struct Worker; use crate::cache::Store; use super::super::queue;"),
    ]
    .map(|(file, text)| (file.to_owned(), text.to_owned()))
    .into();
    for (file, text) in files {
        sources.insert((*file).into(), (*text).into());
    }
    violations(&sources, &[LAYER_ORDER])
        .unwrap()
        .into_iter()
        .map(|violation| format!("{} {}", violation.what, violation.target))
        .collect()
}

#[test]
fn using_earlier_layers_and_oneself_is_allowed() {
    for text in [
        "",
        "use crate::cache::Store;",
        "use super::super::cache::*;",
        "use crate::prelude::Store;",
        "use std::{fmt, super_thing::controller}; use tokio::controller::Worker;",
        "use crate::queue as controller; fn f(_: controller::item::Item) {}",
        "mod controller { pub struct Worker; } fn f() { controller::Worker; self::controller::Worker; }",
        "/// See [`crate::controller::Worker`].\n#[doc = \"crate::controller::Worker\"] fn f() {}",
        "fn f() { println!(\"crate::controller::Worker\"); }",
    ] {
        assert_eq!(with(&[("queue/item.rs", text)]), [""; 0], "{text}");
    }
}

#[test]
fn each_form_of_using_a_later_layer_is_found() {
    for text in [
        "use crate::controller::Worker;",
        "use crate::controller;",
        "use crate::{cache::Store, controller::{self, Worker}};",
        "use crate::controller::worker::Worker as Other;",
        "use crate::controller::*;",
        "pub use crate::controller::Worker;",
        "pub(crate) use super::super::controller::Worker;",
        "use super::super::{controller::Worker, cache};",
        "use pilothouse::controller::Worker;",
        "use ::pilothouse::controller::Worker;",
        "fn f(_: crate::controller::Worker) {}",
        "fn f() { let _ = super::super::controller::Worker; }",
        "fn f() { use crate::controller::Worker; }",
        "fn f<T: Into<crate::controller::Worker>>(_: T) {}",
        "fn f() -> impl Iterator<Item = Vec<crate::controller::Worker>> { None.into_iter() }",
        "impl crate::controller::Worker { }",
        "fn f(x: u8) { match x { crate::controller::worker::LIMIT => {} _ => {} } }",
        "mod tests { use super::super::super::controller::Worker; }",
        "mod tests { use crate::controller::Worker; }",
        "use crate as root; fn f(_: root::controller::Worker) {}",
        "use crate::{self as root}; use root::controller::Worker;",
        "use super::super as top; mod inner { use super::top::controller::Worker; }",
        "use crate as root; mod inner { use super::*; fn f(_: root::controller::Worker) {} }",
        "use crate::Laborer;",
        "use crate::prelude::Worker;",
        "use crate::prelude::*;",
        "use crate::prelude::later::Worker;",
        "use crate::*;",
        "fn f() { assert!(matches!(1, crate::controller::worker::LIMIT)); }",
        "macro_rules! m { () => { $crate::controller::Worker } }",
        "macro_rules! m { () => { use crate::{cache::Store, controller::Worker}; } }",
        "#[derive(Deserialize)] struct A { #[serde(with = \"crate::controller::worker\")] a: u8 }",
        "#[doc(hidden)] #[case(crate::controller::Worker)] fn f() {}",
        "pub(in crate::controller) struct A;",
    ] {
        let found = with(&[("queue/item.rs", text)]);
        assert!(!found.is_empty(), "not found: {text}");
        assert!(
            found.iter().all(|line| line.ends_with(" controller")),
            "{found:?}"
        );
    }
}

#[test]
fn a_re_export_on_the_way_counts_as_what_it_is() {
    let found = with(&[
        (
            "cache/mod.rs",
            "pub struct Store; pub use super::helper::Tool;",
        ),
        ("queue/item.rs", "use crate::cache::Store;"),
        (
            "lib.rs",
            "mod helper { pub use crate::controller::Worker as Tool; } pub mod cache;",
        ),
    ]);
    assert!(
        found.contains(&"super::helper::Tool controller".to_owned()),
        "{found:?}"
    );
}

#[test]
fn a_module_without_a_place_in_the_order_is_found() {
    let found = with(&[("utils/mod.rs", "")]);
    assert_eq!(found, ["a module without a place in the order utils"]);
}

/// A layer in small, in which `store` (earlier) comes before `reflector` (a folder with an order of its own) and `informer`.
fn inside_a_layer(files: &[(&str, &str)]) -> Vec<String> {
    let mut sources: BTreeMap<String, String> = [
        ("lib.rs", "pub mod cache; pub mod queue;"),
        ("queue/mod.rs", "mod late; pub use late::WorkQueue;"),
        ("queue/late.rs", "pub struct WorkQueue;"),
        (
            "cache/mod.rs",
            "pub mod informer; pub mod reflector; mod store; pub use informer::Informer; pub use store::Store; \
             #[cfg(test)] mod tests;",
        ),
        ("cache/store.rs", "pub struct Store;"),
        (
            "cache/reflector/mod.rs",
            "mod backoff; mod watch; pub use watch::Watch; use super::store;",
        ),
        ("cache/reflector/backoff.rs", "pub struct Backoff;"),
        (
            "cache/reflector/watch.rs",
            "pub struct Watch; use super::backoff::Backoff;",
        ),
        (
            "cache/informer.rs",
            "pub struct Informer; use super::Store; use crate::cache::reflector::Watch;",
        ),
        ("cache/tests.rs", "use super::{Informer, store};"),
    ]
    .map(|(file, text)| (file.to_owned(), text.to_owned()))
    .into();
    for (file, text) in files {
        sources.insert((*file).into(), (*text).into());
    }
    let orders = [
        LAYER_ORDER,
        Order {
            within: "cache",
            submodules: &["store", "reflector", "informer"],
        },
        Order {
            within: "cache::reflector",
            submodules: &["backoff", "watch"],
        },
    ];
    violations(&sources, &orders)
        .unwrap()
        .iter()
        .map(|violation| format!("{} {}", violation.file, violation.target))
        .collect()
}

#[test]
fn using_earlier_submodules_is_allowed() {
    assert_eq!(inside_a_layer(&[]), [""; 0]);
}

#[test]
fn each_form_of_using_a_later_submodule_is_found() {
    for text in [
        "use super::informer::Informer;",
        "use super::Informer;",
        "use crate::cache::Informer;",
        "use crate::cache::{Store, informer};",
        "use super::*;",
        "use crate::cache as own; fn f(_: own::Informer) {}",
        "fn f() { let _ = super::informer::Informer; }",
        "pub struct Store; impl Store { fn f(_: super::Informer) {} }",
        "macro_rules! m { () => { $crate::cache::Informer } }",
    ] {
        let found = inside_a_layer(&[("cache/store.rs", text)]);
        assert!(
            found.contains(&"cache/store.rs cache::informer".to_owned()),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn an_order_inside_a_folder_of_a_layer_is_checked_too() {
    let watch = "pub struct Backoff; use super::Watch;";
    assert_eq!(
        inside_a_layer(&[("cache/reflector/backoff.rs", watch)]),
        ["cache/reflector/backoff.rs cache::reflector::watch"]
    );
    let informer = "pub struct Backoff; use super::super::Informer;";
    assert_eq!(
        inside_a_layer(&[("cache/reflector/backoff.rs", informer)]),
        ["cache/reflector/backoff.rs cache::informer"]
    );
}

#[test]
fn test_code_may_use_later_submodules_of_its_layer_but_no_later_layer() {
    for text in [
        "#[cfg(test)] mod tests { use super::super::Informer; }",
        "#[cfg(test)] use super::Informer;",
        "#[cfg(test)] fn f(_: super::Informer) {}",
        "#[cfg(all(test, feature = \"dev\"))] mod tests { use super::super::Informer; }",
        "pub struct Store; impl Store { #[cfg(test)] fn f(_: super::Informer) {} }",
    ] {
        let found = inside_a_layer(&[("cache/store.rs", text)]);
        assert_eq!(found, [""; 0], "{text}");
    }
    let helper = ("cache/store/helper.rs", "use super::super::Informer;");
    let declared = ("cache/store.rs", "#[cfg(test)] mod helper;");
    assert_eq!(inside_a_layer(&[helper, declared]), [""; 0]);
    assert_eq!(
        inside_a_layer(&[helper, ("cache/store.rs", "mod helper;")]),
        ["cache/store/helper.rs cache::informer"]
    );
    for text in [
        "#[cfg(not(test))] use super::Informer;",
        "#[cfg(any(test, feature = \"dev\"))] use super::Informer;",
        "#[cfg(test)] fn f() {} fn g(_: super::Informer) {}",
    ] {
        assert_eq!(
            inside_a_layer(&[("cache/store.rs", text)]),
            ["cache/store.rs cache::informer"],
            "{text}"
        );
    }
    assert_eq!(
        inside_a_layer(&[(
            "cache/store.rs",
            "#[cfg(test)] use crate::queue::WorkQueue;"
        )]),
        ["cache/store.rs queue"]
    );
}

#[test]
fn a_submodule_without_a_place_and_a_place_without_a_submodule_are_found() {
    assert_eq!(
        inside_a_layer(&[("cache/utils.rs", "")]),
        ["cache/utils cache::utils"]
    );
    let sources = BTreeMap::from([("cache/mod.rs".to_owned(), String::new())]);
    let order = Order {
        within: "cache",
        submodules: &["store"],
    };
    let found = violations(&sources, &[order]).unwrap();
    assert_eq!(
        found.first().unwrap().what,
        "a name in the order that is no module"
    );
}
