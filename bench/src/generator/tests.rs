use std::collections::HashSet;

use serde_json::Value;

use super::{APPS, FIRST_VERSION, Generator, Kind};

const SAMPLE: u64 = 1_500;

fn objects(seed: u64, kind: Kind) -> Vec<Value> {
    some(SAMPLE, seed, kind)
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
    for kind in [Kind::Pod, Kind::ConfigMap, Kind::Widget] {
        assert_eq!(objects(7, kind), objects(7, kind));
        assert_ne!(objects(7, kind), objects(8, kind));
    }
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
        let mean_of = |kind| mean(&sizes(&objects(seed, kind)));
        let (pod, config_map) = (mean_of(Kind::Pod), mean_of(Kind::ConfigMap));
        assert!(
            (5_500..6_100).contains(&pod),
            "seed {seed}: Pods of {pod} bytes"
        );
        assert!(
            (550..680).contains(&config_map),
            "seed {seed}: ConfigMaps of {config_map} bytes"
        );
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
    for kind in [Kind::Pod, Kind::ConfigMap, Kind::Widget] {
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
