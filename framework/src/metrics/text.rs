use prometheus::{Encoder, TextEncoder, proto::MetricFamily};

/// Media type of [`Metrics::encode`](super::Metrics::encode), for `Content-Type`.
pub const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The families in Prometheus' text format, bounds of buckets written as Go writes them.
///
/// `le` is compared as a string by queries, and the `prometheus` crate writes `0.00000001` where
/// every Go program writes `1e-08`.
pub(super) fn encode(families: &[MetricFamily]) -> String {
    let mut bytes = Vec::new();
    // Fails only for an empty family or an invalid name; what was written before it is kept.
    if let Err(error) = TextEncoder::new().encode(families, &mut bytes) {
        tracing::error!(%error, "metrics are incomplete");
    }
    let plain = String::from_utf8_lossy(&bytes);
    let mut text = String::with_capacity(plain.len());
    // A help may end with a carriage return, which belongs to it.
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

/// The series of a sample whose value is infinite, and the value as Go writes it.
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
    // The name of the label as a whole: `role` ends with `le`, too. A quote within a value has a backslash before it.
    let label = line.rfind(",le=\"").or_else(|| line.rfind("{le=\""));
    let start = label? + ",le=\"".len();
    let end = start + line.get(start..)?.find('"')?;
    let bound: f64 = line.get(start..end)?.parse().ok()?;
    Some((line.get(..start)?, bound, line.get(end..)?))
}

/// The shortest form in which Go's `strconv.FormatFloat(value, 'g', -1, 64)` prints a number.
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
    fn a_label_that_ends_like_the_bound_keeps_its_value() {
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
    fn only_the_bound_of_a_bucket_is_rewritten() {
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
