use std::collections::HashSet;

use serde_json::Value;

use super::{APPS, FIRST_VERSION, Generator, Kind};

const SAMPLE: u64 = 1_500;

/// All kinds but the large one. A few objects of that one are enough.
const MANY: [Kind; 6] = [
    Kind::Pod,
    Kind::ConfigMap,
    Kind::Widget,
    Kind::Node,
    Kind::Secret,
    Kind::SmallConfigMap,
];

fn objects(seed: u64, kind: Kind) -> Vec<Value> {
    // Nodes vary little, and take long to generate.
    some(if kind == Kind::Node { 200 } else { SAMPLE }, seed, kind)
}

fn some(count: u64, seed: u64, kind: Kind) -> Vec<Value> {
    let generator = Generator::new(seed);
    (0..count)
        .map(|number| generator.object(kind, number))
        .collect()
}

fn sizes(objects: &[Value]) -> Vec<usize> {
    objects
        .iter()
        .map(|object| object.to_string().len())
        .collect()
}

fn mean(sizes: &[usize]) -> usize {
    sizes.iter().sum::<usize>() / sizes.len()
}

fn count(object: &Value, path: &str) -> usize {
    match object.pointer(path) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(fields)) => fields.len(),
        _ => 0,
    }
}

#[test]
fn the_same_seed_gives_the_same_objects_and_another_seed_gives_others() {
    for kind in MANY {
        let few = |seed| some(200, seed, kind);
        assert_eq!(few(7), few(7));
        assert_ne!(few(7), few(8));
    }
    let large = |seed| some(2, seed, Kind::LargeSecret);
    assert_eq!(large(7), large(7));
    assert_ne!(large(7), large(8));
}

#[test]
fn an_object_does_not_depend_on_the_object_count() {
    let generator = Generator::new(7);
    let last = generator.object(Kind::Pod, SAMPLE - 1);
    assert_eq!(objects(7, Kind::Pod).last(), Some(&last));
}

#[test]
fn objects_have_the_sizes_that_the_targets_assume() {
    for seed in [1, 2, 3] {
        for (kind, expected) in [
            (Kind::Pod, 5_500..6_100),
            (Kind::ConfigMap, 550..680),
            (Kind::Widget, 1_350..1_800),
            (Kind::Node, 14_500..15_500),
            (Kind::Secret, 1_600..2_000),
            (Kind::SmallConfigMap, 252..262),
        ] {
            let found = mean(&sizes(&objects(seed, kind)));
            assert!(
                expected.contains(&found),
                "seed {seed}: {kind:?} of {found} bytes"
            );
        }
    }
}

#[test]
fn a_large_secret_has_540_kib_in_one_to_three_keys() {
    for secret in some(20, 1, Kind::LargeSecret) {
        let size = secret.to_string().len();
        assert!((540 << 10..542 << 10).contains(&size), "{size} bytes");
        assert!((1..=3).contains(&count(&secret, "/data")));
    }
}

#[test]
fn a_third_of_a_pod_is_managed_fields() {
    let pods = objects(1, Kind::Pod);
    let managed: usize = pods
        .iter()
        .map(|pod| pod["metadata"]["managedFields"].to_string().len())
        .sum();
    let share = managed as f64 / sizes(&pods).iter().sum::<usize>() as f64;
    assert!((0.28..0.40).contains(&share), "{share}");
}

#[test]
fn objects_are_diverse() {
    let pods = some(4_000, 1, Kind::Pod);
    let apps: HashSet<_> = pods
        .iter()
        .map(|pod| pod["metadata"]["labels"]["app.kubernetes.io/name"].to_string())
        .collect();
    assert!(apps.len() >= 300, "{} of {APPS} applications", apps.len());
    for path in ["/spec/containers/0/env", "/metadata/annotations"] {
        let mut counts: Vec<_> = pods.iter().map(|pod| count(pod, path)).collect();
        counts.sort_unstable();
        let (median, most) = (counts[counts.len() / 2], counts[counts.len() - 1]);
        assert!(
            most >= 10 && most >= 3 * median,
            "{path}: {median} in the middle, {most} at most"
        );
    }
}

#[test]
fn no_two_objects_have_the_same_name_uid_or_version() {
    for kind in MANY {
        let objects = objects(1, kind);
        for field in ["name", "uid", "resourceVersion"] {
            let values: HashSet<_> = objects
                .iter()
                .map(|object| object["metadata"][field].to_string())
                .collect();
            assert_eq!(values.len(), objects.len(), "{kind:?} {field}");
        }
    }
}

#[test]
fn versions_have_as_many_digits_as_the_first() {
    let digits = FIRST_VERSION.to_string().len();
    for object in objects(1, Kind::Pod) {
        let version = object["metadata"]["resourceVersion"].as_str().map(str::len);
        assert_eq!(version, Some(digits));
    }
}
