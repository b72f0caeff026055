//! Creates and registers metric families.
//!
//! The names are constants of the parent module and the registry is new, so these functions can fail
//! only in the framework's own tests.

use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry,
    core::{Collector, MetricVec},
    proto::MetricType,
};

use super::histogram::{HistogramFamily, StripedBuilder};

pub(super) fn register<C: Collector + 'static>(registry: &Registry, collector: C) {
    registry
        .register(Box::new(collector))
        .expect("the names of our metrics differ");
}

pub(super) fn counter(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntCounterVec {
    let family = IntCounterVec::new(Opts::new(name, help), labels).expect("a valid metric");
    register(registry, family.clone());
    family
}

pub(super) fn new_gauge(name: &str, help: &str, labels: &[&str]) -> GaugeVec {
    GaugeVec::new(Opts::new(name, help), labels).expect("a valid metric")
}

pub(super) fn gauge(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> GaugeVec {
    let family = new_gauge(name, help, labels);
    register(registry, family.clone());
    family
}

pub(super) fn int_gauge(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntGaugeVec {
    let family = IntGaugeVec::new(Opts::new(name, help), labels).expect("a valid metric");
    register(registry, family.clone());
    family
}

pub(super) fn histogram(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: Vec<f64>,
) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(buckets);
    let family = HistogramVec::new(options, labels).expect("a valid metric");
    register(registry, family.clone());
    family
}

/// As [`histogram`], for events that happen many times a second on several threads.
pub(super) fn striped_histogram(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: Vec<f64>,
) -> HistogramFamily {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    let options = HistogramOpts::new(name, help).buckets(buckets);
    let family = MetricVec::create(
        MetricType::HISTOGRAM,
        StripedBuilder,
        options.variable_labels(labels),
    )
    .expect("a valid metric");
    register(registry, family.clone());
    family
}
