//! Measures the cost of the Pod type without anything around it.
//!
//! Pods without managed fields are in memory as JSON, one after the other. serde_json decodes each into k8s-openapi's
//! type, which both Rust frameworks use, and the program keeps it. There is no server, no frame and no store: every cache
//! that hands out Pods of this type needs at least this time.

use std::error::Error;

use clap::{Arg, ArgMatches, value_parser};
use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use crate::{
    cpu,
    generator::{Generator, Kind},
};

/// The measured cost.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Keeping {
    /// The number of Pods.
    pub objects: u64,
    /// The bytes of all Pods as JSON.
    pub bytes: u64,
    /// The processor time, page faults included.
    pub cpu: f64,
}

/// Returns the arguments of `keep`.
pub fn arguments() -> Vec<Arg> {
    let number = |name, help| {
        Arg::new(name)
            .required(true)
            .value_parser(value_parser!(u64))
            .help(help)
    };
    vec![
        number("pods", "how many Pods"),
        number("seed", "of the Pods"),
    ]
}

/// Decodes the Pods and prints the cost.
pub fn main(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let number = |name| matches.get_one(name).copied().unwrap_or(0);
    let keeping = keep(number("pods"), number("seed"))?;
    println!("{}", serde_json::to_string(&keeping)?);
    Ok(())
}

/// Generates this many Pods, and decodes them.
fn keep(objects: u64, seed: u64) -> Result<Keeping, serde_json::Error> {
    let text = pods(objects, seed);
    let mut kept: Vec<Box<Pod>> = Vec::with_capacity(objects as usize);
    let before = cpu();
    for pod in text.lines() {
        kept.push(serde_json::from_str(pod)?);
    }
    let cpu = cpu() - before;
    Ok(Keeping {
        objects: kept.len() as u64,
        bytes: text.len() as u64,
        cpu,
    })
}

/// Returns the Pods as JSON, one per line.
fn pods(objects: u64, seed: u64) -> String {
    let generator = Generator::new(seed);
    let mut text = String::new();
    for number in 0..objects {
        let mut pod = generator.object(Kind::Pod, number);
        if let Some(metadata) = pod["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        text.push_str(&pod.to_string());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::{keep, pods};

    #[test]
    fn all_pods_are_kept_complete_except_managed_fields() {
        let kept = keep(3, 1).unwrap();
        assert_eq!((kept.objects, kept.bytes), (3, pods(3, 1).len() as u64));
        assert!(kept.cpu > 0.0);
        for text in pods(3, 1).lines() {
            let pod: Pod = serde_json::from_str(text).unwrap();
            assert_eq!(pod.metadata.managed_fields, None);
            assert!(pod.spec.is_some_and(|spec| !spec.containers.is_empty()));
        }
    }
}
