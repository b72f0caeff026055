use prometheus::{
    Encoder, TextEncoder,
    proto::{MetricFamily, MetricType},
};

/// The sum of the series with the name `series` and all of `labels`. `None` if no series matches.
pub(super) fn value(
    families: &[MetricFamily],
    series: &str,
    labels: &[(&str, &str)],
) -> Option<f64> {
    let values = families.iter().flat_map(|family| {
        let part = series.strip_prefix(family.name());
        let metrics = family.get_metric().iter().filter(|metric| {
            labels.iter().all(|(name, value)| {
                let mut pairs = metric.get_label().iter();
                pairs.any(|pair| pair.name() == *name && pair.value() == *value)
            })
        });
        let kind = family.get_field_type();
        metrics.filter_map(move |metric| match (kind, part?) {
            (MetricType::COUNTER, "") => Some(metric.get_counter().get_value()),
            (MetricType::GAUGE, "") => Some(metric.get_gauge().get_value()),
            (MetricType::HISTOGRAM, "_count") => {
                Some(metric.get_histogram().get_sample_count() as f64)
            }
            (MetricType::HISTOGRAM, "_sum") => Some(metric.get_histogram().get_sample_sum()),
            _ => None,
        })
    });
    values.reduce(|sum, value| sum + value)
}

/// The media type of [`Metrics::encode`](super::Metrics::encode), for `Content-Type`.
pub const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Encodes the families in Prometheus' text format, with bucket bounds as Go writes them.
///
/// Queries compare `le` as a string. The `prometheus` crate writes `0.00000001` where every Go program
/// writes `1e-08`.
pub(super) fn encode(families: &[MetricFamily]) -> String {
    let mut bytes = Vec::new();
    // Fails only for an empty family or an invalid name. The text before that is kept.
    if let Err(error) = TextEncoder::new().encode(families, &mut bytes) {
        tracing::error!(%error, "encoding a metric failed: the metrics are incomplete");
    }
    let plain = String::from_utf8_lossy(&bytes);
    let mut text = String::with_capacity(plain.len());
    // A help text may end with a carriage return, which is part of the text.
    for line in plain.split_terminator('\n') {
        match bound(line) {
            Some((before, bound, after)) => {
                text.push_str(before);
                text.push_str(&go_float(bound));
                text.push_str(after);
            }
            None => match infinite(line) {
                Some((series, value)) => {
                    text.push_str(series);
                    text.push_str(value);
                }
                None => text.push_str(line),
            },
        }
        text.push('\n');
    }
    text
}

/// Splits a sample with an infinite value into the series and the value as Go writes it.
fn infinite(line: &str) -> Option<(&str, &'static str)> {
    if line.starts_with('#') {
        return None;
    }
    let positive = line.strip_suffix(" inf").map(|series| (series, " +Inf"));
    positive.or_else(|| Some((line.strip_suffix(" -inf")?, " -Inf")))
}

/// Splits `name_bucket{..,le="0.1"} 3` around the number in `le`, which is the last label.
fn bound(line: &str) -> Option<(&str, f64, &str)> {
    let name = line.split('{').next()?;
    if line.starts_with('#') || !name.ends_with("_bucket") {
        return None;
    }
    // Match the whole label name, because `role` also ends with `le`. A quote in a value has a
    // backslash before it.
    let label = line.rfind(",le=\"").or_else(|| line.rfind("{le=\""));
    let start = label? + ",le=\"".len();
    let end = start + line.get(start..)?.find('"')?;
    let bound: f64 = line.get(start..end)?.parse().ok()?;
    Some((line.get(..start)?, bound, line.get(end..)?))
}

/// Formats a number in the shortest form of Go's `strconv.FormatFloat(value, 'g', -1, 64)`.
fn go_float(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let scientific = format!("{value:e}");
    match scientific.split_once('e') {
        Some((digits, exponent)) => match exponent.parse::<i32>() {
            Ok(exponent) if value != 0.0 && !(-4..6).contains(&exponent) => {
                let sign = if exponent < 0 { '-' } else { '+' };
                format!("{digits}e{sign}{:02}", exponent.abs())
            }
            _ => value.to_string(),
        },
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Metrics, buckets};

    #[test]
    fn bounds_of_buckets_are_written_as_go_writes_them() {
        let written: Vec<_> = buckets::workqueue_seconds()
            .into_iter()
            .map(go_float)
            .collect();
        assert_eq!(
            written.join(" "),
            "1e-08 1e-07 1e-06 9.999999999999999e-06 9.999999999999999e-05 0.001 0.01 0.1 1 10 100 1000"
        );
        assert_eq!(go_float(1_048_576.0), "1.048576e+06");
        assert_eq!(go_float(65536.0), "65536");
        assert_eq!(go_float(f64::INFINITY), "+Inf");
    }

    #[test]
    fn a_label_whose_name_ends_with_le_keeps_its_value() {
        let metrics = Metrics::new();
        let opts = prometheus::Opts::new("my_bucket", "Help\r");
        let gauge = prometheus::GaugeVec::new(opts, &["role"]).unwrap();
        metrics
            .registry()
            .register(Box::new(gauge.clone()))
            .unwrap();
        gauge.with_label_values(&["0.50"]).set(f64::NEG_INFINITY);
        let text = metrics.encode();
        assert!(text.contains("my_bucket{role=\"0.50\"} -Inf\n"), "{text}");
        assert!(text.contains("# HELP my_bucket Help\r\n"), "{text}");
    }

    #[test]
    fn the_value_of_a_series_is_the_sum_of_those_that_match() {
        let metrics = Metrics::new();
        let reconciles = "controller_runtime_reconcile_total";
        assert_eq!(metrics.value(reconciles, &[]), None);
        metrics.controller("site").success.inc();
        metrics.controller("site").error.inc_by(2);
        metrics.controller("page").success.inc();
        metrics.workqueue("site").queue_seconds.observe(0.5);
        let site = ("controller", "site");
        assert_eq!(metrics.value(reconciles, &[site]), Some(3.0));
        assert_eq!(
            metrics.value(reconciles, &[("result", "success"), site]),
            Some(1.0)
        );
        assert_eq!(metrics.value(reconciles, &[("controller", "other")]), None);
        let waits = "workqueue_queue_duration_seconds";
        assert_eq!(metrics.value(&format!("{waits}_sum"), &[site]), Some(0.5));
        assert_eq!(metrics.value(&format!("{waits}_count"), &[site]), Some(1.0));
        assert_eq!(metrics.value(waits, &[site]), None);
        assert_eq!(metrics.value("workqueue_depth", &[site]), Some(0.0));
    }

    #[test]
    fn only_bucket_bounds_are_rewritten() {
        let metrics = Metrics::new();
        metrics.workqueue("site").queue_seconds.observe(0.5);
        let text = metrics.encode();
        assert!(text.contains(
            "workqueue_queue_duration_seconds_bucket{controller=\"site\",name=\"site\",le=\"1e-08\"} 0\n"
        ));
        assert!(text.contains("le=\"+Inf\"} 1\n"), "{text}");
        assert!(text.contains(
            "workqueue_queue_duration_seconds_sum{controller=\"site\",name=\"site\"} 0.5\n"
        ));
    }
}
