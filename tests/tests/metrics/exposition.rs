//! A reader of the text format.

use std::collections::{BTreeMap, BTreeSet};

use crate::metrics::tables::Row;

/// A sample: its labels, and the text of its value.
pub(crate) type Sample = (BTreeMap<String, String>, String);

/// The part of the text format that these tests need.
pub(crate) struct Exposition {
    pub(crate) types: BTreeMap<String, String>,
    pub(crate) samples: BTreeMap<String, Vec<Sample>>,
}

impl Exposition {
    pub(crate) fn parse(text: &str) -> Self {
        let mut parsed = Self {
            types: BTreeMap::new(),
            samples: BTreeMap::new(),
        };
        for line in text.lines() {
            if let Some(typed) = line.strip_prefix("# TYPE ") {
                let (name, kind) = typed.split_once(' ').unwrap();
                parsed.types.insert(name.into(), kind.into());
            } else if !line.starts_with('#') {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
                let labels = labels.strip_suffix('}').unwrap();
                let labels = labels
                    .split_terminator("\",")
                    .filter(|label| !label.is_empty());
                let labels = labels.map(|label| {
                    let (name, value) = label.split_once("=\"").unwrap();
                    (name.to_owned(), value.trim_end_matches('"').to_owned())
                });
                let sample = (labels.collect(), value.to_owned());
                parsed.samples.entry(name.into()).or_default().push(sample);
            }
        }
        parsed
    }

    /// Returns the label names of the samples with this name. All samples must have the same labels.
    pub(crate) fn labels(&self, name: &str) -> Vec<&str> {
        let samples = self.samples.get(name);
        let samples = samples.unwrap_or_else(|| panic!("no sample of {name}"));
        let names: BTreeSet<Vec<&str>> = samples
            .iter()
            .map(|(labels, _)| labels.keys().map(String::as_str).collect())
            .collect();
        assert_eq!(names.len(), 1, "{name} has samples with {names:?}");
        names.into_iter().flatten().collect()
    }

    /// Returns the values of a label in the samples with this name, in order.
    pub(crate) fn values(&self, name: &str, label: &str) -> Vec<&str> {
        let samples = self.samples[name].iter();
        samples.map(|(labels, _)| labels[label].as_str()).collect()
    }

    pub(crate) fn has(&self, table: &[Row]) {
        for &(name, kind, labels, buckets) in table {
            assert_eq!(self.types[name], kind, "{name}");
            if buckets.is_empty() {
                assert_eq!(self.labels(name), labels, "{name}");
                continue;
            }
            for part in ["_sum", "_count"] {
                assert_eq!(self.labels(&format!("{name}{part}")), labels, "{name}");
            }
            let bucket = format!("{name}_bucket");
            let with_bound: Vec<&str> = self.labels(&bucket);
            assert!(with_bound.contains(&"le"), "{name}");
            let others: Vec<&str> = with_bound
                .into_iter()
                .filter(|label| *label != "le")
                .collect();
            assert_eq!(others, labels, "{name}");
            assert_eq!(self.values(&bucket, "le"), buckets, "{name}");
        }
    }

    pub(crate) fn value(&self, name: &str, label: &str, is: &str) -> &str {
        let mut samples = self.samples[name].iter();
        let found = samples.find(|(labels, _)| labels[label] == is);
        &found.unwrap_or_else(|| panic!("no {label}={is}")).1
    }
}
